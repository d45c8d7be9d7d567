package cli

import (
	"errors"
	"fmt"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/report"
)

// callerFlags are those that say who calls.
type callerFlags struct {
	command, window, webview, url string
	denyByOrigin                  bool
}

func (c *command) callerFlags() *callerFlags {
	f := &callerFlags{}
	c.sourceFlags()
	c.flags.StringVar(&f.command, "command", "", "`command`: \"plugin:window|close\", \"core:window:close\", or \"greet\" of the application itself")
	c.flags.StringVar(&f.window, "window", "", "`label` of the window")
	c.flags.StringVar(&f.webview, "webview", "", "`label` of the webview (default that of the window)")
	c.flags.StringVar(&f.url, "url", "", "`URL` of a remote page (default the application's own page)")
	c.flags.BoolVar(&f.denyByOrigin, "deny-by-origin", false, "let a denial count only where its capability's origin matches, unlike released versions")
	return f
}

func (f *callerFlags) caller() (capability.Caller, error) {
	caller := capability.Caller{Window: f.window, Webview: f.webview}
	if f.url == "" || f.url == "local" {
		return caller, nil
	}
	origin, err := capability.ParseOrigin(f.url)
	if err != nil {
		return caller, fmt.Errorf("-url: %w", err)
	}
	caller.Origin = origin
	return caller, nil
}

func (c *command) resolved(f *callerFlags) (*capability.Policy, capability.Caller, error) {
	caller, err := f.caller()
	if err != nil {
		return nil, caller, err
	}
	platform, err := c.target()
	if err != nil {
		return nil, caller, err
	}
	p, err := c.load(c.args)
	if err != nil {
		return nil, caller, err
	}
	policy, err := c.policy(p, platform, f.denyByOrigin)
	return policy, caller, err
}

func explain(c *command, args []string) (int, error) {
	f := c.callerFlags()
	if err := c.parse(args, "-command COMMAND -window LABEL [FLAGS] [PATH...]", "text", "json"); err != nil {
		return 0, err
	}
	if f.command == "" || f.window == "" {
		return 0, errors.New("explain needs a command and a window, such as: capability explain -command 'plugin:window|close' -window main")
	}
	policy, caller, err := c.resolved(f)
	if err != nil {
		return 0, err
	}
	x := policy.Explain(f.command, caller)
	if c.format == "json" {
		err = report.Encode(c.env.Stdout, x)
	} else {
		_, err = fmt.Fprint(c.env.Stdout, c.paintVerdict(x))
	}
	if err != nil {
		return 0, err
	}
	if !x.Allowed {
		return ExitFindings, nil
	}
	return ExitClean, nil
}

func (c *command) paintVerdict(x *capability.Explanation) string {
	lines := strings.Split(x.String(), "\n")
	for i := range lines {
		lines[i] = report.Printable(lines[i])
	}
	text := strings.Join(lines, "\n")
	if !c.env.Color {
		return text
	}
	verb, rest, _ := strings.Cut(text, ":")
	color := "1;31"
	if x.Allowed {
		color = "1;32"
	}
	return "\x1b[" + color + "m" + verb + "\x1b[0m:" + rest
}

func who(c *command, args []string) (int, error) {
	f := c.callerFlags()
	if err := c.parse(args, "-command COMMAND | -window LABEL [-url URL] [FLAGS] [PATH...]", "text", "json"); err != nil {
		return 0, err
	}
	if (f.command == "") == (f.window == "") {
		return 0, errors.New("who needs either a command or a window, such as: capability who -command 'plugin:window|close', or: capability who -window main")
	}
	policy, caller, err := c.resolved(f)
	if err != nil {
		return 0, err
	}
	if f.command != "" {
		return ExitClean, c.whoMay(policy, f.command)
	}
	commands := policy.Callable(caller)
	if c.format == "json" {
		return ExitClean, report.Encode(c.env.Stdout, map[string]any{"window": f.window, "origin": caller.Origin.String(), "commands": commands, "applicationCommandsChecked": policy.AppChecked()})
	}
	fmt.Fprintf(c.env.Stdout, "window %q, %s, may call %d commands", f.window, pageOf(caller.Origin), len(commands))
	if !policy.AppChecked() {
		fmt.Fprint(c.env.Stdout, " and all of the application's own, which no manifest limits")
	}
	fmt.Fprintln(c.env.Stdout)
	for _, command := range commands {
		fmt.Fprintf(c.env.Stdout, "  %s\n", report.Printable(command))
	}
	return ExitClean, nil
}

func pageOf(o capability.Origin) string {
	if o.IsLocal() {
		return "the application's own page"
	}
	return "page " + report.Printable(o.String())
}

// whoMay lists who may call a command, and what denies it.
func (c *command) whoMay(policy *capability.Policy, command string) error {
	x := policy.Explain(command, capability.Caller{})
	grants, denials := policy.Grants(x.Command), policy.Denials(x.Command)
	if c.format == "json" {
		return report.Encode(c.env.Stdout, map[string]any{"command": x.Command, "grants": append([]capability.Grant{}, grants...), "denials": append([]capability.Grant{}, denials...), "permissions": append([]string{}, x.Offers...)})
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n", x.Command)
	for _, g := range denials {
		fmt.Fprintf(&b, "  denied to all by capability %q%s: %s\n", g.Capability().Identifier, placeOf(g), strings.Join(g.Chain(), " → "))
	}
	for _, g := range grants {
		page := "the application's own pages"
		if g.Remote() != nil {
			page = "pages of " + g.Remote().String()
		}
		fmt.Fprintf(&b, "  %s, %s\n    by capability %q%s: %s\n", audienceOf(g), page, g.Capability().Identifier, placeOf(g), strings.Join(g.Chain(), " → "))
	}
	if len(grants) == 0 {
		switch {
		case x.Verdict == capability.Unchecked:
			b.WriteString("  everyone: the application has no manifest that would limit its own commands\n")
		case len(x.Offers) > 0:
			fmt.Fprintf(&b, "  nobody: no capability allows it; it is allowed by %s\n", strings.Join(x.Offers, ", "))
		case x.Meant != "":
			fmt.Fprintf(&b, "  nobody: there is no such command; did you mean %s?\n", x.Meant)
		default:
			b.WriteString("  nobody: no capability and no manifest speaks of it\n")
		}
	}
	lines := strings.Split(b.String(), "\n")
	for i := range lines {
		lines[i] = report.Printable(lines[i])
	}
	_, err := fmt.Fprint(c.env.Stdout, strings.Join(lines, "\n"))
	return err
}

func audienceOf(g capability.Grant) string {
	var parts []string
	if list := g.Windows(); len(list) > 0 {
		parts = append(parts, "windows "+strings.Join(list, ", "))
	}
	if list := g.Webviews(); len(list) > 0 {
		parts = append(parts, "webviews "+strings.Join(list, ", "))
	}
	if len(parts) == 0 {
		return "no window (the capability names none)"
	}
	return strings.Join(parts, " and ")
}

func placeOf(g capability.Grant) string {
	v := g.Entry().Value()
	if !v.Exists() {
		return ""
	}
	return fmt.Sprintf(" (%s:%s)", v.Document().Name(), v.Position())
}
