package capability

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/pattern"
	"lessonkit.example/capability/internal/syntax"
	"lessonkit.example/capability/internal/words"
)

// ResolveOptions configures [Resolve]. The zero value resolves for all platforms at once.
type ResolveOptions struct {
	// Platform is the target platform. Empty means all platforms.
	Platform Platform
	// Partial means that the manifests are incomplete. A plugin without a manifest is then not an
	// error, and the commands of its permissions are derived from their names: "x:allow-open-file"
	// allows the command open_file of the plugin x. [App.Resolve] sets it; with other manifests it
	// is the opposite of [Manifests.Whole].
	Partial bool
	// Version is the release of the framework. Defaults to the newest one known.
	Version Version
	// AppCommands are the application's own commands, if they are known without a manifest. Nil
	// means that they are not: any name that can be one is then taken for a command.
	AppCommands []string
}

// Resolve resolves the permissions of capabilities with the manifests, those of an [App] or at
// least [CoreManifests]; they must not be nil. The diagnostics report references to permissions and
// plugins that do not exist; the policy contains everything that could be resolved. Capabilities
// take effect in the order of their identifiers.
func Resolve(capabilities []Capability, manifests *Manifests, o ResolveOptions) (*Policy, Diagnostics) {
	r := &resolver{
		options:    o,
		manifests:  manifests,
		expansions: make(map[string]*expansion),
		remotes:    make(map[string]remote),
		known:      make(map[*Manifest][]string),
		policy: &Policy{
			platform:    o.Platform,
			appChecked:  manifests.Get(AppManifest) != nil,
			manifests:   manifests,
			version:     o.Version,
			ownCommands: o.AppCommands,
		},
	}
	r.policy.byCommand, r.policy.named = sync.OnceValue(r.policy.sorted), sync.OnceValue(r.policy.byName)
	ordered := make([]*Capability, len(capabilities))
	for i := range capabilities {
		ordered[i] = &capabilities[i]
	}
	slices.SortStableFunc(ordered, func(a, b *Capability) int { return strings.Compare(a.Identifier, b.Identifier) })
	for i, c := range ordered {
		if i > 0 && ordered[i-1].Identifier == c.Identifier &&
			(c.Identifier != "" || c.value.Get("identifier").Kind() == String) {
			r.duplicateCapability(ordered[i-1], c)
		}
		active := c.on(o.Platform)
		source := r.source(c, active)
		r.policy.sources = append(r.policy.sources, source)
		if active {
			r.capability(source)
		}
	}
	r.reportUnchecked()
	if r.grants > limit.Grants || r.expanded > limit.Grants {
		// A policy that is incomplete must not decide.
		r.policy.granted, r.policy.appChecked, r.policy.tooLarge = nil, true, true
	}
	return r.policy, r.found.sorted()
}

type resolver struct {
	collector
	options    ResolveOptions
	manifests  *Manifests
	policy     *Policy
	expansions map[string]*expansion
	remotes    map[string]remote
	unchecked  []unchecked
	known      map[*Manifest][]string
	faults     int
	grants     int
	expanded   int // permissions in all expansions
	compared   int // names in the search for suggestions
}

// remote is a URL pattern, or what is wrong with it.
type remote struct {
	url *pattern.URL
	err error
}

// expansion is the result of expanding a permission identifier.
type expansion struct {
	permissions []Expansion
	commands    int  // that they allow and deny on the platform
	denies      bool // they deny some
	others      int  // permissions without commands on the platform, and scope values of all
	copies      int  // permissions that copy the scope of their entry
	faults      []fault
	appChecked  bool
	unknown     *Expansion // what no manifest explains, nil if it is known
}

type fault struct {
	code       Code
	message    string
	suggestion string
}

func (r *resolver) duplicateCapability(a, b *Capability) {
	first, where := a.value.Get("identifier").Or(a.value), ""
	if first.Exists() {
		where = " in " + strings.TrimPrefix(fmt.Sprintf("%s:%d", first.File(), first.Position().Line), ":")
	}
	message := fmt.Sprintf("There is already a capability %q%s; give this one another name.", b.Identifier, where)
	second := b.value.Get("identifier").Or(b.value)
	if f := r.report(codeDuplicateCapability, second, message); f != nil && first.Exists() {
		f.Related = append(f.Related, first.Place("the other one"))
	}
}

// source compiles the patterns of a capability and reports the malformed ones if it is active.
func (r *resolver) source(c *Capability, report bool) *grantSource {
	return &grantSource{capability: c, contexts: r.contexts(c, report),
		windows:  r.globs(c, "windows", c.Windows, report),
		webviews: r.globs(c, "webviews", c.Webviews, report)}
}

func (r *resolver) capability(source *grantSource) {
	c := source.capability
	for i := range c.Permissions {
		e := &c.Permissions[i]
		x := r.expand(e.Identifier)
		if x.appChecked {
			r.policy.appChecked = true
		}
		for _, f := range x.faults {
			if f.code == codeUnknownPlugin && f.suggestion == "" && r.options.Platform == "" && c.mobileOnly() {
				f = fault{code: codeUncheckedPlugin,
					message: "manifests of a desktop build do not contain plugins for mobile; build for mobile, " +
						"and check again"}
			}
			if f.code == codeUncheckedPlugin {
				r.leaveUnchecked(e, f.message)
				continue
			}
			if f.suggestion == "core:"+e.Identifier && e.value.Exists() {
				r.withoutCore(e, f)
				continue
			}
			d := r.report(f.code, e.IdentifierValue(), f.message)
			if d != nil && f.suggestion != "" && e.value.Exists() {
				d.Fix = e.IdentifierValue().Replace(f.suggestion)
				d.Fix.Guess = true
			}
		}
		r.grant(granted{source: source, entry: int32(i), expansion: x})
	}
}

// withoutCore reports an identifier of the time before version 2.0, together with the others of its
// file: all of them want the same correction.
func (r *resolver) withoutCore(e *Entry, f fault) {
	v := e.IdentifierValue()
	fix := v.Replace(f.suggestion)
	for i := range r.found {
		d := &r.found[i]
		if d.Code != f.code || d.text != v.text || d.Fix == nil || d.Fix.Guess || len(d.Related) == limit.PerRule {
			continue
		}
		d.Message = strings.TrimSuffix(d.Message, ".") + fmt.Sprintf(", %q.", f.suggestion)
		d.Related = append(d.Related, v.Place(f.message))
		d.Fix.Title, d.Fix.Edits = "Write core: before all of them", append(d.Fix.Edits, fix.Edits...)
		return
	}
	if d := r.report(f.code, v, f.message); d != nil {
		d.Fix = fix
	}
}

// unchecked are the plugins whose permissions are not checked for one reason. They are reported
// together: it is one thing that is to be done about them.
type unchecked struct {
	reason  string
	plugins map[string]bool
	first   Value
}

func (r *resolver) leaveUnchecked(e *Entry, reason string) {
	i := slices.IndexFunc(r.unchecked, func(u unchecked) bool { return u.reason == reason })
	if i < 0 {
		i = len(r.unchecked)
		r.unchecked = append(r.unchecked, unchecked{reason, make(map[string]bool), e.IdentifierValue()})
	}
	plugin, _ := SplitIdentifier(e.Identifier)
	r.unchecked[i].plugins[plugin] = true
}

func (r *resolver) reportUnchecked() {
	for _, u := range r.unchecked {
		noun := "plugin"
		if len(u.plugins) > 1 {
			noun = "plugins"
		}
		r.report(codeUncheckedPlugin, u.first, fmt.Sprintf("Permissions of the %s %s are not checked: %s.", noun,
			words.Some(slices.Sorted(maps.Keys(u.plugins)), 10), u.reason))
	}
}

// contexts returns the origins of a capability: nil for the application itself, and its URL
// patterns.
func (r *resolver) contexts(c *Capability, report bool) []*pattern.URL {
	var contexts []*pattern.URL
	if c.Local {
		contexts = append(contexts, nil)
	}
	for i, url := range c.Remote {
		p, ok := r.remotes[url]
		if !ok {
			p.url, p.err = pattern.CompileURL(url)
			r.remotes[url] = p
		}
		if p.err == nil {
			contexts = append(contexts, p.url)
		} else if report && !r.counts.Full(string(codeRemotePattern)) {
			r.report(codeRemotePattern, c.value.Get("remote").Get("urls").Item(i).Or(c.value), p.err.Error()+".")
		}
	}
	return contexts
}

func (r *resolver) globs(c *Capability, key string, patterns []string, report bool) []pattern.Glob {
	globs := make([]pattern.Glob, 0, len(patterns))
	for i, text := range patterns {
		g, err := pattern.CompileGlob(text)
		if err == nil {
			globs = append(globs, g)
		} else if report && !r.counts.Full(string(codeWindowPattern)) {
			r.report(codeWindowPattern, c.value.Get(key).Item(i).Or(c.value), fmt.Sprintf("%s.", err))
		}
	}
	slices.SortFunc(globs, func(a, b pattern.Glob) int { return cmp.Compare(a.String(), b.String()) })
	return globs
}

// grant adds what an entry grants and denies.
func (r *resolver) grant(g granted) {
	within := r.grants <= limit.Grants
	e, x := &g.source.capability.Permissions[g.entry], g.expansion
	r.grants += max(len(g.source.contexts), 1)*x.commands + x.others + x.copies*(len(e.Allow)+len(e.Deny))
	if r.grants <= limit.Grants {
		r.policy.granted = append(r.policy.granted, g)
	} else if within {
		r.report(syntax.FaultTooLarge, e.IdentifierValue(),
			fmt.Sprintf("With this the capabilities make more than %d grants, one for each entry, command, URL "+
				"and scope value; nothing is granted. Put what is the same into one capability.", limit.Grants))
	}
}
