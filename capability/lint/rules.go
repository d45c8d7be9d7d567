package lint

import (
	"slices"

	"lessonkit.example/capability"
)

// rule is a [capability.Rule] that can be written without the names of its fields.
type rule capability.Rule

var rules = [...]rule{
	{"json5-feature", "JSON5 files are read only by builds with the Cargo feature config-json5.", capability.Info},
	{"no-windows", "A capability names neither windows nor webviews, so it matches none.", capability.Warning},
	{"no-origin", "A capability is neither for the application's pages nor for any URL.", capability.Warning},
	{"empty-platforms", "An empty list of platforms keeps a capability from ever being active.", capability.Warning},
	{"empty-permissions", "A capability has no permissions.", capability.Info},
	{"impossible-label", "A pattern contains a character that labels cannot have.", capability.Warning},
	{"bare-and-scoped", "A permission is listed both with a scope and without one.", capability.Warning},
	{"scoped-twice", "A permission is listed twice with different scopes, which add up.", capability.Info},
	{"empty-allow", "An empty allow list allows everything to many plugins.", capability.Warning},
	{"missing-scope", "A plugin that works only within a scope has none.", capability.Warning},
	{"scope-mismatch", "A scope value is not of the form the plugin reads.", capability.Warning},
	{"redundant-permission", "A permission is in a set that is listed too.", capability.Info},
	{"deny-everywhere", "A denial applies everywhere, not only for the windows and URLs of its capability.",
		capability.Warning},
	{"dead-deny", "A denial is of a command that nothing allows.", capability.Info},
	{"allow-and-deny", "A command is both allowed and denied, so it is denied.", capability.Warning},
	{"platform-mismatch", "A permission has no effect on the platforms of its capability.", capability.Warning},
	{"remote-without-scheme", "A URL pattern without a scheme matches every host.", capability.Warning},
	{"remote-default-port", "A URL pattern without a port matches the default port only.", capability.Info},
	{"remote-any-host", "A URL pattern matches every host.", capability.Warning},
	{"remote-plain-http", "Pages loaded without encryption may be anyone's.", capability.Warning},
	{"remote-dangerous", "Remote pages can use files, programs or databases.", capability.Warning},
	{"any-window-dangerous", "Every window can use files, programs, databases or the network.", capability.Warning},
	{"scope-all-files", "A scope matches all files, or all of the user's.", capability.Warning},
	{"scope-any-host", "A scope matches every host.", capability.Info},
	{"shell-any-arguments", "A program may be run with any arguments.", capability.Warning},
	{"shell-open-validator", "A validator of arguments does not look at the whole argument.", capability.Warning},
	{"shell-interpreter", "A shell or an interpreter may be run with arguments of the page's choice.",
		capability.Warning},
	{"unknown-variable", "A path begins with a variable that does not exist.", capability.Warning},
	{"open-host-suffix", "A pattern leaves the end of the host's name open.", capability.Warning},
	{"core-scope", "A core permission has a scope, which nothing reads.", capability.Warning},
	{"localhost-not-remote", "A window shows a page of a local server, which no capability names as remote.",
		capability.Warning},
}

// Rules returns all rules that [Check] applies: those of package capability and those of this one.
func Rules() []capability.Rule {
	all := capability.Rules()
	for _, r := range rules {
		all = append(all, capability.Rule(r))
	}
	return all
}

// severityOf returns the severity of a rule, which must exist.
func severityOf(code capability.Code) capability.Severity {
	all := Rules()
	return all[slices.IndexFunc(all, func(r capability.Rule) bool { return r.Code == code })].Severity
}
