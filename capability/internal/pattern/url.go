package pattern

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	urlpattern "github.com/dunglas/go-urlpattern"

	"lessonkit.example/capability/internal/words"
)

// URL is a pattern of remote URLs: a URLPattern of the WHATWG standard with the reference
// implementation's rule for parts that are missing: no path or "/", no query and no fragment mean
// any. A pattern without a scheme is accepted, and then matches any host. A URL may be used by
// several goroutines.
type URL struct {
	text string

	// The parts as a simple pattern has them, where slow is nil.
	protocol, host, port, path string
	slow                       *urlpattern.URLPattern
}

// maxURL is the length in bytes of the longest pattern that is read: the time that the library
// takes grows with its square. Browsers limit URLs to about as much.
const maxURL = 2048

// CompileURL reads a pattern.
func CompileURL(pattern string) (*URL, error) {
	if len(pattern) > maxURL {
		return nil, fmt.Errorf("%s is not a URL pattern: it has %d bytes; the limit is %d", words.Quote(pattern),
			len(pattern), maxURL)
	}
	if p := compileSimple(pattern); p != nil {
		return p, nil
	}
	p, err := compileFull(pattern)
	if err != nil {
		return nil, fmt.Errorf("%s is not a URL pattern: %s", words.Quote(pattern), remoteHint(pattern, err))
	}
	return p, nil
}

// errDots is what becomes of a panic: the standard's way to tidy a path takes two characters off
// what ".." may have left empty, and the library follows it.
var errDots = errors.New(`the path has ".." where what it goes back over may vary; write the path that is meant`)

// compileFull leaves everything to the pattern library.
func compileFull(pattern string) (p *URL, err error) {
	defer func() {
		if recover() != nil {
			p, err = nil, errDots
		}
	}()
	read, err := urlpattern.New(pattern, "", nil)
	relative := errors.Is(err, urlpattern.ErrNoBaseURL)
	if relative {
		// Without a scheme the pattern is a path, query and fragment of any host. Giving it a host
		// for a moment lets the library split them.
		read, err = urlpattern.New("https://h/"+strings.TrimPrefix(pattern, "/"), "", nil)
	}
	if err != nil {
		return nil, err
	}
	path, search, hash := read.Pathname(), read.Search(), read.Hash()
	if relative && !strings.HasPrefix(pattern, "/") {
		path = strings.TrimPrefix(path, "/")
	}
	if path == "" || path == "/" {
		path = "*"
	}
	if search == "" {
		search = "*"
	}
	if hash == "" {
		hash = "*"
	}
	parts := urlpattern.URLPatternInit{Pathname: &path, Search: &search, Hash: &hash}
	if !relative {
		protocol, username, password, host, port := read.Protocol(), read.Username(), read.Password(), read.Hostname(),
			read.Port()
		parts.Protocol, parts.Username, parts.Password, parts.Hostname, parts.Port = &protocol, &username, &password,
			&host, &port
	}
	slow, err := parts.New(nil)
	if err != nil {
		return nil, err
	}
	return &URL{text: pattern, slow: slow}, nil
}

// simplePattern describes nearly all patterns: http, https or any scheme; a host of plain labels or
// stars; a port; a path of plain characters and stars. A label has a letter before any hyphen, as
// digits alone may be an address, and no hyphens in a row, which have a meaning in domain names.
var simplePattern = regexp.MustCompile(`^(https?|\*)://` +
	`(` + simpleLabel + `(?:\.` + simpleLabel + `)*)(?::(\*|[1-9][0-9]{0,4}))?(/[\w.*/-]*)?$`)

const simpleLabel = `(?:\*|(?:[1-9][0-9]{0,16})?[a-z][a-z0-9]*(?:-[a-z0-9]+)*)`

// compileSimple reads a simple pattern. It returns nil for all others, so that only what is sure to
// mean the same here and in the library is matched here.
func compileSimple(pattern string) *URL {
	parts := simplePattern.FindStringSubmatch(pattern)
	if parts == nil {
		return nil
	}
	protocol, host, port, path := parts[1], parts[2], parts[3], parts[4]
	if len(host) > 63 || len(port) == 5 && port > "65535" {
		return nil
	}
	for _, special := range []string{"//", "**", "/.", "..", "*."} {
		if strings.Contains(path, special) {
			return nil
		}
	}
	if protocol == "http" && port == "80" || protocol == "https" && port == "443" {
		port = ""
	}
	if path == "" || path == "/" {
		path = "*"
	}
	return &URL{text: pattern, protocol: protocol, host: host, port: port, path: path}
}

// remoteHint describes what is wrong with a pattern in terms of this format.
func remoteHint(pattern string, err error) string {
	switch {
	case strings.Contains(pattern, "[") && strings.Contains(pattern, ":"):
		return `write the colons of an IPv6 address with backslashes, such as [\:\:1]`
	case strings.Count(pattern, "{") != strings.Count(pattern, "}"):
		return "a brace is opened and not closed"
	case strings.Count(pattern, "(") != strings.Count(pattern, ")"):
		return "a parenthesis is opened and not closed"
	case errors.Is(err, urlpattern.ErrInvalidPort) || strings.Contains(err.Error(), "port is outside"):
		return "the port must be a number up to 65535, or *"
	}
	text := err.Error()
	if strings.Contains(text, "&urlpattern.") {
		text = "its special characters : { } ( ) ? + * are misplaced; put a backslash before those that are meant " +
			"literally"
	}
	return strings.TrimPrefix(strings.TrimPrefix(text, "type error: "), "Error: ")
}

// String returns the pattern as it is written.
func (p *URL) String() string { return p.text }

// Match reports whether the pattern matches an address.
func (p *URL) Match(a Address) bool {
	if p.slow != nil {
		return p.slow.Test(a.Text, "")
	}
	return MatchStars(p.protocol, a.Protocol) && (p.port == "*" || p.port == a.Port) &&
		MatchStars(p.host, a.Host) && MatchStars(p.path, a.Path)
}

// Simple reports whether the pattern has only plain hosts, ports, paths and stars, so that
// comparing its parts decides about a match.
func (p *URL) Simple() bool { return p.slow == nil }

// Parts returns the patterns of the parts of a URL; Text is the whole pattern.
func (p *URL) Parts() Address {
	if p.slow == nil {
		return Address{p.text, p.protocol, p.host, p.port, p.path}
	}
	return Address{p.text, p.slow.Protocol(), p.slow.Hostname(), p.slow.Port(), p.slow.Pathname()}
}

// MatchStars compares with a pattern in which only "*" is special.
func MatchStars(pattern, s string) bool {
	p, at, retry, retryAt := 0, 0, -1, 0
	for {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			if p == len(pattern)-1 {
				return true
			}
			retry, retryAt = p+1, at
			p++
			continue
		case p < len(pattern) && at < len(s) && pattern[p] == s[at]:
			p++
			at++
			continue
		case p == len(pattern) && at == len(s):
			return true
		}
		if retry < 0 || retryAt >= len(s) {
			return false
		}
		retryAt++
		p, at = retry, retryAt
	}
}

// Address is a URL and its parts.
type Address struct{ Text, Protocol, Host, Port, Path string }

// ParseAddress reads a URL by the rules of the WHATWG.
func ParseAddress(url string) (Address, error) {
	star := "*"
	if len(url) > maxURL {
		return Address{}, fmt.Errorf("%s has %d bytes; the limit is %d", words.Quote(url), len(url), maxURL)
	}
	every, err := (&urlpattern.URLPatternInit{Protocol: &star}).New(nil)
	if err != nil {
		return Address{}, err
	}
	r := every.Exec(url, "")
	if r == nil {
		return Address{}, fmt.Errorf("%s is not a URL; write it in full, such as https://example.com/page",
			words.Quote(url))
	}
	return Address{url, r.Protocol.Input, r.Hostname.Input, r.Port.Input, r.Pathname.Input}, nil
}
