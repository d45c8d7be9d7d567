package cli

import (
	"errors"
	"fmt"
	"net/url"
	"slices"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
	"lessonkit.example/capability/report"
)

// callerFlags are the flags that identify a caller.
type callerFlags struct {
	command, window, webview, url string
	refused                       bool // the URL is that of a message, which tells one that is remote from "local"
}

func (c *command) callerFlags() *callerFlags {
	f := &callerFlags{}
	c.sourceFlags()
	c.flags.StringVar(&f.command, "command", "",
		"`command`: \"plugin:window|close\", \"core:window:close\", \"window.close\", or \"greet\" of the "+
			"application itself")
	c.flags.StringVar(&f.window, "window", "", "`label` of the window")
	c.flags.StringVar(&f.webview, "webview", "", "`label` of the webview (default: that of the window)")
	c.flags.StringVar(&f.url, "url", "", "`URL` of a remote page (default the application's own page)")
	return f
}

// resolved returns the policies that the flags ask about: the general one first, then those of the
// platforms whose configuration lists other capabilities.
func (c *command) resolved(f *callerFlags) ([]*capability.Policy, capability.Caller, error) {
	caller := capability.Caller{Window: f.window, Webview: f.webview}
	platform, err := c.target()
	if err != nil {
		return nil, caller, err
	}
	if f.url != "" && f.url != "local" {
		if caller.Origin, err = capability.ParseOrigin(f.url); err != nil {
			return nil, caller, fmt.Errorf("-url: %w", err)
		}
	}
	p, err := c.loadOne(c.args)
	if err != nil {
		return nil, caller, err
	}
	if why := p.ownPage(f.url, platform); why != "" && !f.refused {
		c.note("%s is a page of the application itself, %s", f.url, why)
		caller.Origin = capability.Origin{}
	}
	var policies []*capability.Policy
	for _, target := range p.Targets(platform) {
		if err := p.Err(target); err != nil {
			return nil, caller, mistakes(err)
		}
		policy, found := p.Resolve(capability.ResolveOptions{Platform: target})
		if err := found.Err(); err != nil {
			c.note("the files have mistakes, see \"capability check\": %v", err)
		}
		policies = append(policies, policy)
	}
	return policies, caller, nil
}

// ownPage returns why a URL is a page of the application itself, "" if it is not.
func (p *project) ownPage(page string, platform capability.Platform) string {
	u, err := url.Parse(page)
	switch {
	case err != nil || u.Host == "":
		return ""
	case u.Scheme == "tauri":
		return "by its scheme"
	case u.Host == "tauri.localhost":
		return "as Windows and Android name it"
	}
	for _, key := range []string{"devUrl", "frontendDist"} {
		for _, config := range []*capability.Document{p.PlatformConfigs[platform], p.Config} {
			if config == nil {
				continue
			}
			if server := config.Root().Get("build").Get(key); server.Exists() {
				own, err := url.Parse(server.Text())
				if err == nil && own.Host != "" && own.Scheme == u.Scheme && own.Host == u.Host {
					return "served by its " + key
				}
				break // the configuration of the platform replaces the general one
			}
		}
	}
	return ""
}

func explain(c *command, args []string) (int, error) {
	f := c.callerFlags()
	if err := c.parse(args, "COMMAND WINDOW [FLAGS] [PATH...]\n\nInstead of a command there may be the message with "+
		"which the framework refused a call.\nThe exit code is 1 where the call is denied; of platforms whose "+
		"configuration lists other capabilities, only with\n-platform.\n", "text", "json"); err != nil {
		return 0, err
	}
	f.positional(c, true)
	if f.command != "" && f.window == "" {
		return 0, errors.New("explain needs a window too: add its label, such as main")
	}
	if f.command == "" {
		return 0, errors.New("explain needs a command and a window, such as: capability explain " +
			"'plugin:window|close' main")
	}
	command, err := capability.ParseCommand(f.command)
	if err != nil {
		return 0, err
	}
	policies, caller, err := c.resolved(f)
	if err != nil {
		return 0, err
	}
	x := policies[0].Explain(command, caller)
	others := []*capability.Explanation{} // of platforms with another decision
	for _, policy := range policies[1:] {
		if other := policy.Explain(command, caller); other.Allowed != x.Allowed {
			others = append(others, other)
		}
	}
	if c.format == "json" {
		err = report.Encode(c.env.Stdout, struct {
			*capability.Explanation
			Others []*capability.Explanation `json:"otherPlatforms,omitempty"`
		}{x, others})
	} else {
		err = report.Explanation(c.env.Stdout, x, others, report.TextOptions{Color: c.env.Color})
	}
	if x.Unknown() {
		return ExitUsage, err
	}
	return exit(!x.Allowed), err
}

func who(c *command, args []string) (int, error) {
	f := c.callerFlags()
	if err := c.parse(args, "COMMAND | -window LABEL [-url URL] [FLAGS] [PATH...]", "text",
		"json"); err != nil {
		return 0, err
	}
	if f.window == "" {
		f.positional(c, false)
	}
	if (f.command == "") == (f.window == "") {
		return 0, errors.New("who needs either a command or a window, such as: capability who " +
			"'plugin:window|close', or: capability who -window main")
	}
	policies, caller, err := c.resolved(f)
	if err != nil {
		return 0, err
	}
	policy := policies[0]
	for _, other := range policies[1:] {
		c.note("the configuration for %s lists other capabilities; with -platform %[1]s they count", other.Platform())
	}
	if f.command != "" {
		return c.whoMay(policy, f.command)
	}
	commands := policy.Callable(caller)
	var unknown []string
	for _, g := range policy.Unknown() {
		unknown = append(unknown, g.Entry().Identifier)
	}
	if slices.Sort(unknown); len(unknown) > 0 {
		c.note("no manifest explains these permissions, so what they allow or deny is not known: %s",
			words.Some(slices.Compact(unknown), 20))
	}
	if c.format == "json" {
		return ExitClean,
			report.Encode(c.env.Stdout, map[string]any{"window": f.window, "origin": caller.Origin.String(),
				"commands": commands, "applicationCommandsChecked": !policy.AppOpen(caller.Origin)})
	}
	return ExitClean, report.Callable(c.env.Stdout, policy, caller, commands)
}

// whoMay lists who may call a command, and to whom it is denied.
func (c *command) whoMay(policy *capability.Policy, text string) (int, error) {
	command, err := capability.ParseCommand(text)
	if err != nil {
		return 0, err
	}
	x := policy.Explain(command, capability.Caller{})
	if c.format == "json" {
		err = report.Encode(c.env.Stdout, map[string]any{"command": x.Command, "verdict": x.Verdict,
			"grants":      append([]capability.Grant{}, policy.Grants(x.Command)...),
			"denials":     append([]capability.Grant{}, policy.Denials(x.Command)...),
			"permissions": append([]string{}, x.Offers...)})
	} else {
		err = report.Callers(c.env.Stdout, policy, x)
	}
	if x.Unknown() {
		return ExitUsage, err
	}
	return ExitClean, err
}
