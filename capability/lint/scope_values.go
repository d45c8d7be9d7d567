package lint

import (
	"path"
	"slices"
	"strings"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/words"
)

// pathVariables are what a path of a scope may begin with, by the framework's documentation of
// BaseDirectory.
var pathVariables = []string{"$APPCACHE", "$APPCONFIG", "$APPDATA", "$APPLOCALDATA", "$APPLOG", "$AUDIO", "$CACHE",
	"$CONFIG", "$DATA", "$DESKTOP", "$DOCUMENT", "$DOWNLOAD", "$EXE", "$FONT", "$HOME", "$LOCALDATA", "$PICTURE",
	"$PUBLIC", "$RESOURCE", "$RUNTIME", "$TEMP", "$TEMPLATE", "$VIDEO"}

// otherVariables are names of the framework's first version and of operating systems.
var otherVariables = map[string]string{"$APP": "$APPDATA", "$LOG": "$APPLOG", "$MUSIC": "$AUDIO", "$TMP": "$TEMP",
	"$TMPDIR": "$TEMP", "$USERPROFILE": "$HOME", "$APPDIR": "$APPDATA", "$APPLOCAL": "$APPLOCALDATA",
	"$ROAMING": "$DATA", "$LOCALAPPDATA": "$LOCALDATA", "$EXECUTABLE": "$EXE", "$XDG_CONFIG_HOME": "$CONFIG",
	"$XDG_DATA_HOME": "$DATA", "$XDG_CACHE_HOME": "$CACHE"}

// pathVariable reports a variable that does not exist: the plugin takes it for the name of a
// folder.
func (l *linter) pathVariable(v capability.Value) {
	text := v.Text()
	name, _, _ := strings.Cut(text, "/")
	if !strings.HasPrefix(name, "$") || slices.Contains(pathVariables, name) {
		return
	}
	right := otherVariables[name]
	if right == "" {
		right = words.Closest(name, pathVariables)
	}
	if right == "" {
		l.group("unknown-variable", v, quoted(name), "%s [is not a variable|are not variables] of paths, so no file "+
			"matches; write one of "+strings.Join(pathVariables, ", ")+".")
		return
	}
	it := l.group("unknown-variable", v, quoted(name), "%s [is|are] not a variable of paths, so no file matches; "+
		"write %q.", right)
	it.write, it.guess = right+strings.TrimPrefix(text, name), true
}

func (l *linter) fileScope(v capability.Value) {
	path := scopeMember(v, "path")
	if path.Kind() != capability.String {
		return
	}
	l.pathVariable(path)
	switch text := path.Text(); text {
	case "**", "**/*", "/**", "/**/*", "C:\\**", "C:/**":
		l.group("scope-all-files", path, quoted(text),
			"%s [matches|match] all files of the computer; name the folders that are needed, such as "+
				"\"$APPDATA/**\".")
	case "$HOME/**", "$HOME/**/*":
		l.group("scope-all-files", path, quoted(text),
			"%s [matches|match] all of the user's files but hidden ones; name the folders that are needed, such as "+
				"\"$DOCUMENT/**\".")
	}
}

// openSuffix is about hosts such as *.example.*, in scopes and in the URLs of remote pages.
const openSuffix = "The [host of %s is|hosts of %s are] open at the end, and \"*\" matches dots too, so that " +
	"anyone can register a name that matches; write whole names, such as \"https://*.example.com\"."

// isOpenSuffix reports whether a host pattern, without its port, leaves the end of the name open.
func isOpenSuffix(host string) bool {
	return strings.HasSuffix(host, "*") && strings.Trim(host, "*.") != ""
}

func (l *linter) hostScope(v capability.Value) {
	url := scopeMember(v, "url")
	if url.Kind() != capability.String {
		return
	}
	text := url.Text()
	rest := text
	if scheme, after, ok := strings.Cut(text, "://"); ok {
		if rest = after; !slices.Contains([]string{"http", "https", "http*", "http?", "*"}, scheme) {
			return // what follows is no host
		}
	} else if text != "*" && text != "**" {
		return
	}
	host, _, _ := strings.Cut(rest, "/")
	if strings.Trim(host, "*:.") == "" {
		l.group("scope-any-host", url, quoted(text),
			"%s [matches|match] every host; name those that are needed, such as \"https://api.example.com/*\".")
		return
	}
	if host, _, _ = strings.Cut(host, ":"); isOpenSuffix(host) {
		l.group("open-host-suffix", url, quoted(text), openSuffix)
	}
}

// interpreters run what their arguments say, so that listing programs does not limit them.
var interpreters = []string{"ash", "bash", "bun", "cmd", "csh", "cscript", "dash", "deno", "env", "fish", "ksh", "lua",
	"node", "osascript", "perl", "php", "powershell", "pwsh", "python", "ruby", "sh", "sudo", "tcsh", "wscript", "wsl",
	"xargs", "zsh"}

// isInterpreter reports whether a command of a scope is one, such as "/usr/bin/python3.12" or
// "cmd.exe".
func isInterpreter(command string) bool {
	name := strings.ToLower(path.Base(strings.ReplaceAll(command, `\`, "/")))
	name = strings.TrimRight(strings.TrimSuffix(name, ".exe"), "0123456789.-")
	return slices.Contains(interpreters, name)
}

// shellScope reports programs that may be run with any arguments, and interpreters whose arguments
// are not all written out.
func (l *linter) shellScope(v capability.Value) {
	args := v.Get("args")
	if command := v.Get("cmd"); isInterpreter(command.Text()) && !v.Get("sidecar").Bool() {
		open := args.Bool()
		for arg := range args.Items() {
			open = open || arg.Kind() == capability.Object
		}
		if open {
			l.group("shell-interpreter", command, quoted(command.Text()),
				"%s [runs|run] whatever the arguments say, and pages choose them, so this grants every program; "+
					"write the arguments out, or make a program for each task.")
			return
		}
	}
	if args.Bool() {
		l.group("shell-any-arguments", args, quoted(v.Get("name").Text()),
			"\"args\": true lets pages run %s with any arguments; list the arguments, with a validator for those "+
				"that vary.")
		return
	}
	for arg := range args.Items() {
		validator := arg.Get("validator")
		text := validator.Text()
		switch strings.Trim(strings.Replace(text, "(?s)", "", 1), "^$()") {
		case "":
			continue
		case ".*", ".+", `\S+`, `\S*`, `[\s\S]*`, `[\s\S]+`, `.*?`:
			l.group("shell-any-arguments", validator, quoted(text),
				"The [validator|validators] %s [accepts|accept] nearly every argument; write what the argument looks "+
					"like, such as \"[a-z0-9-]+\".")
			continue
		}
		if arg.Get("raw").Bool() && (!strings.HasPrefix(text, "^") || !strings.HasSuffix(text, "$")) {
			l.group("shell-open-validator", validator, quoted(text),
				"With \"raw\" the [validator|validators] %s [accepts|accept] any argument that contains a match; "+
					"write ^ before and $ after.")
		}
	}
}
