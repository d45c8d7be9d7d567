package capability

import (
	"cmp"
	"fmt"
	"strings"

	"lessonkit.example/capability/internal/words"
)

// String returns the explanation as readable text: the decision in the first line, then the
// reasons, then how to change it.
func (x *Explanation) String() string {
	var b strings.Builder
	verb := "denied"
	if x.Allowed {
		verb = "allowed"
	} else if x.Unknown() {
		verb = "unknown"
	}
	fmt.Fprintf(&b, "%s: %s from %s\n", verb, x.Command, x.caller())
	switch x.Verdict {
	case Granted:
		x.writeGrants(&b, x.Grants)
		ofPlugin := x.policy.GlobalScopes()[cmp.Or(x.Command.plugin, AppManifest)]
		b.WriteString(scopeLine("\nA scope for all commands of the "+x.owner("plugin %s"), ofPlugin))
	case Unchecked:
		b.WriteString("\nCapabilities do not limit this command: the application has no manifest, so pages like " +
			"this\nmay call its commands in every window. List them in the build script (AppManifest::commands)\n" +
			"to change that.\n")
	case Denied:
		x.denied(&b)
	case NoMatch:
		x.noMatch(&b)
	case NotGranted:
		x.notGranted(&b)
		if len(x.Offers) > 1 {
			fmt.Fprintf(&b, "Permissions that allow it: %s.\n", words.Some(x.Offers, 6))
		}
	case UnknownCommand:
		fmt.Fprintf(&b, "\nThe %s has no such command.\n", x.owner("plugin %s"))
		name := strings.ReplaceAll(x.Command.name, "_", "-")
		for _, m := range x.policy.manifestsOf(x.Command) {
			if m.has(name) {
				fmt.Fprintf(&b, "%s is a permission: ask about a command.\n", fullIdentifier(m.Plugin, name))
			}
		}
		x.didYouMean(&b)
	case UnknownPlugin:
		fmt.Fprintf(&b,
			"\nNo manifest that is loaded tells which permissions of the %s allow it.\nGive the application's "+
				"acl-manifests.json, which its build writes to gen/schemas.\n", x.owner("plugin %q"))
		x.didYouMean(&b)
	}
	return b.String()
}

func (x *Explanation) didYouMean(b *strings.Builder) {
	if len(x.Similar) > 0 {
		fmt.Fprintf(b, "Did you mean %s?\n", strings.Join(x.Similar, " or "))
	}
}

// owner returns "application", or the plugin of the command in the given format.
func (x *Explanation) owner(format string) string {
	if x.Command.plugin == "" {
		return "application"
	}
	return fmt.Sprintf(format, x.Command.plugin)
}

func (x *Explanation) caller() string {
	s := fmt.Sprintf("window %q", x.Window)
	if x.Webview != x.Window {
		s += fmt.Sprintf(", webview %q", x.Webview)
	}
	if x.Origin == "local" {
		s += ", the application's own page"
	} else {
		s += ", page " + x.Origin
	}
	if x.Platform != "" {
		s += ", on " + string(x.Platform)
	}
	return s
}

// writeGrants lists grants without repeating equal ones.
func (x *Explanation) writeGrants(b *strings.Builder, grants []Grant) {
	seen := make(map[string]bool)
	for _, g := range grants {
		line := fmt.Sprintf("\nby %s\n", g) + scopeLine("   with a scope that", g.Scope())
		if !seen[line] {
			b.WriteString(line)
			seen[line] = true
		}
	}
}

// scopeLine returns a line about what a scope allows and denies, "" without one.
func scopeLine(title string, s Scope) string {
	var parts []string
	for _, list := range []struct {
		verb   string
		values []Value
	}{{"allows", s.Allow}, {"denies", s.Deny}} {
		var texts []string
		for _, v := range list.values {
			texts = append(texts, v.String())
		}
		if texts != nil {
			parts = append(parts, fmt.Sprintf("%s %s", list.verb, words.Some(texts, 6)))
		}
	}
	if parts == nil {
		return ""
	}
	return title + " " + strings.Join(parts, "; it ") + "\n"
}

func (x *Explanation) denied(b *strings.Builder) {
	x.writeGrants(b, x.Denials)
	b.WriteString("\nA denial overrides everything that allows the command. " +
		"It holds for all windows and pages, not only for\n" +
		"those of its capability. To allow the command, remove the denial.\n")
}

// noMatch lists the nearest misses.
func (x *Explanation) noMatch(b *strings.Builder) {
	b.WriteString("\nCapabilities allow this command, but not to this caller:\n")
	const most = 5
	for _, n := range x.Near[:min(len(x.Near), most)] {
		fmt.Fprintf(b, "\n   %s\n", n.Grant)
		for _, problem := range n.Problems {
			fmt.Fprintf(b, "     but %s\n", problem)
		}
	}
	if len(x.Near) > most {
		fmt.Fprintf(b, "\n   and %d more\n", len(x.Near)-most)
	}
	if x.AddTo != "" && len(x.Offers) > 0 && x.idle == "" {
		fmt.Fprintf(b, "\nTo allow it, add %q to the permissions of the capability %q, which is for this caller%s.\n",
			x.Offers[0], x.AddTo, parenthesis(x.addToList))
	}
}

func (x *Explanation) notGranted(b *strings.Builder) {
	if x.absent {
		fmt.Fprintf(b, "\nThe application has no plugin %q: Cargo.lock has no package tauri-plugin-%[1]s; add it "+
			"first.\n", x.Command.plugin)
		return
	}
	if x.newer {
		fmt.Fprintf(b, "\nThe %s has this command only in newer releases than the application uses.\n",
			x.owner("plugin %s"))
		return
	}
	if len(x.Offers) == 0 && len(x.otherPlatforms) == 0 {
		why, list := "The application's manifest has no permission for this command.", "it"
		if !x.policy.appChecked {
			why = "The application has no manifest, so its own pages may call its commands; since Tauri " +
				remoteChecked.String() + " other pages may\nnot. With one, its own pages may call only what " +
				"capabilities allow."
			list = "all its commands"
		}
		fmt.Fprintf(b, "\n%s\nTo allow it, list %s in the build script (AppManifest::commands) or in one of the "+
			"application's permissions, and\nthat permission, such as %q, in a capability for this page.\n", why, list,
			"allow-"+strings.ReplaceAll(x.Command.name, "_", "-"))
		return
	}
	b.WriteString("\nNo capability allows this command.\n")
	if x.idle != "" {
		fmt.Fprintf(b, "The capability %q lists %q, which has no effect on this platform.\n", x.AddTo, x.idle)
		return
	}
	if len(x.Offers) == 0 {
		fmt.Fprintf(b, "Permissions that allow it on other platforms only: %s.\n", words.Some(x.otherPlatforms, 6))
		return
	}
	if x.AddTo != "" {
		fmt.Fprintf(b, "To allow it, add %q to the permissions of the capability %q%s.\n", x.Offers[0], x.AddTo,
			parenthesis(x.addToList))
		return
	}
	fmt.Fprintf(b, "No capability is for %s either.\nTo allow it, write one with %q in its permissions.\n", x.caller(),
		x.Offers[0])
}

// parenthesis returns the place of a value, in parentheses.
func parenthesis(v Value) string {
	if !v.Exists() {
		return ""
	}
	return " (" + placeOf(v) + ")"
}
