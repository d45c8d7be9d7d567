package capability

import (
	"slices"
	"strings"
)

// nobody is a label that no pattern names; only those that take all match it.
const nobody = "any-other-label"

// probes returns callers that stand for all that two policies tell apart: each
// label pattern for windows and for webviews, and each kind of origin.
// It returns false where there are too many of them.
func probes(policies ...*Policy) ([]probe, bool) {
	var windows, webviews, urls []string
	for _, p := range policies {
		for _, c := range p.capabilities {
			windows = append(windows, c.Windows...)
			webviews = append(webviews, c.Webviews...)
			urls = append(urls, c.Remote...)
		}
	}
	windows, webviews, urls = distinct(windows), distinct(webviews), distinct(urls)
	if (len(windows)+len(webviews))*(len(urls)+1) > mostProbes {
		return nil, false
	}
	type labels struct{ window, webview, caller, view string }
	var who []labels
	for _, pattern := range windows {
		if label, ok := sampleLabel(pattern); ok {
			who = append(who, labels{window: pattern, caller: label, view: nobody})
		}
	}
	for _, pattern := range webviews {
		if label, ok := sampleLabel(pattern); ok {
			who = append(who, labels{webview: pattern, caller: nobody, view: label})
		}
	}
	origins := []probe{{origin: "local"}}
	for _, pattern := range urls {
		p := probe{origin: pattern, pattern: pattern}
		if o, ok := sampleOrigin(pattern); ok {
			p.caller.Origin, p.pattern = o, ""
		}
		origins = append(origins, p)
	}
	var list []probe
	for _, l := range who {
		for _, o := range origins {
			o.window, o.webview = l.window, l.webview
			o.caller.Window, o.caller.Webview = l.caller, l.view
			list = append(list, o)
		}
	}
	return list, true
}

// mostProbes is a hundred times what a large project has.
const mostProbes = 200_000

func distinct(list []string) []string {
	slices.Sort(list)
	return slices.Compact(list)
}

// sampleLabel makes a label that a pattern matches.
func sampleLabel(pattern string) (string, bool) {
	g, err := CompileGlob(pattern)
	if err != nil {
		return "", false
	}
	switch g.shape {
	case globLiteral:
		return pattern, true
	case globAny:
		return nobody, true
	case globPrefix:
		return g.fixed + nobody, true
	case globSuffix:
		return nobody + g.fixed, true
	}
	var b strings.Builder
	for _, t := range g.tokens {
		switch t.kind {
		case tokenChar:
			b.WriteRune(t.char)
		case tokenAnyChar:
			b.WriteByte('x')
		case tokenWithin:
			b.WriteRune(t.ranges[0].low)
		case tokenExcept:
			for _, r := range "x0-z" {
				if t.matches(r) {
					b.WriteRune(r)
					break
				}
			}
		case tokenSequence:
			b.WriteString(nobody)
		}
	}
	return b.String(), g.Match(b.String())
}

// sampleOrigin makes a URL that a pattern matches.
func sampleOrigin(pattern string) (Origin, bool) {
	p, err := CompileRemotePattern(pattern)
	if err != nil {
		return Origin{}, false
	}
	parts := p.parts()
	fill := func(s, all, part string) string {
		if s == "*" {
			return all
		}
		return strings.ReplaceAll(s, "*", part)
	}
	url := fill(parts.protocol, "https", "x") + "://" + fill(parts.host, "any-host.example", "any")
	if parts.port != "" {
		url += ":" + fill(parts.port, "4711", "1")
	}
	if !strings.HasPrefix(parts.path, "/") {
		url += "/"
	}
	url += fill(parts.path, "any", "any")
	o, err := ParseOrigin(url)
	if err != nil || !p.Match(o) {
		return Origin{}, false
	}
	return o, true
}
