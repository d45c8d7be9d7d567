package report

import (
	"io"
	"net/url"
	"regexp"
	"strings"

	"lessonkit.example/capability"
)

// The parts of SARIF 2.1.0 that are written.
type (
	sarifLog struct {
		Schema  string     `json:"$schema"`
		Version string     `json:"version"`
		Runs    []sarifRun `json:"runs"`
	}
	sarifRun struct {
		Tool struct {
			Driver struct {
				Name           string      `json:"name"`
				Version        string      `json:"version,omitempty"`
				InformationURI string      `json:"informationUri"`
				Rules          []sarifRule `json:"rules"`
			} `json:"driver"`
		} `json:"tool"`
		ColumnKind string        `json:"columnKind"`
		Results    []sarifResult `json:"results"`
	}
	sarifRule struct {
		ID            string       `json:"id"`
		Description   sarifText    `json:"shortDescription"`
		HelpURI       string       `json:"helpUri"`
		Configuration sarifDefault `json:"defaultConfiguration"`
	}
	sarifDefault struct {
		Level string `json:"level"`
	}
	sarifText struct {
		Text string `json:"text"`
	}
	sarifResult struct {
		RuleID    string          `json:"ruleId"`
		RuleIndex int             `json:"ruleIndex"`
		Level     string          `json:"level"`
		Message   sarifText       `json:"message"`
		Prints    sarifPrints     `json:"partialFingerprints"`
		Locations []sarifLocation `json:"locations,omitempty"`
		Related   []sarifLocation `json:"relatedLocations,omitempty"`
		Fixes     []sarifFix      `json:"fixes,omitempty"`
	}
	sarifPrints struct {
		Finding string `json:"capabilityFinding/v1"`
	}
	sarifLocation struct {
		ID       int           `json:"id,omitempty"`
		Message  *sarifText    `json:"message,omitempty"`
		Physical sarifPhysical `json:"physicalLocation"`
	}
	sarifPhysical struct {
		Artifact sarifArtifact `json:"artifactLocation"`
		Region   *sarifRegion  `json:"region,omitempty"`
	}
	sarifArtifact struct {
		URI string `json:"uri"`
	}
	sarifRegion struct {
		StartLine   int `json:"startLine"`
		StartColumn int `json:"startColumn"`
		EndLine     int `json:"endLine,omitempty"`
		EndColumn   int `json:"endColumn,omitempty"`
	}
	sarifFix struct {
		Description sarifText     `json:"description"`
		Changes     []sarifChange `json:"artifactChanges"`
	}
	sarifChange struct {
		Artifact     sarifArtifact      `json:"artifactLocation"`
		Replacements []sarifReplacement `json:"replacements"`
	}
	sarifReplacement struct {
		Deleted  sarifRegion `json:"deletedRegion"`
		Inserted *sarifText  `json:"insertedContent,omitempty"`
	}
)

// SARIFOptions configures [SARIF].
type SARIFOptions struct {
	// Version is that of the tool. Defaults to none.
	Version string
	// Root is the folder that file names are written relative to, which is that of the repository.
	// Defaults to none: names are written as they are, and absolute ones as file URLs.
	Root string
}

// help is the address of the page that describes the rules.
const help = "https://lessonkit.example/examples/capability/RULES.md"

// SARIF writes the diagnostics as a SARIF 2.1.0 log with one run. Columns are counted in Unicode
// characters.
func SARIF(w io.Writer, ds capability.Diagnostics, rules []capability.Rule, o SARIFOptions) error {
	run := sarifRun{ColumnKind: "unicodeCodePoints", Results: []sarifResult{}}
	run.Tool.Driver.Name = "capability"
	run.Tool.Driver.Version = o.Version
	run.Tool.Driver.InformationURI = help
	prints := Fingerprints(ds, o.Root)
	index := make(map[capability.Code]int)
	for i, r := range rules {
		index[r.Code] = i
		run.Tool.Driver.Rules = append(run.Tool.Driver.Rules,
			sarifRule{ID: string(r.Code), Description: sarifText{r.Summary},
				HelpURI:       help + "#" + string(r.Code),
				Configuration: sarifDefault{sarifLevel(r.Severity)}})
	}
	for i, d := range ds {
		r := sarifResult{RuleID: string(d.Code), RuleIndex: index[d.Code], Level: sarifLevel(d.Severity),
			Message: sarifText{d.Message}, Prints: sarifPrints{prints[i]}}
		if d.File != "" {
			r.Locations = []sarifLocation{{Physical: sarifPhysical{Artifact: sarifArtifact{fileURI(o.Root, d.File)},
				Region: region(d.Start, d.End)}}}
		}
		for i, p := range d.Related {
			r.Related = append(r.Related, sarifLocation{ID: i + 1, Message: &sarifText{p.Message},
				Physical: sarifPhysical{
					Artifact: sarifArtifact{fileURI(o.Root, p.File)},
					Region:   region(p.Start, p.Start),
				}})
		}
		if d.Fix != nil && d.PositionAt(0).IsValid() { // one read from JSON has no text
			change := sarifChange{Artifact: sarifArtifact{fileURI(o.Root, d.File)}}
			for _, e := range d.Fix.Edits {
				replacement := sarifReplacement{Deleted: *region(d.PositionAt(e.Start), d.PositionAt(e.End))}
				if e.Text != "" {
					replacement.Inserted = &sarifText{e.Text}
				}
				change.Replacements = append(change.Replacements, replacement)
			}
			r.Fixes = []sarifFix{{Description: sarifText{d.Fix.Title}, Changes: []sarifChange{change}}}
		}
		run.Results = append(run.Results, r)
	}
	return Encode(w, sarifLog{Schema: "https://json.schemastore.org/sarif-2.1.0.json", Version: "2.1.0",
		Runs: []sarifRun{run}})
}

func sarifLevel(s capability.Severity) string {
	switch s {
	case capability.Error:
		return "error"
	case capability.Warning:
		return "warning"
	case capability.Info:
		return "note"
	default:
		return "none"
	}
}

func region(start, end capability.Position) *sarifRegion {
	if !start.IsValid() {
		return nil
	}
	r := &sarifRegion{StartLine: start.Line, StartColumn: start.Column}
	if end.IsValid() {
		r.EndLine, r.EndColumn = end.Line, end.Column
	}
	return r
}

// drive matches the beginning of an absolute name on Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:/`)

func fileURI(root, name string) string {
	name = RelativeTo(root, name)
	if drive.MatchString(name) {
		name = "/" + name
	}
	if strings.HasPrefix(name, "/") {
		return (&url.URL{Scheme: "file", Path: name}).String()
	}
	return (&url.URL{Path: name}).String()
}
