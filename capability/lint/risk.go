package lint

import (
	"fmt"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/pattern"
	"lessonkit.example/capability/internal/words"
)

// remotes reports URL patterns that let in more, or less, than was probably intended.
func (l *linter) remotes(c *capability.Capability) {
	for i, text := range c.Remote {
		place := func() capability.Value { return c.Value().Get("remote").Get("urls").Item(i).Or(c.Value()) }
		p, err := pattern.CompileURL(text)
		if err != nil {
			continue // reported as a pattern
		}
		parts := p.Parts()
		if !strings.Contains(text, "://") && parts.Protocol == "*" {
			l.group("remote-without-scheme", place(), quoted(text),
				`The URL [pattern|patterns] %s [has|have] no scheme, so [it is|they are] taken for a path on every `+
					`host; write "https://" before the host.`)
			continue
		} else if !strings.Contains(text, "://") && strings.Contains(text, ":") {
			l.report("remote-without-scheme", place(),
				`The URL pattern %q takes %q for the scheme and matches no page; write "http://%s".`, text,
				parts.Protocol, text)
			continue
		}
		web := parts.Protocol == "http" || parts.Protocol == "https" || parts.Protocol == "*"
		anyHost := strings.Trim(parts.Host, "*.") == "" && parts.Host != ""
		loopback := isLoopback(parts.Host)
		allPorts := parts.Protocol + "://" + parts.Host + ":*"
		defaultPort := parts.Port == "" &&
			!slices.ContainsFunc(c.Remote, func(url string) bool { return strings.HasPrefix(url, allPorts) })
		if anyHost && web {
			where := ""
			if defaultPort {
				where = " from its default port"
			}
			l.group("remote-any-host", place(), quoted(text),
				`The URL [pattern|patterns] %s [gives|give] the permissions of this capability to every site that a `+
					`window loads%s; name the hosts, such as "https://*.example.com".`, where)
		} else if parts.Protocol == "http" && !loopback {
			l.group("remote-plain-http", place(), quoted(text),
				"%s [is|are] not encrypted, so anyone on the network can replace the page; write https.")
		}
		if web && isOpenSuffix(parts.Host) {
			l.group("open-host-suffix", place(), quoted(text), openSuffix)
		}
		// The framework serves custom protocols at names below localhost, without a port.
		if web && loopback && defaultPort && !strings.HasSuffix(parts.Host, ".localhost") {
			l.group("remote-default-port", place(), fmt.Sprintf("%q (%q)", text, allPorts),
				"The URL [pattern is|patterns are] for the default port only; for all ports write what is in "+
					"parentheses: %s.")
		}
	}
}

// isLoopback reports whether the host of a pattern is the user's own machine. In a pattern the
// colons of an address are written with backslashes.
func isLoopback(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") ||
		strings.ReplaceAll(host, `\`, "") == "[::1]"
}

// Plugins whose commands do harm if an untrusted page calls them.
var (
	remoteDangers = []string{"fs", "shell", "process", "sql", "updater"}
	windowDangers = []string{"fs", "shell", "process", "sql", "http"}
)

// dangers reports wide audiences of dangerous plugins.
func (l *linter) dangers(c *capability.Capability) {
	remote := len(c.Remote) > 0
	anyWindow := slices.ContainsFunc(slices.Concat(c.Windows, c.Webviews), func(label string) bool {
		return label == "*" || label == "**"
	})
	for i := range c.Permissions {
		e := &c.Permissions[i]
		plugin, name := capability.SplitIdentifier(e.Identifier)
		if strings.HasPrefix(name, "deny-") {
			continue
		}
		if remote && slices.Contains(remoteDangers, plugin) {
			l.group("remote-dangerous", e.IdentifierValue(), quoted(e.Identifier),
				"%s [is|are] given to remote pages (%s): anyone who controls such a page can use [it|them]; grant "+
					"[it|them] to local pages in a separate capability.", words.Some(c.Remote, 2))
		} else if anyWindow && slices.Contains(windowDangers, plugin) {
			l.group("any-window-dangerous", e.IdentifierValue(), quoted(e.Identifier),
				`%s [is|are] given to every window, also to those made later; list the windows that need [it|them] `+
					`instead of "*".`)
		}
	}
}

// scopes reports values that match nearly everything.
func (l *linter) scopes(e *capability.Entry) {
	plugin, _ := capability.SplitIdentifier(e.Identifier)
	if (plugin == "core" || strings.HasPrefix(plugin, "core:")) && (e.Allow != nil || e.Deny != nil) {
		it := l.group("core-scope", e.Value(), quoted(e.Identifier),
			"%s [is|are] granted without a limit: no core command reads a scope; leave \"allow\" and \"deny\" out.")
		it.write, it.guess = e.Identifier, true
		return
	}
	if e.Allow != nil && len(e.Allow) == 0 && len(e.Deny) == 0 {
		if v := e.Value().Get("allow"); v.Exists() {
			l.report("empty-allow", v,
				"An empty \"allow\" is not a limit: many plugins allow everything that is not denied; leave it "+
					"out, or list what is allowed.")
		}
	}
	if plugin == "fs" || plugin == "opener" {
		for _, v := range e.Deny {
			if path := scopeMember(v, "path"); path.Kind() == capability.String {
				l.pathVariable(path)
			}
		}
	}
	for _, v := range e.Allow {
		switch plugin {
		case "fs":
			l.fileScope(v)
		case "http":
			l.hostScope(v)
		case "opener":
			l.hostScope(v)
			l.fileScope(v)
		case "shell":
			l.shellScope(v)
		}
	}
	l.scopeForm(plugin, e)
}

// scopeMember returns a string member of a value, or the value itself if it is a string.
func scopeMember(v capability.Value, key string) capability.Value {
	if v.Kind() == capability.String {
		return v
	}
	return v.Get(key)
}
