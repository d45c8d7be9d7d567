package report

import (
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"lessonkit.example/capability"
)

// SARIFOptions configures [SARIF].
type SARIFOptions struct {
	// Version is that of the tool. Defaults to none.
	Version string
	// Root is the folder that file names are written relative to, which is that of the repository.
	// Defaults to none: names are written as they are, and absolute ones as file URLs.
	Root string
}

// object is an object of a SARIF log.
type object map[string]any

// SARIF writes the diagnostics as a SARIF 2.1.0 log with one run. Columns are counted in Unicode
// characters.
func SARIF(w io.Writer, ds capability.Diagnostics, rules []capability.Rule, o SARIFOptions) error {
	index := make(map[capability.Code]int)
	described := []object{}
	for i, r := range rules {
		index[r.Code] = i
		described = append(described, object{"id": r.Code, "shortDescription": object{"text": r.Summary},
			"defaultConfiguration": object{"level": sarifLevel(r.Severity)}})
	}
	driver := object{"name": "capability", "rules": described}
	if o.Version != "" {
		driver["version"] = o.Version
	}
	results := []object{}
	for _, d := range ds {
		result := object{"ruleId": d.Code, "ruleIndex": index[d.Code], "level": sarifLevel(d.Severity),
			"message": object{"text": d.Message}}
		if d.File != "" {
			result["locations"] = []object{{"physicalLocation": o.place(d.File, d.Start, d.End)}}
		}
		var related []object
		for k, p := range d.Related {
			related = append(related, object{"id": k + 1, "message": object{"text": p.Message},
				"physicalLocation": o.place(p.File, p.Start, p.Start)})
		}
		if related != nil {
			result["relatedLocations"] = related
		}
		results = append(results, result)
	}
	return Encode(w, object{"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{"tool": object{"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}}})
}

func sarifLevel(s capability.Severity) string {
	return map[capability.Severity]string{capability.Off: "none", capability.Info: "note",
		capability.Warning: "warning", capability.Error: "error"}[s]
}

// place returns a physical location: a region of a file, or the file if the start is not a place.
func (o SARIFOptions) place(file string, start, end capability.Position) object {
	place := object{"artifactLocation": o.file(file)}
	if start.IsValid() {
		region := object{"startLine": start.Line, "startColumn": start.Column}
		if end.IsValid() {
			region["endLine"], region["endColumn"] = end.Line, end.Column
		}
		place["region"] = region
	}
	return place
}

// drive matches the beginning of an absolute name on Windows.
var drive = regexp.MustCompile(`^[A-Za-z]:/`)

// file returns an artifact location, which names a file by its URL.
func (o SARIFOptions) file(name string) object {
	name = RelativeTo(o.Root, name)
	if drive.MatchString(name) {
		name = "/" + name
	}
	u := url.URL{Path: name}
	if strings.HasPrefix(name, "/") {
		u.Scheme = "file"
	}
	return object{"uri": u.String()}
}

// RelativeTo returns the name of a file relative to a folder, with slashes. A file that is not in
// the folder keeps its name, and so does every file if the folder is "".
func RelativeTo(root, name string) string {
	if root == "" || name == "" {
		return filepath.ToSlash(name)
	}
	folder, err := filepath.Abs(root)
	file, fileErr := filepath.Abs(name)
	if err != nil || fileErr != nil {
		return filepath.ToSlash(name)
	}
	if relative, err := filepath.Rel(folder, file); err == nil && filepath.IsLocal(relative) {
		name = relative
	}
	return filepath.ToSlash(name)
}
