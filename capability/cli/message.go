package cli

import (
	"regexp"
	"strings"
)

// The messages with which the framework refuses a call, also where a console adds to them.
var (
	refusedCommand = regexp.MustCompile(`(?:Command )?([A-Za-z0-9_:|.-]+) (?:not allowed|explicitly denied|not found)`)
	refusedWindow  = regexp.MustCompile(`window "([^"]+)"`)
	refusedWebview = regexp.MustCompile(`webview "([^"]+)"`)
	refusedURL     = regexp.MustCompile(`(?:URL:|on origin) (\S+?)(?:\s|$)`)
	// That of the plugin fs about a path, which names a permission.
	refusedPath = regexp.MustCompile("forbidden path: .* for `allow-([a-z-]+)` permission")
)

// positional takes the caller from the arguments: a message of the framework, or a command and,
// with window, the label of a window. What is the name of a file is left.
func (f *callerFlags) positional(c *command, window bool) {
	if len(c.args) > 0 && f.command == "" && !exists(c.args[0]) {
		f.command, c.args = c.args[0], c.args[1:]
	}
	if strings.Contains(f.command, " ") {
		message := f.command
		find := func(re *regexp.Regexp, into *string) {
			if match := re.FindStringSubmatch(message); match != nil && (*into == "" || into == &f.command) {
				*into = match[1]
			}
		}
		// What follows the first sentence is about other windows.
		message, _, _ = strings.Cut(message, "allowed on:")
		switch path := refusedPath.FindStringSubmatch(message); {
		case path != nil:
			f.command = "fs:" + path[1]
			c.note("the plugin refused a path, not the command: no scope allows the path, or one denies it")
		case !strings.Contains(message, " on the configured "): // scope, which does not name the command
			find(refusedCommand, &f.command)
		}
		find(refusedWindow, &f.window)
		find(refusedWebview, &f.webview)
		f.refused = f.url == ""
		find(refusedURL, &f.url)
	}
	if window && len(c.args) > 0 && f.window == "" && !exists(c.args[0]) {
		f.window, c.args = c.args[0], c.args[1:]
	}
}
