package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/report"
)

// baseline contains the findings that a project had when it began to be checked. Only those that
// came later are reported.
type baseline struct {
	Findings []baselineFinding `json:"findings"`
}

// baselineFinding is one of them. Only the fingerprint counts; the rest is for the reader.
type baselineFinding struct {
	Fingerprint string          `json:"fingerprint"`
	Code        capability.Code `json:"code"`
	File        string          `json:"file"`
	Message     string          `json:"message"`
}

// readBaseline returns the fingerprints of a baseline, none if the file does not exist yet.
func readBaseline(file, within string) (map[string]bool, error) {
	text, err := readFile(file, within)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	var b baseline
	if err := json.Unmarshal(text, &b); err != nil {
		return nil, fmt.Errorf("%s is not a baseline: %w; check -update-baseline writes it anew", file, err)
	}
	known := make(map[string]bool)
	for _, f := range b.Findings {
		known[f.Fingerprint] = true
	}
	return known, nil
}

// writeBaseline writes the findings as a baseline, which must be in the folder within.
func writeBaseline(file, within string, found capability.Diagnostics) error {
	folder := filepath.Dir(file)
	b := baseline{Findings: []baselineFinding{}}
	for i, print := range report.Fingerprints(found, folder) {
		b.Findings = append(b.Findings, baselineFinding{print, found[i].Code,
			report.RelativeTo(folder, found[i].File), found[i].Message})
	}
	var text strings.Builder
	if err := report.Encode(&text, b); err != nil {
		return err
	}
	err := rewrite(file, within, text.String())
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if _, err := inside(folder, within); err != nil {
		return plainError(err)
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return plainError(err)
	}
	_, err = f.WriteString(text.String())
	return errors.Join(err, f.Close())
}
