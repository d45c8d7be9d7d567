// Package capdiff compares what two sets of capabilities grant.
//
//	for _, change := range capdiff.Compare(before, after, "") { // of capability.LoadApp; "": every platform
//		fmt.Println(change.Kind, change.Audience.Windows, change.Commands, change.Widens())
//	}
package capdiff

import (
	"cmp"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/pattern"
)

// Change is a difference between two sets of capabilities: commands that an audience may call, or
// may no longer call, or with another scope.
type Change struct {
	Kind     ChangeKind `json:"kind"`
	Audience Audience   `json:"audience"`
	Commands []string   `json:"commands,omitempty"`
	// Unknown are permissions that no manifest explains, so what they grant is not known. One that
	// denies, by its name, is granted when it is removed.
	Unknown []string `json:"unknown,omitempty"`
	// NewWindows reports that the audience's windows could call nothing before, from any page.
	NewWindows bool `json:"newWindows,omitempty"`
	// Grants are where the new side grants this, in order; none for what is revoked.
	Grants []Grant `json:"grants,omitempty"`
	// Approximate reports that a pattern with wildcards other than "*" is involved. Such patterns
	// are compared by their text, so the change may be none: another way to write the same.
	Approximate bool `json:"approximate,omitempty"`
	// Plugin is set if the scope of a whole plugin changed, which applies to every audience.
	Plugin string `json:"plugin,omitempty"`
	// The scope values that came and went, as JSON; of what is granted those that limit it.
	AllowAdded   []string `json:"allowAdded,omitempty"`
	AllowRemoved []string `json:"allowRemoved,omitempty"`
	DenyAdded    []string `json:"denyAdded,omitempty"`
	DenyRemoved  []string `json:"denyRemoved,omitempty"`
	// NoAllowList reports that there were allowed values and none is left. Many plugins then allow
	// everything.
	NoAllowList bool `json:"noAllowList,omitempty"`
}

// Grant is an entry of a capability that grants something.
type Grant struct {
	File       string `json:"file,omitempty"`
	Line       int    `json:"line,omitempty"`
	Column     int    `json:"column,omitempty"` // in characters, from 1
	Capability string `json:"capability"`
	Permission string `json:"permission"` // as the entry has it, often a set
}

// ChangeKind is the kind of a [Change].
type ChangeKind string

// The kinds. AppUnchecked means that the application's own commands are no longer subject to
// capabilities, for the origins of the audience, AppChecked that they became so, and Incomparable
// that there are too many labels and URLs to compare.
const (
	CommandsGranted ChangeKind = "granted"
	CommandsRevoked ChangeKind = "revoked"
	ScopeChanged    ChangeKind = "scope"
	AppUnchecked    ChangeKind = "app-unchecked"
	AppChecked      ChangeKind = "app-checked"
	Incomparable    ChangeKind = "incomparable"
)

// Audience is who a change concerns.
type Audience struct {
	// Windows and Webviews are the labels, or patterns of them.
	Windows  []string `json:"windows,omitempty"`
	Webviews []string `json:"webviews,omitempty"`
	// Origins are "local" or URL patterns.
	Origins []string `json:"origins,omitempty"`
	// Platforms is empty for all platforms.
	Platforms []capability.Platform `json:"platforms,omitempty"`
}

// Widens reports whether the change may give more than there was before: what a review should look
// at. Scope values are not compared by what they match, as each plugin gives them its own meaning:
// "$HOME/notes/*" in place of "$HOME/**" widens too.
func (c Change) Widens() bool {
	return c.Kind == CommandsGranted || c.Kind == AppUnchecked || c.Kind == Incomparable || len(c.AllowAdded) > 0 ||
		len(c.DenyRemoved) > 0 || c.NoAllowList
}

// Compare returns the differences between what two applications grant on a platform, or with "" on
// every platform, not between their texts: "*" in place of a label grants to more windows and
// revokes nothing. Each side is what its configuration for the platform activates, resolved for its
// own release of the framework; one whose release is not known has that of the other. If only one
// application has complete manifests, both are resolved with those, each with its own permissions.
//
// A grant is a command, a pattern of labels, an origin and a scope. One is contained in another if
// its patterns are, which is decided for names and for patterns whose only wildcard is "*". Other
// patterns are compared by their text, which may report a change where there is none, and never
// hides one; see [Change].Approximate.
func Compare(before, after *capability.App, platform capability.Platform) []Change {
	old, now := before.Manifests, after.Manifests
	if !old.Whole() && now.Whole() {
		old = old.CompletedBy(now)
	} else if old.Whole() && !now.Whole() {
		now = now.CompletedBy(old)
	}
	o := capability.ResolveOptions{Partial: !now.Whole()}
	versions := [2]capability.Version{cmp.Or(before.Version, after.Version), cmp.Or(after.Version, before.Version)}
	platforms := capability.Platforms()
	if platform != "" {
		platforms = []capability.Platform{platform}
	}
	d := &differ{comparer: comparer{make(map[string]*pattern.Glob), make(map[string]*pattern.URL)}}
	for _, o.Platform = range platforms {
		was, _ := before.Capabilities(o.Platform)
		is, _ := after.Capabilities(o.Platform)
		o.Version = versions[0]
		a, _ := capability.Resolve(was, old, o)
		o.Version = versions[1]
		b, _ := capability.Resolve(is, now, o)
		d.compare(a, b, o.Platform)
	}
	return joined(d.found, len(platforms))
}
