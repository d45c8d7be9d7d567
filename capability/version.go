package capability

import (
	"cmp"
	"fmt"
	"regexp"
	"strconv"
)

// Version is a release of the framework or of a plugin. The zero Version is the newest one known.
type Version struct{ Major, Minor, Patch int }

// versionText takes what lock files and manifests of packages contain: a missing part is zero.
var versionText = regexp.MustCompile(`^[v=]*(\d{1,6})(?:\.(\d{1,6}))?(?:\.(\d{1,6}))?(?:[-+][0-9A-Za-z.+-]*)?$`)

// ParseVersion reads a version such as "2.9", "2.11.1" or "2.0.0-rc.4"; what follows the hyphen
// does not count. A range of package managers, such as "^2.9.0", is an error.
func ParseVersion(s string) (Version, error) {
	parts := versionText.FindStringSubmatch(s)
	if parts == nil {
		return Version{}, fmt.Errorf("version %q is not of the form 2.9 or 2.11.1", s)
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(parts[i]) // digits, or none
		return n
	}
	return Version{number(1), number(2), number(3)}, nil
}

// String returns the version as "2.11.1", the zero Version as "newest".
func (v Version) String() string {
	if v == (Version{}) {
		return "newest"
	}
	return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch)
}

// Before reports whether a version is older than another one; the zero Version is older than none.
func (v Version) Before(w Version) bool {
	return v != (Version{}) && cmp.Or(cmp.Compare(v.Major, w.Major), cmp.Compare(v.Minor, w.Minor),
		cmp.Compare(v.Patch, w.Patch)) < 0
}

// remoteChecked is the release since which pages from elsewhere may call the application's own
// commands only if a capability allows it, even if the application has no manifest.
var remoteChecked = Version{2, 11, 1}
