package capability

import "slices"

// Capability grants windows and webviews access to commands. Make one in Go, or read it with
// [Parse]; those that were read have a position.
type Capability struct {
	// Identifier is the capability's name. Unlike permission identifiers it follows no grammar.
	Identifier string
	// Description describes what the capability is for.
	Description string
	// Local reports whether the application's own pages may use the permissions. It defaults to
	// true in a file; in Go the zero value is false.
	Local bool
	// Remote lists the patterns of the URLs that may use the permissions.
	Remote []string
	// Windows lists the labels of windows, as glob patterns. All webviews of a window that matches
	// may use the permissions.
	Windows []string
	// Webviews lists the labels of webviews, as glob patterns.
	Webviews []string
	// Permissions are the permissions granted and denied.
	Permissions []Entry
	// Platforms limits the capability to some platforms. Nil means all of them; an empty slice that
	// is not nil means none.
	Platforms []Platform

	value Value
}

// Value returns the object the capability was read from, or the zero Value.
func (c *Capability) Value() Value { return c.value }

// on reports whether the capability is active on a platform. The empty platform means any.
func (c *Capability) on(p Platform) bool {
	return c.Platforms == nil || p == "" && len(c.Platforms) > 0 || slices.Contains(c.Platforms, p)
}

// mobileOnly reports whether the capability is for no desktop platform.
func (c *Capability) mobileOnly() bool {
	isDesktop := func(p Platform) bool { return p != Android && p != IOS }
	return len(c.Platforms) > 0 && !slices.ContainsFunc(c.Platforms, isDesktop)
}

// Entry is one item of a capability's permissions: a permission or a set of permissions, with an
// additional scope if it is written as an object.
type Entry struct {
	// Identifier names the permission: "core:window:allow-close"; see [SplitIdentifier].
	Identifier string
	// Allow and Deny are the scope given with the permission. Nil means that the entry has none,
	// which is not the same as an empty one.
	Allow, Deny []Value

	value Value
}

// Value returns the value the entry was read from, or the zero Value.
func (e *Entry) Value() Value { return e.value }

// IdentifierValue returns the value of the identifier itself.
func (e *Entry) IdentifierValue() Value { return e.value.Get("identifier").Or(e.value) }

// Platform is a target an application is built for.
type Platform string

// The platforms of the format, spelled as files spell them.
const (
	MacOS   Platform = "macOS"
	Windows Platform = "windows"
	Linux   Platform = "linux"
	Android Platform = "android"
	IOS     Platform = "iOS"
)

// Platforms returns all platforms: the desktop ones first.
func Platforms() []Platform { return []Platform{Linux, MacOS, Windows, Android, IOS} }
