package report

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"

	"lessonkit.example/capability"
)

var lineNumber = regexp.MustCompile(`line \d+`)

// Fingerprints returns for each diagnostic a text that stays the same when the file around it
// changes, so that tools and baselines recognise it: a hash of its rule, its file relative to the
// folder root, its message without line numbers, and its parts. Equal diagnostics of a file are
// numbered.
func Fingerprints(ds capability.Diagnostics, root string) []string {
	prints := make([]string, len(ds))
	seen := make(map[string]int)
	for i, d := range ds {
		text := fmt.Sprintf(
			"%s\n%s\n%s",
			d.Code,
			RelativeTo(root, d.File),
			lineNumber.ReplaceAllString(d.Message, "line"),
		)
		if d.Parts != nil {
			text += fmt.Sprintf("\n%q", d.Parts)
		}
		seen[text]++
		hash := sha256.Sum256(fmt.Appendf(nil, "%s\n%d", text, seen[text]))
		prints[i] = hex.EncodeToString(hash[:16])
	}
	return prints
}

// RelativeTo returns the name of a file relative to a folder, with slashes. A file that is not in
// the folder keeps its name, and so does every file if the folder is "".
func RelativeTo(root, name string) string {
	if root == "" || name == "" {
		return filepath.ToSlash(name)
	}
	folder, err := filepath.Abs(root)
	if err != nil {
		return filepath.ToSlash(name)
	}
	file, err := filepath.Abs(name)
	if err != nil {
		return filepath.ToSlash(name)
	}
	relative, err := filepath.Rel(folder, file)
	if err != nil || relative == ".." || strings.HasPrefix(relative, ".."+string(filepath.Separator)) {
		return filepath.ToSlash(name)
	}
	return filepath.ToSlash(relative)
}
