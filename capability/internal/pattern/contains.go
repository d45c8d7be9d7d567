package pattern

import "strings"

// Comparable reports whether [Glob.Contains] is exact for the pattern: it has no wildcard but "*".
func (g *Glob) Comparable() bool {
	return !strings.ContainsAny(g.text, "?[") && !strings.Contains(g.text, "**")
}

// Contains reports whether the pattern matches every label that another one matches. It returns
// false for patterns that are not [Glob.Comparable] unless it is certain.
func (g *Glob) Contains(other *Glob) bool {
	switch {
	case g.text == other.text, g.text == "*":
		return true
	case other.exact:
		return g.Match(other.text)
	}
	return g.Comparable() && other.Comparable() && MatchStars(g.text, other.text)
}

// Contains reports whether the pattern matches every address that another one matches. It returns
// false for patterns that are not [URL.Simple] unless it is certain.
func (p *URL) Contains(other *URL) bool {
	if p.text == other.text {
		return true
	}
	// A star of the other pattern is matched by nothing but a star.
	return p.Simple() && other.Simple() && MatchStars(p.protocol, other.protocol) &&
		(p.port == "*" || p.port == other.port) && MatchStars(p.host, other.host) && MatchStars(p.path, other.path)
}
