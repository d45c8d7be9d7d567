// Package calls compares the commands that an application's frontend calls with those that its
// capabilities grant and that its Rust code defines.
//
// [Read] reads the scripts, components and pages of a frontend with a parser. It follows the names
// under which modules import, export and keep the function invoke and the functions and classes of
// the packages @tauri-apps/api and @tauri-apps/plugin-*, whose commands it knows. [Check] reports
// calls that fail, grants that nothing uses, and calls whose command is computed.
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
	"lessonkit.example/capability/internal/script"
	"lessonkit.example/capability/internal/words"
)

// The codes of the rules.
const (
	codeDenied       capability.Code = "call-denied"
	codeUnregistered capability.Code = "call-unregistered"
	codeComputed     capability.Code = "call-computed"
	codeUnusedGrant  capability.Code = "grant-unused"
	codeUnusedCode   capability.Code = "command-unused"
	codeLocalhost    capability.Code = "localhost-not-remote"
)

var rules = [...]capability.Rule{
	{Code: codeDenied, Summary: "The frontend calls a command that no capability grants.", Severity: capability.Error},
	{Code: codeUnregistered, Summary: "The frontend calls a command that the Rust code does not have.",
		Severity: capability.Error},
	{Code: codeComputed, Summary: "The name of a called command is computed, so it is not checked.",
		Severity: capability.Info},
	{Code: codeUnusedGrant, Summary: "No source of the frontend calls a command of a permission.",
		Severity: capability.Info},
	{Code: codeUnusedCode, Summary: "No source of the frontend calls a command that the Rust code defines.",
		Severity: capability.Info},
	{Code: codeLocalhost, Summary: "A window shows a page of a local server, which no capability names as remote.",
		Severity: capability.Warning},
}

// Rules returns the rules that [Check] applies.
func Rules() []capability.Rule { return slices.Clone(rules[:]) }

// Extensions returns those of the files that [Read] reads.
func Extensions() []string { return slices.Sorted(maps.Keys(script.Extensions)) }

// Check reports how the calls of a frontend and what its application grants differ, sorted by file
// and position. Severities replaces the severities of rules, Off silences one.
func Check(app *capability.App, f *Frontend, severities map[capability.Code]capability.Severity,
) capability.Diagnostics {
	c := &checker{app: app, Frontend: f, severities: severities, manifests: app.Manifests}
	for _, target := range app.Targets("") {
		policy, _ := app.Resolve(capability.ResolveOptions{Platform: target})
		c.policies = append(c.policies, policy)
	}
	if app.Err("") != nil || slices.ContainsFunc(c.policies, (*capability.Policy).TooLarge) {
		return nil // check reports it
	}
	// A list that a build is given may activate others, so what those grant that are not active
	// counts.
	all := *app
	all.Config, all.PlatformConfigs = nil, nil
	inactive, _ := all.Resolve(capability.ResolveOptions{})
	c.policies = append(c.policies, inactive)
	c.denied()
	c.unregistered()
	known, composed := false, false
	for _, one := range f.calls {
		known, composed = known || one.command != (capability.Command{}), composed || one.composed
		if one.command == (capability.Command{}) {
			c.at(codeComputed, "The name of the command is computed, so whether it is granted is not checked.", nil,
				[]call{one})
		}
	}
	c.localhost()
	if len(f.Unread) == 0 && known && !composed {
		c.unusedGrants()
		c.unusedCommands()
	}
	c.found.Sort()
	return c.found
}

type checker struct {
	*Frontend
	app        *capability.App
	manifests  *capability.Manifests
	severities map[capability.Code]capability.Severity
	policies   []*capability.Policy // of each target, and of all capability files
	found      capability.Diagnostics
}

// report adds a diagnostic, with the severity of its rule, unless that is off.
func (c *checker) report(d capability.Diagnostic) {
	var ok bool
	if d.Severity, ok = c.severities[d.Code]; !ok {
		i := slices.IndexFunc(rules[:], func(r capability.Rule) bool { return r.Code == d.Code })
		d.Severity = rules[i].Severity
	}
	if d.Severity != capability.Off {
		c.found = append(c.found, d)
	}
}

// at adds a diagnostic about a call, with the other places of the same.
func (c *checker) at(code capability.Code, message string, fix *capability.Fix, places []call,
	related ...capability.Place) {
	place := func(of call) capability.Diagnostic {
		return of.source.Diagnostic(of.offset, of.offset+of.length, code, capability.Info, message)
	}
	d := place(places[0])
	d.Fix, d.Related = fix, related
	for _, one := range places[1:min(len(places), maxPlaces)] {
		other := place(one)
		d.Related = append(d.Related, capability.Place{File: other.File, Start: other.Start,
			Message: "It is called here too."})
	}
	c.report(d)
}

// maxPlaces limits the places of calls of one command.
const maxPlaces = 20

// grouped returns the calls that are wanted, those of the same command for the same windows
// together.
func (c *checker) grouped(wanted func(call) bool) (groups [][]call) {
	index := make(map[string]int)
	for _, one := range c.calls {
		key := one.command.String() + " " + strings.Join(one.windows, " ")
		i, ok := index[key]
		if !ok {
			if i = -1; one.command != (capability.Command{}) && wanted(one) {
				i, groups = len(groups), append(groups, nil)
			}
			index[key] = i
		}
		if i >= 0 {
			groups[i] = append(groups[i], one)
		}
	}
	return groups
}

// denied reports calls that no capability allows on any platform.
func (c *checker) denied() {
	allowed := func(one call) bool {
		return slices.ContainsFunc(c.policies, func(p *capability.Policy) bool { return c.allowed(p, one) })
	}
	for _, calls := range c.grouped(func(one call) bool { return !allowed(one) }) {
		one, policy := calls[0], c.policies[0]
		if denials := policy.Denials(one.command); len(denials) > 0 {
			v := denials[0].Entry().Value()
			c.at(codeDenied, fmt.Sprintf("%s is called, but %s in the capability %q denies it to all windows.",
				one, denials[0].Entry().Identifier, denials[0].Capability().Identifier), nil, calls,
				capability.Place{File: v.File(), Start: v.Position(), Message: "It is denied here."})
			continue
		}
		fix, advice := c.grant(one, policy)
		if windows := one.windows; windows != nil {
			if one.windows = nil; allowed(one) {
				advice = fmt.Sprintf(" to the window %q, whose page leads to the call%s", windows[0], advice)
			}
		}
		c.at(codeDenied, fmt.Sprintf("%s is called, but no capability grants it%s", one, advice), fix, calls)
	}
}

// allowed reports whether the application's own pages may make a call, in some window that they are
// in. What cannot be explained counts as allowed, and so do windows that are not in the
// configuration, which may have any page.
func (c *checker) allowed(p *capability.Policy, one call) bool {
	command := one.command
	if command.Plugin() == "__TAURI_CHANNEL__" || command.Plugin() == "" && !p.AppChecked() {
		return true
	}
	for _, g := range p.Unknown() {
		plugin, _ := capability.SplitIdentifier(g.Entry().Identifier)
		if plugin == command.Plugin() || plugin == "" || strings.TrimPrefix(plugin, "core:") == command.Plugin() {
			return true
		}
	}
	if len(p.Denials(command)) > 0 {
		return false
	}
	plugin := command.Plugin()
	if plugin != "" && c.manifests.Get(plugin) == nil && c.manifests.Get("core:"+plugin) == nil &&
		slices.ContainsFunc(p.Commands(), func(other capability.Command) bool { return other.Plugin() == plugin }) {
		return true // one of its permissions may allow more than its name says
	}
	return slices.ContainsFunc(p.Grants(command), func(g capability.Grant) bool {
		return g.Local() && slices.ContainsFunc(slices.Concat(g.Windows(), g.Webviews()), func(label string) bool {
			return one.windows == nil || slices.Contains(one.windows, label) || !slices.Contains(c.labels, label)
		})
	})
}

// grant returns the smallest change that grants a command, and the sentence that tells of it.
func (c *checker) grant(one call, policy *capability.Policy) (*capability.Fix, string) {
	command, plugin := one.command, one.command.Plugin()
	if c.manifests.Get("core:"+plugin) == nil && c.manifests.Absent(plugin) {
		return nil, fmt.Sprintf(", and Cargo.lock has no plugin %q: add it to the application first.", plugin)
	}
	window := "main"
	if c.app.Config != nil {
		for w := range c.app.Config.Root().Get("app").Get("windows").Items() {
			window = cmp.Or(w.Get("label").Text(), window)
			break
		}
	}
	if one.windows != nil {
		window = one.windows[0]
	}
	desktop, _ := c.app.Resolve(capability.ResolveOptions{Platform: capability.Linux})
	if desktop.Explain(command, capability.Caller{Window: window}).AddTo != "" {
		policy = desktop // rather than to a capability for phones
	}
	x := policy.Explain(command, capability.Caller{Window: window})
	if len(x.Offers) == 0 {
		return nil, "; no permission that is known allows it."
	}
	offer := x.Offers[0]
	capabilities, _ := c.app.Capabilities("")
	i := slices.IndexFunc(capabilities, func(other capability.Capability) bool {
		return x.AddTo != "" && other.Identifier == x.AddTo
	})
	if i < 0 {
		return nil, fmt.Sprintf("; %q allows it, in a capability for the window %q; there is none.", offer,
			window)
	}
	list := capabilities[i].Value().Get("permissions")
	advice := fmt.Sprintf("; add %q to the capability %q in %s.", offer, x.AddTo, list.File())
	if list.Kind() != capability.Array || slices.ContainsFunc(capabilities[i].Permissions,
		func(e capability.Entry) bool { return e.Identifier == offer }) {
		return nil, advice
	}
	return capability.AddItem("Add "+offer, list, offer), advice
}

// unregistered reports calls of the application's own commands whose name no Rust source has.
func (c *checker) unregistered() {
	if c.rust == nil {
		return
	}
	var own []string
	for _, command := range c.app.SourceCommands() {
		own = append(own, command.Name)
	}
	for _, calls := range c.grouped(func(one call) bool {
		return one.command.Plugin() == "" && c.rust[one.command.String()] == 0
	}) {
		end := "."
		if similar := words.Closest(calls[0].command.String(), own); similar != "" {
			end = fmt.Sprintf("; did you mean %q?", similar)
		}
		c.at(codeUnregistered, fmt.Sprintf("%s is called, but no Rust source of the application has a function or a "+
			"text of this name%s", calls[0].command, end), nil, calls)
	}
}

// localhost reports windows with pages of a local server, which are remote pages since release
// 2.11.1.
func (c *checker) localhost() {
	if v := c.app.Version; v != (capability.Version{}) && slices.Compare([]int{v.Major, v.Minor, v.Patch},
		[]int{2, 11, 1}) < 0 {
		return
	}
	for _, config := range c.app.Configs("") {
		build := config.Root().Get("build")
		for w := range config.Root().Get("app").Get("windows").Items() {
			address := w.Get("url")
			text := address.Text()
			isOwn := func(u string) bool {
				return u != "" && strings.HasPrefix(text+"/", strings.TrimSuffix(u, "/")+"/")
			}
			if isLocalServer(text) && !isOwn(build.Get("devUrl").Text()) && !isOwn(build.Get("frontendDist").Text()) {
				c.remotePage(address, text+" is")
			}
		}
	}
	if _, served := c.app.PluginVersions["localhost"]; served && c.app.Config != nil {
		c.remotePage(c.app.Config.Root(), "What the plugin localhost serves, http://localhost with a port, is")
	}
}

func isLocalServer(pattern string) bool {
	_, host, _ := strings.Cut(pattern, "://")
	if end := strings.IndexAny(host, ":/"); end >= 0 {
		host = host[:end]
	}
	return host == "localhost" || host == "127.0.0.1" || host == "*"
}

func (c *checker) remotePage(v capability.Value, what string) {
	for _, target := range c.app.Targets("") {
		capabilities, _ := c.app.Capabilities(target)
		for _, one := range capabilities {
			if slices.ContainsFunc(one.Remote, func(u string) bool {
				return isLocalServer(u) || !strings.Contains(u, "://")
			}) {
				return
			}
		}
	}
	c.report(capability.NewDiagnostic(v, codeLocalhost, capability.Warning, what+` a remote page, and no capability `+
		`names it, so it may call no command; add it to "remote": {"urls": […]} of the capability for its window.`))
}
