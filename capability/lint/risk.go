package lint

import (
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/pattern"
	"lessonkit.example/capability/internal/syntax"
	"lessonkit.example/capability/internal/words"
)

// remotes reports URL patterns that let in more, or less, than is likely meant.
func (l *linter) remotes(c *capability.Capability) {
	for i, text := range c.Remote {
		place := func() capability.Value { return c.Value().Get("remote").Get("urls").Item(i).Or(c.Value()) }
		p, err := pattern.CompileURL(text)
		if err != nil {
			continue // reported as a pattern
		}
		parts := p.Parts()
		if !strings.Contains(text, "://") && parts.Protocol == "*" {
			l.report(codeRemoteWithoutScheme, place(),
				`The URL pattern %q has no scheme, so it is taken for a path on every host; write "https://" `+
					`before the host.`, text)
			continue
		} else if !strings.Contains(text, "://") && strings.Contains(text, ":") {
			l.report(codeRemoteWithoutScheme, place(),
				`The URL pattern %q takes %q for the scheme and matches no page; write "http://%s".`, text,
				parts.Protocol, text)
			continue
		}
		web := parts.Protocol == "http" || parts.Protocol == "https" || parts.Protocol == "*"
		anyHost := strings.Trim(parts.Host, "*.") == "" && parts.Host != ""
		loopback := isLoopback(parts.Host)
		if anyHost && web {
			l.report(codeRemoteAnyHost, place(),
				`The URL pattern %q gives the permissions of this capability to every site that a window loads; `+
					`name the hosts, such as "https://*.example.com".`, text)
		} else if parts.Protocol == "http" && !loopback {
			l.report(codeRemotePlainHTTP, place(),
				"%q is not encrypted, so anyone on the network can replace the page; write https.", text)
		}
		allPorts := parts.Protocol + "://" + parts.Host + ":*"
		listed := slices.ContainsFunc(c.Remote, func(url string) bool { return strings.HasPrefix(url, allPorts) })
		if web && parts.Port == "" && (anyHost || loopback) && !listed {
			l.report(codeRemoteDefaultPort, place(), "%q is for the default port only; write %s for all ports.", text,
				allPorts)
		}
		if other := "http://" + strings.TrimPrefix(text, "https://"); anyHost && parts.Protocol == "https" &&
			!slices.Contains(c.Remote, other) && slices.ContainsFunc(c.Remote, isLoopbackHTTP) {
			l.report(codeRemoteMissesHTTP, place(),
				"%q is for https only, while another URL of this capability is http; add %q if pages of both "+
					"are meant.", text, other)
		}
	}
}

// isLoopback reports whether the host of a pattern is the user's own machine. In a pattern the
// colons of an address are written with backslashes.
func isLoopback(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || strings.HasPrefix(host, "127.") ||
		strings.ReplaceAll(host, `\`, "") == "[::1]"
}

func isLoopbackHTTP(url string) bool {
	p, err := pattern.CompileURL(url)
	return err == nil && p.Parts().Protocol == "http" && isLoopback(p.Parts().Host)
}

// Plugins whose commands do harm if an untrusted page calls them.
var (
	remoteDangers = []string{"fs", "shell", "process", "sql", "updater"}
	windowDangers = []string{"fs", "shell", "process", "sql", "http"}
)

// dangers reports wide audiences of dangerous plugins, once per plugin.
func (l *linter) dangers(c *capability.Capability) {
	remote := len(c.Remote) > 0
	anyWindow := slices.Contains(c.Windows, "*") || slices.Contains(c.Webviews, "*") ||
		slices.Contains(c.Windows, "**")
	reported := make(map[string]bool)
	for i := range c.Permissions {
		e := &c.Permissions[i]
		plugin, name := split(e.Identifier)
		if reported[plugin] || strings.HasPrefix(name, "deny-") {
			continue
		}
		if remote && slices.Contains(remoteDangers, plugin) {
			reported[plugin] = true
			l.report(codeRemoteDangerous, identifierOf(e),
				"%q is given to remote pages (%s): anyone who controls such a page can use it; grant it to local "+
					"pages in a separate capability.", e.Identifier, words.Some(c.Remote, 2))
		} else if anyWindow && slices.Contains(windowDangers, plugin) {
			reported[plugin] = true
			l.report(codeAnyWindowDangerous, identifierOf(e),
				`%q is given to every window, also to those made later; list the windows that need it instead of "*".`,
				e.Identifier)
		}
	}
}

// scopes reports values that match nearly everything.
func (l *linter) scopes(e *capability.Entry) {
	plugin, _ := split(e.Identifier)
	if e.Allow != nil && len(e.Allow) == 0 && len(e.Deny) == 0 {
		if v := e.Value().Get("allow"); v.Exists() {
			l.report(codeEmptyAllow, v,
				"An empty \"allow\" is not a limit: many plugins allow everything that is not denied; leave it "+
					"out, or list what is allowed.")
		}
	}
	for _, v := range e.Allow {
		switch plugin {
		case "fs":
			l.fileScope(v)
		case "http":
			l.hostScope(e, v)
		case "opener":
			l.hostScope(e, v)
			l.fileScope(v)
		case "shell":
			l.shellScope(v)
		}
	}
	l.scopeForm(plugin, e)
}

// scopeMember returns a string member of a value, or the value itself if it is a string.
func scopeMember(v capability.Value, key string) capability.Value {
	if v.Kind() == syntax.String {
		return v
	}
	return v.Get(key)
}

func (l *linter) fileScope(v capability.Value) {
	path := scopeMember(v, "path")
	if path.Kind() != syntax.String {
		return
	}
	switch text := path.Text(); text {
	case "**", "**/*", "/**", "/**/*", "/*", "*", "C:\\**", "C:/**":
		l.report(codeScopeAllFiles, path,
			"%q matches all files of the computer; name the folders that are needed, such as \"$APPDATA/**\".", text)
	case "$HOME/**", "$HOME/**/*", "$HOME", "~/**":
		l.report(codeScopeAllFiles, path,
			"%q matches all of the user's files, including keys and passwords; name the folders that are needed, "+
				"such as \"$DOCUMENT/**\".", text)
	}
}

func (l *linter) hostScope(e *capability.Entry, v capability.Value) {
	url := scopeMember(v, "url")
	if url.Kind() != syntax.String {
		return
	}
	text := url.Text()
	rest := text
	if _, after, ok := strings.Cut(text, "://"); ok {
		rest = after
	} else if text != "*" && text != "**" {
		return
	}
	host, _, _ := strings.Cut(rest, "/")
	if strings.Trim(host, "*:.") == "" {
		hint := ""
		if plugin, _ := split(e.Identifier); plugin == "http" && strings.Contains(text, "://") &&
			!strings.Contains(host, ":") {
			hint = " It is for default ports only; \"https://*:*\" is for all."
		}
		l.report(codeScopeAnyHost, url,
			"%q matches every host; name those that are needed, such as \"https://api.example.com/*\".%s", text, hint)
	}
}

// shellScope reports programs that may be run with any arguments.
func (l *linter) shellScope(v capability.Value) {
	args := v.Get("args")
	if args.Bool() {
		l.report(codeShellAnyArguments, args,
			"\"args\": true lets pages run %s with any arguments; list the arguments, with a validator for those "+
				"that vary.", words.Quote(v.Get("name").Text()))
		return
	}
	for arg := range args.Items() {
		validator := arg.Get("validator")
		text := validator.Text()
		switch strings.Trim(text, "^$()") {
		case "":
			continue
		case ".*", ".+", `\S+`, `\S*`, `[\s\S]*`, `[\s\S]+`, `.*?`, `(?s).*`:
			l.report(codeShellAnyArguments, validator,
				"The validator %q accepts nearly every argument; write what the argument looks like, such as "+
					"\"[a-z0-9-]+\".", text)
			continue
		}
		if arg.Get("raw").Bool() && (!strings.HasPrefix(text, "^") || !strings.HasSuffix(text, "$")) {
			l.report(codeShellOpenValidator, validator,
				"With \"raw\" the validator %q accepts any argument that contains a match; write ^ before and $ "+
					"after it.", text)
		}
	}
}
