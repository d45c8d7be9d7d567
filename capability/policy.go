package capability

import (
	"maps"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/pattern"
)

// Policy is what capabilities grant, resolved to commands. It decides about calls and explains the
// decisions. It does not change and may be used by several goroutines.
type Policy struct {
	platform    Platform
	appChecked  bool
	manifests   *Manifests
	sources     []*grantSource // in the order they take effect, also those that are not for the platform
	granted     []granted
	tooLarge    bool
	version     Version
	ownCommands []string // nil if they are not known

	// What is made of these once, when it is asked for.
	byCommand func() *byCommand
	named     func() map[string][]Command
}

// TooLarge reports whether there were too many grants to resolve. Such a policy denies everything.
func (p *Policy) TooLarge() bool { return p.tooLarge }

// granted is what an entry of a capability grants and denies.
type granted struct {
	source    *grantSource
	entry     int32
	expansion *expansion
}

// byCommand is what all entries grant and deny, by the commands.
type byCommand struct {
	commands map[Command]*access
	order    []Command // the keys of commands
	global   map[string]Scope
	unknown  []Grant // of permissions that no manifest explains
	// mayAllow are the plugins of which these may allow something, with anyPlugin those of all.
	mayAllow map[string]bool
}

const anyPlugin = "*"

// access is what capabilities allow and deny of a command.
type access struct{ allowed, denied []Grant }

// sorted sorts the grants by commands when the first command is looked up: a check of files looks
// up none, and there can be a hundred for each entry.
func (p *Policy) sorted() *byCommand {
	b := &byCommand{commands: make(map[Command]*access), global: make(map[string]Scope),
		mayAllow: make(map[string]bool)}
	for i := range p.granted {
		g := &p.granted[i]
		if x := g.expansion.unknown; x != nil {
			b.unknown = append(b.unknown, b.grantsOf(g, x)...)
			b.addUnknown(x.plugin, x.Permission.Identifier)
		}
		for k := range g.expansion.permissions {
			x := &g.expansion.permissions[k]
			switch {
			case !x.Permission.on(p.platform):
			case len(x.Allow) == 0 && len(x.Deny) == 0:
				b.addGlobal(g, x)
			default:
				b.add(g, x)
			}
		}
	}
	b.order = slices.SortedFunc(maps.Keys(b.commands), compareCommands)
	return b
}

// add adds the grants and denials of one permission.
func (b *byCommand) add(g *granted, x *Expansion) {
	for _, grant := range b.grantsOf(g, x) {
		for _, command := range x.Allow {
			a := b.access(command)
			a.allowed = append(a.allowed, grant)
		}
		for _, command := range x.Deny {
			a := b.access(command)
			a.denied = append(a.denied, grant)
		}
	}
}

// grantsOf returns the grants of one permission, one for each origin.
func (b *byCommand) grantsOf(g *granted, x *Expansion) (grants []Grant) {
	e := &g.source.capability.Permissions[g.entry]
	var scope *Scope
	if e.Allow != nil || e.Deny != nil || x.Permission.ScopeAllow != nil || x.Permission.ScopeDeny != nil {
		scope = &Scope{joined(e.Allow, x.Permission.ScopeAllow), joined(e.Deny, x.Permission.ScopeDeny)}
	}
	for _, context := range g.source.contexts {
		grants = append(grants, Grant{source: g.source, remote: context, expanded: x, entry: g.entry, scope: scope})
	}
	return grants
}

// addUnknown adds what a permission that no manifest explains may allow. A set of the application
// may contain permissions of any plugin.
func (b *byCommand) addUnknown(plugin, name string) {
	switch {
	case strings.HasPrefix(name, "deny-"):
	case plugin == AppManifest && !strings.HasPrefix(name, "allow-"):
		b.mayAllow[anyPlugin] = true
	default:
		b.mayAllow[newCommand(plugin, "").plugin] = true
	}
}

// addGlobal adds the scope of a permission without commands to that of its plugin.
func (b *byCommand) addGlobal(g *granted, x *Expansion) {
	e := &g.source.capability.Permissions[g.entry]
	key := strings.TrimPrefix(x.plugin, "core:")
	scope := b.global[key]
	scope.Allow = append(append(scope.Allow, e.Allow...), x.Permission.ScopeAllow...)
	scope.Deny = append(append(scope.Deny, e.Deny...), x.Permission.ScopeDeny...)
	b.global[key] = scope
}

// joined returns the values of both lists. All permissions of a set share the scope of their entry.
func joined(entry, permission []Value) []Value {
	if len(permission) == 0 {
		return slices.Clip(entry)
	}
	return slices.Concat(entry, permission)
}

func (b *byCommand) access(command Command) *access {
	a := b.commands[command]
	if a == nil {
		a = &access{}
		b.commands[command] = a
	}
	return a
}

// Scope is what a plugin's command may work on, in the plugin's own terms. An empty Allow leaves it
// to the plugin what that means: many take it for everything that is not denied, others for
// nothing.
type Scope struct {
	Allow []Value `json:"allow,omitempty"`
	Deny  []Value `json:"deny,omitempty"`
}

// grantSource is what all grants of a capability share.
type grantSource struct {
	capability        *Capability
	windows, webviews []pattern.Glob
	contexts          []*pattern.URL // nil for the application's own pages
}

// Grant is one reason why a command is allowed, or denied: an entry of a capability, for one
// origin.
type Grant struct {
	source   *grantSource
	remote   *pattern.URL
	expanded *Expansion
	entry    int32
	scope    *Scope // nil without one
}

// Capability returns the capability that grants.
func (g Grant) Capability() *Capability { return g.source.capability }

// Entry returns the entry of the capability that grants.
func (g Grant) Entry() *Entry { return &g.source.capability.Permissions[g.entry] }

// Chain returns the identifiers that lead from the capability's entry through sets to the
// permission, both ends included.
func (g Grant) Chain() []string { return slices.Clone(g.expanded.Chain) }

// Local reports whether the grant is for the application's own pages.
func (g Grant) Local() bool { return g.remote == nil }

// Remote returns the pattern of the URLs that the grant is for, "" for a local one. The pattern may
// be empty too, which matches every URL.
func (g Grant) Remote() string {
	if g.remote == nil {
		return ""
	}
	return g.remote.String()
}

// Windows returns the patterns of window labels in order.
func (g Grant) Windows() []string { return globTexts(g.source.windows) }

// Webviews returns the patterns of webview labels in order.
func (g Grant) Webviews() []string { return globTexts(g.source.webviews) }

func globTexts(globs []pattern.Glob) []string {
	texts := []string{}
	for i := range globs {
		texts = append(texts, globs[i].String())
	}
	return texts
}

// Scope returns what the entry and the permission together limit the command to, the zero Scope
// without a limit.
func (g Grant) Scope() Scope {
	if g.scope == nil {
		return Scope{}
	}
	return *g.scope
}

func (g *Grant) originMatches(o *Origin) bool {
	if g.remote == nil || o.IsLocal() {
		return g.remote == nil && o.IsLocal()
	}
	return g.remote.Match(o.address)
}

func (g *Grant) labelMatches(window, webview string) bool {
	return pattern.MatchAny(g.source.webviews, webview) || pattern.MatchAny(g.source.windows, window)
}

// Caller identifies who calls a command.
type Caller struct {
	// Window is the label of the window.
	Window string
	// Webview is the label of the webview. Defaults to the window's: a window with one webview has
	// one label for both.
	Webview string
	// Origin is where the page comes from. Defaults to the application itself.
	Origin Origin
}

// Allowed reports whether a caller may call a command. A command that a capability denies is
// denied, even if others allow it. If the application has no manifest, its own commands, such as
// "greet", are allowed to its own pages, and in releases before 2.11.1 to all others. A plugin
// command that nothing grants is never allowed, nor is a name that commands of applications cannot
// have.
func (p *Policy) Allowed(command Command, c Caller) bool {
	a := p.byCommand().commands[command]
	if a == nil {
		return p.exempt(command, c.Origin)
	}
	if len(a.denied) > 0 {
		return false
	}
	webview := c.Webview
	if webview == "" {
		webview = c.Window
	}
	for i := range a.allowed {
		if g := &a.allowed[i]; g.originMatches(&c.Origin) && g.labelMatches(c.Window, webview) {
			return true
		}
	}
	return false
}

// exempt reports whether a command is not subject to capabilities for pages of an origin.
func (p *Policy) exempt(command Command, o Origin) bool {
	if command.plugin != "" {
		return command == Command{"__TAURI_CHANNEL__", "fetch"}
	}
	return p.AppOpen(o) && p.mayBeOwn(command.name)
}

// AppOpen reports whether pages of an origin may call all of the application's own commands,
// because it has no manifest that makes them subject to capabilities. Since release 2.11.1 this is
// so for its own pages only.
func (p *Policy) AppOpen(o Origin) bool {
	return !p.appChecked && (o.IsLocal() || p.version.Before(remoteChecked))
}

// Commands returns all commands that some capability allows or denies, in order.
func (p *Policy) Commands() []Command { return slices.Clone(p.byCommand().order) }

// Platform returns the target platform, "" for all.
func (p *Policy) Platform() Platform { return p.platform }

// Denied returns the commands that some capability denies, in order.
func (p *Policy) Denied() []Command {
	var commands []Command
	if slices.ContainsFunc(p.granted, func(g granted) bool { return g.expansion.denies }) {
		for command, a := range p.byCommand().commands {
			if len(a.denied) > 0 {
				commands = append(commands, command)
			}
		}
	}
	slices.SortFunc(commands, compareCommands)
	return commands
}

// Grants returns why a command is allowed, in the order in which capabilities take effect.
func (p *Policy) Grants(command Command) []Grant {
	if a := p.byCommand().commands[command]; a != nil {
		return slices.Clone(a.allowed)
	}
	return nil
}

// Unknown returns the grants of permissions that no manifest explains, such as those of a plugin
// that was never built with the application: what they allow or deny is not known. A permission
// allow-x of a plugin without a manifest is not among them: it is taken to allow the command x.
func (p *Policy) Unknown() []Grant { return slices.Clone(p.byCommand().unknown) }

// MayAllow reports whether one of the permissions that Unknown returns may allow a command.
func (p *Policy) MayAllow(command Command) bool {
	plugins := p.byCommand().mayAllow
	return plugins[command.plugin] || plugins[anyPlugin]
}

// Denials returns why a command is denied.
func (p *Policy) Denials(command Command) []Grant {
	if a := p.byCommand().commands[command]; a != nil {
		return slices.Clone(a.denied)
	}
	return nil
}

// GlobalScopes returns the scopes that apply to all commands of a plugin, by the plugin's name.
// They apply to every window and origin.
func (p *Policy) GlobalScopes() map[string]Scope { return maps.Clone(p.byCommand().global) }

// AppChecked reports whether the application's own commands are subject to capabilities, which they
// are only if it has a manifest.
func (p *Policy) AppChecked() bool { return p.appChecked }
