package report

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
)

// Explanation writes why a call is allowed or denied, and for which platforms it is otherwise.
func Explanation(w io.Writer, x *capability.Explanation, others []*capability.Explanation, o TextOptions) error {
	var b strings.Builder
	write := func(x *capability.Explanation) {
		verb, rest, _ := strings.Cut(PrintableText(x.String()), ":")
		color := red
		if x.Allowed {
			color = green
		}
		b.WriteString(o.paint(color, verb) + ":" + rest)
	}
	write(x)
	for _, other := range others {
		fmt.Fprintf(&b, "\nOn %s the configuration lists other capabilities:\n", other.Platform)
		write(other)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// Callable writes which commands a caller may call.
func Callable(w io.Writer, policy *capability.Policy, caller capability.Caller, commands []capability.Command) error {
	page := "the application's own page"
	if !caller.Origin.IsLocal() {
		page = "page " + caller.Origin.String()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "window %q, %s, may call %s", caller.Window, page, plural(len(commands), "command"))
	if policy.AppOpen(caller.Origin) {
		b.WriteString(" and all of the application's own, which no manifest limits")
	}
	b.WriteString("\n")
	for _, command := range commands {
		fmt.Fprintf(&b, "  %s\n", command)
	}
	_, err := io.WriteString(w, PrintableText(b.String()))
	return err
}

// Callers writes who may call the command of an explanation, or that it is denied to all.
func Callers(w io.Writer, policy *capability.Policy, x *capability.Explanation) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", x.Command)
	var denials []string // one for each place, not for each URL
	for _, g := range policy.Denials(x.Command) {
		denials = append(denials, fmt.Sprintf("  denied to all by %s\n", g))
	}
	b.WriteString(strings.Join(slices.Compact(denials), ""))
	grants := policy.Grants(x.Command)
	for i := 0; i < len(grants); { // one for each place, too
		g := grants[i]
		var from []string
		for ; i < len(grants) && grants[i].String() == g.String(); i++ {
			from = append(from, pages(grants[i]))
		}
		fmt.Fprintf(&b, "  %s, %s\n    by %s\n", callers(g), words.Some(from, maxListed), g)
	}
	switch {
	case len(grants) > 0:
	case x.Verdict == capability.Unchecked:
		pages := ownPages
		if elsewhere, err := capability.ParseOrigin("https://example.com/"); err == nil && policy.AppOpen(elsewhere) {
			pages = "every page, remote ones too"
		}
		fmt.Fprintf(&b, "  everyone on %s: the application has no manifest that would limit its own commands\n", pages)
	case len(x.Offers) > 0:
		fmt.Fprintf(&b, "  nobody: no capability allows it; it is allowed by %s\n", words.Some(x.Offers, 6))
	case x.Verdict == capability.NotGranted:
		b.WriteString("  nobody: no permission that the application has allows it\n")
	case x.Verdict == capability.UnknownPlugin && policy.MayAllow(x.Command):
		b.WriteString("  not known: no manifest that is loaded explains permissions that may allow it\n")
	case len(x.Similar) > 0:
		fmt.Fprintf(&b, "  nobody: there is no such command; did you mean %s?\n", strings.Join(x.Similar, " or "))
	default:
		b.WriteString("  nobody: no manifest has such a command\n")
	}
	_, err := io.WriteString(w, PrintableText(b.String()))
	return err
}

const (
	ownPages  = "the application's own pages"
	maxListed = 20 // labels, or URLs, of a capability
)

func pages(g capability.Grant) string {
	if g.Local() {
		return ownPages
	}
	return "pages of " + g.Remote()
}

func callers(g capability.Grant) string {
	var parts []string
	if list := g.Windows(); len(list) > 0 {
		parts = append(parts, "windows "+words.Some(list, maxListed))
	}
	if list := g.Webviews(); len(list) > 0 {
		parts = append(parts, "webviews "+words.Some(list, maxListed))
	}
	if len(parts) == 0 {
		return "no window (the capability names none)"
	}
	return strings.Join(parts, " and ")
}
