// Package calls compares the commands that an application's frontend calls with those that its
// capabilities grant and that its Rust code defines.
//
// [Read] reads the scripts, components and pages of a frontend with a parser. It follows the names
// under which modules import, export and keep the function invoke, constants that name commands,
// and the functions and classes of the packages @tauri-apps/api and @tauri-apps/plugin-*, whose
// commands it knows. [Check] reports calls that fail, grants that nothing uses, and calls whose
// command is computed.
//
// What is reported of calls is certain: a command may be called in ways that are not seen, such as
// by a package, but one that is reported is called at its place. What is reported as never called
// is searched for more widely: also what may be the name of a command, a method or a function
// counts as a call, and nothing is reported if a part of the frontend was not read or a name is put
// together of parts.
package calls

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/script"
	"lessonkit.example/capability/internal/words"
)

// The rules.
var (
	denied = capability.Rule{Code: "call-denied", Severity: capability.Error,
		Summary: "The frontend calls a command that no capability grants."}
	unregistered = capability.Rule{Code: "call-unregistered", Severity: capability.Error,
		Summary: "The frontend calls a command that the Rust code does not have."}
	computed = capability.Rule{Code: "call-computed", Severity: capability.Info,
		Summary: "The name of a called command is computed, so it is not checked."}
	unusedGrant = capability.Rule{Code: "grant-unused", Severity: capability.Info,
		Summary: "No source of the frontend calls a command of a permission."}
	unusedCommand = capability.Rule{Code: "command-unused", Severity: capability.Info,
		Summary: "No source of the frontend calls a command that the Rust code defines."}
)

// Rules returns the rules that [Check] applies.
func Rules() []capability.Rule {
	return []capability.Rule{denied, unregistered, computed, unusedGrant, unusedCommand}
}

// Extensions returns those of the files that [Read] reads.
func Extensions() []string { return slices.Sorted(maps.Keys(script.Extensions)) }

// Check reports how the calls of a frontend and what its application grants on a platform, or with
// "" on any, differ, sorted by file and position. Severities replaces the severities of rules, Off
// silences one.
func Check(app *capability.App, f *Frontend, platform capability.Platform,
	severities map[capability.Code]capability.Severity) capability.Diagnostics {
	c := &checker{app: app, Frontend: f, platform: platform, severities: make(map[capability.Code]capability.Severity)}
	for _, rule := range Rules() {
		c.severities[rule.Code] = rule.Severity
	}
	maps.Copy(c.severities, severities)
	// A list that a build is given may activate others, so what those grant that are not active
	// counts.
	all := *app
	all.Config, all.PlatformConfigs = nil, nil
	inactive, _ := all.Resolve(capability.ResolveOptions{Platform: platform})
	for _, one := range capability.Platforms() {
		if platform == "" || platform == one {
			active, _ := app.Resolve(capability.ResolveOptions{Platform: one})
			c.active = append(c.active, active)
		}
	}
	c.policies = append(slices.Clip(c.active), inactive)
	if app.Err(platform) != nil || slices.ContainsFunc(c.policies, (*capability.Policy).TooLarge) {
		return nil // check reports it
	}
	c.calledCommands()
	known := func(one call) bool { return one.command != capability.Command{} }
	if len(f.Unread) == 0 && slices.ContainsFunc(f.calls, known) && !f.composed {
		c.unusedGrants()
		c.unusedCommands()
	}
	c.found.Sort()
	return c.found
}

type checker struct {
	*Frontend
	app        *capability.App
	severities map[capability.Code]capability.Severity
	platform   capability.Platform
	active     []*capability.Policy // one for each platform
	policies   []*capability.Policy // also those with all capability files
	found      capability.Diagnostics
	limit      limit.Findings
}

// report adds a diagnostic, unless its rule is off or it is one of too many.
func (c *checker) report(d capability.Diagnostic) {
	d.Severity = c.severities[d.Code]
	if d.Severity == capability.Off {
		return
	}
	over := c.limit.Over(string(d.Code))
	if over == 1 {
		d.Message, d.Fix = limit.More, nil
	}
	if over <= 1 {
		c.found = append(c.found, d)
	}
}

// calledCommands reports calls that are denied, whose command does not exist or is not known. The
// calls of a command from the same windows are judged once.
func (c *checker) calledCommands() {
	judged := make(map[string]capability.Diagnostic)
	for _, one := range c.calls {
		key := fmt.Sprint(one, one.windows)
		if _, again := judged[key]; !again {
			judged[key] = c.judge(one)
		}
		if v := judged[key]; v.Message != "" {
			d := one.source.Diagnostic(one.offset, one.offset+one.length, v.Code, 0, v.Message)
			d.Fix, d.Related = v.Fix, v.Related
			c.report(d)
		}
	}
}

// judge returns what is wrong with a call, without the place. Nothing is if the message is empty.
func (c *checker) judge(one call) (d capability.Diagnostic) {
	switch name := one.command.String(); {
	case one.command == capability.Command{}:
		d.Code = computed.Code
		d.Message = "The name of the command is computed, so whether it is granted is not checked."
	case c.severities[unregistered.Code] != capability.Off && one.command.Plugin() == "" && c.rust != nil &&
		c.rust[name] == 0:
		d.Code = unregistered.Code
		var own []string
		if !c.limit.Full(string(d.Code)) { // else it is not listed
			for _, command := range c.app.SourceCommands() {
				own = append(own, command.Name)
			}
		}
		end := "."
		if similar := words.Closest(name, own); similar != "" {
			end = fmt.Sprintf("; did you mean %q?", similar)
		}
		d.Message = fmt.Sprintf("%s is called, but no Rust source of the application has a function or a text of "+
			"this name%s", name, end)
	case !c.allowed(one):
		return c.denied(one)
	}
	return d
}

func (c *checker) denied(one call) capability.Diagnostic {
	d := capability.Diagnostic{Code: denied.Code}
	if c.limit.Full(string(denied.Code)) {
		d.Message = limit.More // which is listed already
		return d
	}
	for _, p := range c.active {
		if denials := p.Denials(one.command); len(denials) > 0 {
			entry := denials[0].Entry()
			d.Message = fmt.Sprintf("%s is called, but %s in the capability %q denies it to all windows.", one,
				entry.Identifier, denials[0].Capability().Identifier)
			d.Related = []capability.Place{entry.Value().Place("It is denied here.")}
			return d
		}
	}
	fix, advice := c.grant(one)
	where, windows := "", one.windows
	if one.windows = nil; windows != nil && c.allowed(one) {
		where = fmt.Sprintf(" to the window %q, whose page leads to the call", windows[0])
	}
	d.Fix, d.Message = fix, fmt.Sprintf("%s is called, but no capability grants it%s%s", one, where, advice)
	return d
}

// allowed reports whether the application's own pages may make a call, in some window that they are
// in, on some platform. What cannot be explained counts as allowed, and so do windows that are not
// in the configuration, which may have any page.
func (c *checker) allowed(one call) bool {
	plugin := one.command.Plugin()
	ofPlugin := func(other capability.Command) bool { return other.Plugin() == plugin }
	has := func(label string) bool {
		return one.windows == nil || slices.Contains(one.windows, label) || !slices.Contains(c.labels, label)
	}
	return slices.ContainsFunc(c.policies, func(p *capability.Policy) bool {
		switch {
		case plugin == "__TAURI_CHANNEL__" || plugin == "" && !p.AppChecked() || p.MayAllow(one.command):
			return true
		case len(p.Denials(one.command)) > 0:
			return false
		case !p.KnowsPlugin(one.command) && slices.ContainsFunc(p.Commands(), ofPlugin):
			return true // one of its permissions may allow more than its name says
		}
		return slices.ContainsFunc(p.Grants(one.command), func(g capability.Grant) bool {
			return g.Local() && slices.ContainsFunc(slices.Concat(g.Windows(), g.Webviews()), has)
		})
	})
}

// grant returns the smallest change that grants a command, and the sentence that tells of it.
func (c *checker) grant(one call) (*capability.Fix, string) {
	if plugin := one.command.Plugin(); plugin != "" && c.app.Manifests.Absent(plugin) {
		return nil, fmt.Sprintf(", and Cargo.lock has no plugin %q: add it to the application first.", plugin)
	}
	caller := capability.Caller{Window: "main"}
	if one.windows != nil {
		caller.Window = one.windows[0]
	} else if c.app.Config != nil {
		caller.Window = cmp.Or(c.app.Config.Root().Get("app").Get("windows").Item(0).Get("label").Text(), "main")
	}
	var x *capability.Explanation
	for _, p := range c.active {
		if other := p.Explain(one.command, caller); x == nil || x.AddTo == "" && other.AddTo != "" {
			x = other
		}
	}
	fix := x.Fix()
	switch {
	case len(x.Offers) == 0 && one.command.Plugin() == "":
		return nil, fmt.Sprintf("; list it in the build script (AppManifest::commands) or in one of the "+
			"application's permissions, and that permission, such as %q, in a capability.",
			"allow-"+strings.ReplaceAll(one.command.String(), "_", "-"))
	case len(x.Offers) == 0:
		return nil, "; no permission that is known allows it."
	case x.AddTo == "":
		return nil, fmt.Sprintf("; %q allows it, in a capability for the window %q; there is none.", x.Offers[0],
			x.Window)
	case fix == nil:
		return nil, fmt.Sprintf("; add %q to the capability %q.", x.Offers[0], x.AddTo)
	}
	return fix, fmt.Sprintf("; add %q to the capability %q in %s.", x.Offers[0], x.AddTo, fix.File)
}
