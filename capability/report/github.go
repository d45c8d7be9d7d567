package report

import (
	"fmt"
	"io"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/capdiff"
)

var (
	githubMessage  = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A")
	githubProperty = strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A", ":", "%3A", ",", "%2C")
)

// GitHub writes the diagnostics as workflow commands of GitHub Actions, one a line, which GitHub
// shows beside the lines of a change. File names are written relative to the folder root, which is
// that of the repository.
func GitHub(w io.Writer, ds capability.Diagnostics, root string) error {
	var b strings.Builder
	for _, d := range ds {
		level := d.Severity.String()
		if d.Severity == capability.Info {
			level = "notice"
		}
		fmt.Fprintf(&b, "::%s ", level)
		if d.File != "" {
			fmt.Fprintf(&b, "file=%s,", githubProperty.Replace(Printable(RelativeTo(root, d.File))))
		}
		if d.Start.IsValid() {
			fmt.Fprintf(&b, "line=%d,col=%d,", d.Start.Line, d.Start.Column)
			if d.End.Line == d.Start.Line {
				fmt.Fprintf(&b, "endColumn=%d,", d.End.Column)
			}
		}
		fmt.Fprintf(&b, "title=%s::%s\n", d.Code, githubMessage.Replace(Printable(d.Message)))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// GitHubChanges writes what grants more than before as workflow commands, at the first entry that
// grants it.
func GitHubChanges(w io.Writer, changes []capdiff.Change, root string) error {
	var b strings.Builder
	for _, c := range changes {
		if !c.Widens() {
			continue
		}
		b.WriteString("::warning ")
		if len(c.Grants) > 0 && c.Grants[0].Line > 0 {
			g := c.Grants[0]
			file := githubProperty.Replace(Printable(RelativeTo(root, g.File)))
			fmt.Fprintf(&b, "file=%s,line=%d,col=%d,", file, g.Line, g.Column)
		}
		var text strings.Builder
		if err := Changes(&text, []capdiff.Change{c}, TextOptions{}); err != nil {
			return err
		}
		fmt.Fprintf(&b, "title=capabilities grant more::%s\n", githubMessage.Replace(strings.TrimSpace(text.String())))
	}
	_, err := io.WriteString(w, b.String())
	return err
}
