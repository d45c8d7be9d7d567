package report

import (
	"fmt"
	"io"
	"slices"
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
		if len(c.Commands) > maxCommands && len(c.Grants) > 0 {
			title += ": " + plural(len(c.Commands), "command")
			c.Commands = nil // the entries name sets
		}
		fmt.Fprintf(&b, "%s\n", o.paint(color, sign+" "+Printable(title)))
		if c.Approximate {
			b.WriteString("      (patterns with other wildcards than \"*\" are compared by their text: " +
				"this may be no change)\n")
		}
		for _, command := range c.Commands {
			fmt.Fprintf(&b, "    %s\n", Printable(command))
		}
		for _, permission := range c.Unknown {
			fmt.Fprintf(&b, "    %s, which no manifest explains\n", Printable(permission))
		}
		allows, denies := "also allows", "also denies"
		if c.Kind == capdiff.CommandsGranted {
			allows, denies = "with the scope", "but not"
		}
		for _, list := range []struct {
			label  string
			values []string
		}{{allows, c.AllowAdded}, {"no longer lists", c.AllowRemoved}, {denies, c.DenyAdded},
			{"no longer denies", c.DenyRemoved}} {
			for _, value := range list.values {
				fmt.Fprintf(&b, "      %s %s\n", list.label, Printable(value))
			}
		}
		if c.NoAllowList {
			b.WriteString("      lists nothing any more, which to many plugins means everything\n")
		}
		for _, g := range c.Grants {
			fmt.Fprintf(&b, "      by %s\n", Printable(grant(g)))
		}
	}
	if len(changes) == 0 {
		b.WriteString("Both sides grant the same.\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// maxCommands is how many commands of a change are listed; of more the sets are named.
const maxCommands = 12

func grant(g capdiff.Grant) string {
	place := ""
	if g.Line > 0 {
		place = fmt.Sprintf(" (%s:%d:%d)", g.File, g.Line, g.Column)
	}
	return fmt.Sprintf("capability %q%s: %s", g.Capability, place, g.Permission)
}

func heading(c capdiff.Change) string {
	switch c.Kind {
	case capdiff.CommandsGranted:
		if c.NewWindows {
			return "granted to new " + audience(c.Audience)
		}
		return "granted to " + audience(c.Audience)
	case capdiff.CommandsRevoked:
		return "revoked from " + audience(c.Audience)
	case capdiff.AppUnchecked:
		return "the application's own commands are no longer subject to capabilities" + openPages(c.Audience) +
			": every window may call them" + platforms(c.Audience)
	case capdiff.Incomparable:
		return "there are too many labels and URLs to compare what is granted" + platforms(c.Audience)
	case capdiff.AppChecked:
		return "the application's own commands became subject to capabilities" + openPages(c.Audience) +
			platforms(c.Audience)
	}
	if c.Plugin != "" {
		return fmt.Sprintf("scope of the plugin %s, for all windows and pages%s", c.Plugin, platforms(c.Audience))
	}
	return "scope changed for " + audience(c.Audience)
}

// openPages names remote pages, if a change about the application's own commands is about those.
func openPages(a capdiff.Audience) string {
	switch {
	case len(a.Origins) > 1:
		return ", on remote pages neither"
	case slices.Contains(a.Origins, "*"):
		return " on remote pages"
	}
	return ""
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
