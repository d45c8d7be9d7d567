package report

import (
	"fmt"
	"io"
	"strings"

	"lessonkit.example/capability/capdiff"
	"lessonkit.example/capability/internal/words"
)

// Changes writes what two sets of capabilities grant differently: first what there is more of, then
// what there is less of.
func Changes(w io.Writer, changes []capdiff.Change, o TextOptions) error {
	var b strings.Builder
	for _, c := range changes {
		sign, color := "-", blue
		if c.Widens() {
			sign, color = "+", red
		}
		if c.Kind == capdiff.ScopeChanged {
			sign = "~"
		}
		title := heading(c)
		if c.SameAs != "" {
			title += fmt.Sprintf(": the same %s as window %q", plural(len(c.Commands), "command"), c.SameAs)
			c.Commands = nil
		}
		fmt.Fprintf(&b, "%s\n", o.paint(color, sign+" "+Printable(title)))
		if c.Approximate {
			b.WriteString("      (patterns with other wildcards than \"*\" are compared by their text: " +
				"this may be no change)\n")
		}
		for _, command := range c.Commands {
			fmt.Fprintf(&b, "    %s\n", Printable(command))
		}
		for _, list := range []struct {
			label  string
			values []string
		}{{"also allows", c.AllowAdded}, {"no longer lists", c.AllowRemoved}, {"also denies", c.DenyAdded},
			{"no longer denies", c.DenyRemoved}} {
			for _, value := range list.values {
				fmt.Fprintf(&b, "      %s %s\n", list.label, Printable(value))
			}
		}
	}
	if len(changes) == 0 {
		b.WriteString("Both sides grant the same.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func heading(c capdiff.Change) string {
	switch c.Kind {
	case capdiff.CommandsGranted:
		return "granted to " + audience(c.Audience)
	case capdiff.CommandsRevoked:
		return "revoked from " + audience(c.Audience)
	case capdiff.AppUnchecked:
		return "the application's own commands are no longer subject to capabilities: every window may call " +
			"them" + platforms(c.Audience)
	case capdiff.Incomparable:
		return "there are too many labels and URLs to compare what is granted" + platforms(c.Audience)
	case capdiff.AppChecked:
		return "the application's own commands became subject to capabilities" + platforms(c.Audience)
	}
	if c.Plugin != "" {
		return fmt.Sprintf("scope of the plugin %s, for all windows and pages%s", c.Plugin, platforms(c.Audience))
	}
	return "scope changed for " + audience(c.Audience)
}

func audience(a capdiff.Audience) string {
	var parts []string
	if len(a.Windows) > 0 {
		parts = append(parts, labels("window", a.Windows))
	}
	if len(a.Webviews) > 0 {
		parts = append(parts, labels("webview", a.Webviews))
	}
	for i, origin := range a.Origins {
		if origin == "local" {
			origin = ownPages
		} else {
			origin = "pages of " + origin
		}
		if i == 0 {
			parts = append(parts, origin)
		} else {
			parts[len(parts)-1] += " and " + origin
		}
	}
	return strings.Join(parts, ", ") + platforms(a)
}

func labels(what string, list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
		if s == "*" {
			quoted[i] = "any " + what + " (\"*\")"
		}
	}
	if len(list) > 1 {
		what += "s"
	}
	if len(list) == 1 && list[0] == "*" {
		return quoted[0]
	}
	return what + " " + strings.Join(quoted, ", ")
}

func platforms(a capdiff.Audience) string {
	if len(a.Platforms) == 0 {
		return ""
	}
	return ", on " + words.Join(a.Platforms)
}
