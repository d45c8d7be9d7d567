package capability

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/pattern"
	"lessonkit.example/capability/internal/words"
)

// Verdict is the kind of reason for which a command is allowed or denied.
type Verdict string

// The verdicts. The first two allow.
const (
	Granted        Verdict = "granted"         // a capability matches
	Unchecked      Verdict = "unchecked"       // the command is not subject to capabilities
	Denied         Verdict = "denied"          // a capability denies the command
	NoMatch        Verdict = "no-match"        // capabilities allow it, but to others
	NotGranted     Verdict = "not-granted"     // no capability allows it
	UnknownCommand Verdict = "unknown-command" // the plugin has no such command
	UnknownPlugin  Verdict = "unknown-plugin"  // no manifest tells what allows it
)

// Explanation explains whether a caller may call a command.
type Explanation struct {
	Command  Command    `json:"command"`
	Window   string     `json:"window"`
	Webview  string     `json:"webview"`
	Origin   string     `json:"origin"` // "local" or the URL
	Platform Platform   `json:"platform,omitempty"`
	Allowed  bool       `json:"allowed"`
	Verdict  Verdict    `json:"verdict"`
	Grants   []Grant    `json:"grants,omitempty"`      // those that match the caller
	Denials  []Grant    `json:"denials,omitempty"`     // those that deny
	Near     []NearMiss `json:"nearMisses,omitempty"`  // entries that do not match, the nearest first
	Offers   []string   `json:"permissions,omitempty"` // permissions that would allow the command
	Similar  []string   `json:"didYouMean,omitempty"`  // commands that exist, for one that does not
	AddTo    string     `json:"addTo,omitempty"`       // a capability that is for the caller already

	addToList      Value    // the permissions of AddTo
	idle           string   // the permission that the capability AddTo already lists
	otherPlatforms []string // permissions that allow the command on other platforms, if there are no Offers
	newer          bool     // only a newer release has the command
	absent         bool     // the application does not have the command's plugin
	policy         *Policy
}

// Unknown reports whether the command was not recognized, so that nothing is said about it: it may
// be misspelled.
func (x *Explanation) Unknown() bool {
	return x.Verdict == UnknownCommand || x.Verdict == UnknownPlugin
}

// NearMiss is an entry of a capability that would allow the command if the caller were another.
type NearMiss struct {
	Grant    Grant    `json:"grant"`    // that for the caller's origin, or for one of the others
	Problems []string `json:"problems"` // each a clause: "its windows are …"

	kinds int // of problems: there is one for each URL
}

// Explain decides like [Policy.Allowed] and explains why.
func (p *Policy) Explain(command Command, c Caller) *Explanation {
	if c.Webview == "" {
		c.Webview = c.Window
	}
	x := &Explanation{Command: command, Window: c.Window, Webview: c.Webview, Origin: c.Origin.String(),
		Platform: p.platform, policy: p}
	x.Allowed = p.Allowed(command, c)
	var idle []string
	if x.absent = p.manifests.Absent(cmp.Or(command.plugin, AppManifest)); !x.absent {
		x.Offers, idle = p.offers(command)
	}
	a := p.byCommand().commands[command]
	if a == nil {
		a = &access{}
	}
	for i := range a.allowed {
		if g := &a.allowed[i]; g.originMatches(&c.Origin) && g.labelMatches(c.Window, c.Webview) {
			x.Grants = append(x.Grants, *g)
		}
	}
	x.Denials = slices.Clone(a.denied)
	switch {
	case x.Allowed && len(x.Grants) == 0:
		x.Verdict = Unchecked
	case x.Allowed:
		x.Verdict = Granted
	case len(x.Denials) > 0:
		x.Verdict = Denied
	default:
		x.Near = p.nearMisses(command, a, c)
		if len(x.Offers) == 0 {
			x.otherPlatforms = idle
			_, newer := p.allowed(command)
			x.newer = len(idle) == 0 && slices.Contains(newer, command.name)
		}
		if x.Verdict = p.verdictWithout(command, x); x.Unknown() {
			for _, c := range p.suggestions(command) {
				x.Similar = append(x.Similar, c.String())
			}
		}
		if other := p.capabilityFor(command, c); other != nil {
			x.AddTo, x.addToList = other.Identifier, other.value.Get("permissions").Or(other.value)
			for _, e := range other.Permissions {
				if slices.Contains(x.Offers, e.Identifier) || slices.Contains(x.otherPlatforms, e.Identifier) {
					x.idle = e.Identifier
				}
			}
		}
	}
	return x
}

// Fix returns the change that adds the first of the Offers to the capability AddTo. It returns nil
// if there is none of these, if the capability has a permission that should allow the command, or
// if its permissions are TOML's [[tables]], to which no string can be added.
func (x *Explanation) Fix() *Fix {
	if len(x.Offers) == 0 || x.idle != "" || x.addToList.Kind() != Array {
		return nil
	}
	return addItem("Add "+x.Offers[0], x.addToList, x.Offers[0])
}

// capabilityFor returns the first capability that applies to a caller and has a permission of the
// command's plugin, else the first that applies; nil if there is none.
func (p *Policy) capabilityFor(command Command, caller Caller) (first *Capability) {
	isOfPlugin := func(e Entry) bool {
		plugin, _ := SplitIdentifier(e.Identifier)
		return plugin == cmp.Or(command.plugin, AppManifest) || plugin == "core:"+command.plugin
	}
	for _, source := range p.sources {
		if !source.capability.on(p.platform) || !slices.ContainsFunc(source.contexts, func(remote *pattern.URL) bool {
			g := Grant{source: source, remote: remote}
			return g.originMatches(&caller.Origin) && g.labelMatches(caller.Window, caller.Webview)
		}) {
			continue
		}
		if slices.ContainsFunc(source.capability.Permissions, isOfPlugin) {
			return source.capability
		}
		first = cmp.Or(first, source.capability)
	}
	return first
}

// placeOf returns "file:line:column", without the file if it has no name.
func placeOf(v Value) string { return strings.TrimPrefix(v.File()+":"+v.Position().String(), ":") }

func (p *Policy) verdictWithout(command Command, x *Explanation) Verdict {
	switch {
	case len(x.Near) > 0:
		return NoMatch
	case len(x.Offers) > 0, len(x.otherPlatforms) > 0, x.newer, x.absent && p.KnowsPlugin(command),
		command.plugin == "" && (!p.appChecked || p.ownCommands != nil && !p.MayAllow(command)) &&
			p.mayBeOwn(command.name):
		return NotGranted
	case command.plugin == "" && p.MayAllow(command):
		return UnknownPlugin
	case p.KnowsPlugin(command), command.plugin == "" && !p.appChecked:
		return UnknownCommand
	default:
		return UnknownPlugin
	}
}

// manifestsOf returns the manifests that a command's plugin name may mean.
func (p *Policy) manifestsOf(c Command) []*Manifest {
	var found []*Manifest
	for _, key := range []string{"core:" + c.plugin, cmp.Or(c.plugin, AppManifest)} {
		if m := p.manifests.Get(key); m != nil {
			found = append(found, m)
		}
	}
	return found
}

// KnowsPlugin reports whether there is a manifest of the plugin of a command.
func (p *Policy) KnowsPlugin(command Command) bool { return len(p.manifestsOf(command)) > 0 }

// offers returns the permissions and sets that allow a command in the application's release, the
// narrowest first, and the permissions that would if they were not for other platforms.
func (p *Policy) offers(command Command) (offers, idle []string) {
	var sets []string
	for _, m := range p.manifestsOf(command) {
		direct := make(map[string]bool)
		offering := func(set *PermissionSet) bool {
			return slices.ContainsFunc(set.Permissions, func(id string) bool { return direct[id] })
		}
		names := m.names(p.version)
		for _, id := range names {
			permission := m.Permissions[id]
			switch {
			case permission == nil || !permission.inRelease(p.version),
				!slices.Contains(permission.Allow, command.name):
			case !permission.on(p.platform):
				idle = append(idle, fullIdentifier(m.Plugin, id))
			default:
				direct[id] = true
				offers = append(offers, fullIdentifier(m.Plugin, id))
			}
		}
		if m.Default != nil && offering(m.Default) {
			sets = append(sets, fullIdentifier(m.Plugin, "default"))
		}
		for _, id := range names {
			if set := m.Sets[id]; set != nil && offering(set) {
				sets = append(sets, fullIdentifier(m.Plugin, id))
			}
		}
	}
	slices.SortStableFunc(offers, func(a, b string) int {
		return exactness(b, command.name) - exactness(a, command.name)
	})
	return append(offers, sets...), idle
}

// exactness prefers the permission that is named for the command.
func exactness(identifier, command string) int {
	if strings.HasSuffix(identifier, "allow-"+strings.ReplaceAll(command, "_", "-")) {
		return 1
	}
	return 0
}

// nearMisses returns the entries that allow a command to others, the nearest first.
func (p *Policy) nearMisses(command Command, a *access, c Caller) []NearMiss {
	ofSource := make(map[*grantSource]NearMiss) // all entries of a capability have the same problems
	var near []NearMiss
	var last Grant
	for _, g := range append(slices.Clip(a.allowed), p.inactive(command)...) {
		if g.source == last.source && g.entry == last.entry && slices.Equal(g.expanded.Chain, last.expanded.Chain) {
			continue // the same for another origin, or listed twice in a set
		}
		last = g
		n, known := ofSource[g.source]
		if !known {
			n = p.nearMiss(g.source, c)
			ofSource[g.source] = n
		}
		g.remote = n.Grant.remote
		n.Grant = g
		near = append(near, n)
	}
	slices.SortStableFunc(near, func(a, b NearMiss) int { return a.kinds - b.kinds })
	return near
}

// maxInactive limits the grants by capabilities for other platforms: [Resolve] does not count them.
const maxInactive = 1000

// inactive returns the grants of a command by capabilities that are for other platforms, one for
// all origins.
func (p *Policy) inactive(command Command) (grants []Grant) {
	if p.platform == "" {
		return nil
	}
	r := p.manifests.quiet()
	for _, source := range p.sources {
		if source.capability.on(p.platform) || len(source.contexts) == 0 {
			continue
		}
		for i, e := range source.capability.Permissions {
			expansions := r.expand(e.Identifier).permissions
			for k := range expansions {
				x := &expansions[k]
				if !x.Permission.inRelease(p.version) || !slices.Contains(x.Allow, command) {
					continue
				}
				if len(grants) == maxInactive {
					return grants
				}
				grants = append(grants, Grant{source: source, expanded: x, entry: int32(i)})
			}
		}
	}
	return grants
}

// maxURLs limits the URLs of which a near miss tells why they do not match.
const maxURLs = 20

// nearMiss returns the reasons why the entries of a capability do not apply to a caller.
func (p *Policy) nearMiss(source *grantSource, c Caller) NearMiss {
	n := NearMiss{Grant: Grant{source: source}}
	if other := source.capability; !other.on(p.platform) {
		if len(other.Platforms) == 0 {
			n.Problems = append(n.Problems, "its platforms are empty, so it is never active")
		} else {
			n.Problems = append(n.Problems, fmt.Sprintf("it is for %s only, not for %s", words.Join(other.Platforms),
				p.platform))
		}
	}
	if !n.Grant.labelMatches(c.Window, c.Webview) {
		n.Problems = append(n.Problems, labelProblem(&n.Grant, c))
	}
	n.kinds = len(n.Problems)
	isOtherKind := func(remote *pattern.URL) bool { return (remote == nil) != c.Origin.IsLocal() }
	contexts := slices.DeleteFunc(slices.Clone(source.contexts), isOtherKind)
	if len(contexts) == 0 {
		contexts = source.contexts
	}
	for _, n.Grant.remote = range contexts {
		if n.Grant.originMatches(&c.Origin) {
			return n
		}
	}
	n.Grant.remote = contexts[0]
	n.kinds++
	for _, remote := range contexts[:min(len(contexts), maxURLs)] {
		if problem := originProblem(remote, c.Origin); !slices.Contains(n.Problems, problem) {
			n.Problems = append(n.Problems, problem)
		}
	}
	return n
}

func labelProblem(g *Grant, c Caller) string {
	windows, webviews := g.Windows(), g.Webviews()
	switch {
	case len(windows) == 0 && len(webviews) == 0:
		return "it names neither windows nor webviews, so it matches nothing"
	case len(webviews) == 0:
		return fmt.Sprintf("its windows are %s, not %q", quotedList(windows), c.Window)
	case len(windows) == 0:
		return fmt.Sprintf("its webviews are %s, not %q", quotedList(webviews), c.Webview)
	}
	return fmt.Sprintf("its windows are %s and its webviews %s, not window %q, webview %q", quotedList(windows),
		quotedList(webviews), c.Window, c.Webview)
}

func quotedList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = fmt.Sprintf("%q", s)
	}
	return strings.Join(quoted, ", ")
}

// originProblem describes which part of a URL does not match a pattern.
func originProblem(p *pattern.URL, origin Origin) string {
	o := origin.address
	if p == nil {
		return fmt.Sprintf(`it is for the application's own pages only; for %s it would need "remote": {"urls": [%q]}`,
			origin, suggestedPattern(o))
	}
	parts := p.Parts()
	switch {
	case origin.IsLocal():
		return fmt.Sprintf("it is for %s only, not for the application's own pages", p)
	case !p.Simple():
		return fmt.Sprintf("its URL pattern %s does not match", p)
	case !pattern.MatchStars(parts.Protocol, o.Protocol):
		return fmt.Sprintf("its URL pattern %s is for %s, not %s", p, parts.Protocol, o.Protocol)
	case !pattern.MatchStars(parts.Host, o.Host):
		if rest, ok := strings.CutPrefix(parts.Host, "*."); ok && rest == o.Host {
			return fmt.Sprintf("its URL pattern %s is for subdomains, not for %s itself", p, o.Host)
		}
		return fmt.Sprintf("its URL pattern %s is for the host %s, not %s", p, parts.Host, o.Host)
	case parts.Port == "" && o.Port != "":
		return fmt.Sprintf("its URL pattern %s is for the default port only, not for %s; %s://%s:* is for all ports",
			p, o.Port, parts.Protocol, parts.Host)
	case parts.Port != "*" && parts.Port != o.Port:
		return fmt.Sprintf("its URL pattern %s is for port %s, not %s", p, parts.Port,
			cmp.Or(o.Port, "the default port"))
	}
	return fmt.Sprintf("its URL pattern %s is for the path %s, not %s", p, parts.Path, o.Path)
}

func suggestedPattern(a pattern.Address) string {
	s := a.Protocol + "://" + a.Host
	if a.Port != "" {
		s += ":" + a.Port
	}
	return s
}

// Callable returns the commands that a caller may call, sorted: those that some capability grants.
// It does not include commands that are not subject to capabilities.
func (p *Policy) Callable(c Caller) []Command {
	callable := []Command{}
	for _, command := range p.Commands() {
		if p.Allowed(command, c) {
			callable = append(callable, command)
		}
	}
	return callable
}

// String names the capability, its place, and the permissions that lead to the command.
func (g Grant) String() string {
	return fmt.Sprintf("capability %q%s: %s", g.Capability().Identifier, parenthesis(g.Entry().value),
		strings.Join(g.expanded.Chain, " → "))
}

// MarshalJSON returns the grant with the names and places of what it consists of.
func (g Grant) MarshalJSON() ([]byte, error) {
	type place struct {
		File string   `json:"file,omitempty"`
		At   Position `json:"position"`
	}
	out := struct {
		Capability string   `json:"capability"`
		Permission string   `json:"permission"`
		Chain      []string `json:"chain"`
		Local      bool     `json:"local"`
		URL        string   `json:"url,omitempty"`
		Windows    []string `json:"windows"`
		Webviews   []string `json:"webviews"`
		Scope      *Scope   `json:"scope,omitempty"`
		Place      *place   `json:"place,omitempty"`
	}{Capability: g.Capability().Identifier, Permission: g.expanded.Chain[len(g.expanded.Chain)-1], Chain: g.Chain(),
		Local: g.Local(), URL: g.Remote(), Windows: g.Windows(), Webviews: g.Webviews(), Scope: g.scope}
	if v := g.Entry().value; v.Exists() {
		out.Place = &place{v.File(), v.Position()}
	}
	return json.Marshal(out)
}
