package capability

import (
	"fmt"
	"lessonkit.example/capability/internal/pattern"
)

// Origin is where a page comes from: the application itself or a URL. The zero Origin is the
// application itself.
type Origin struct{ address pattern.Address }

// ParseOrigin parses the URL of a remote page by the rules of the WHATWG.
func ParseOrigin(url string) (Origin, error) {
	address, err := pattern.ParseAddress(url)
	if err != nil {
		return Origin{}, fmt.Errorf("parse origin: %w", err)
	}
	return Origin{address}, nil
}

// IsLocal reports whether the origin is the application itself.
func (o Origin) IsLocal() bool { return o.address.Text == "" }

// String returns the URL, or "local".
func (o Origin) String() string {
	if o.IsLocal() {
		return "local"
	}
	return o.address.Text
}
