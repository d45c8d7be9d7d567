package lint

import "lessonkit.example/capability"

// Codes of rules about likely mistakes.
const (
	codeUnknownKey          capability.Code = "unknown-key"
	codeJSON5Feature        capability.Code = "json5-feature"
	codeNoWindows           capability.Code = "no-windows"
	codeNoOrigin            capability.Code = "no-origin"
	codeEmptyPlatforms      capability.Code = "empty-platforms"
	codeEmptyPermissions    capability.Code = "empty-permissions"
	codeImpossibleLabel     capability.Code = "impossible-label"
	codeBareAndScoped       capability.Code = "bare-and-scoped"
	codeScopedTwice         capability.Code = "scoped-twice"
	codeEmptyAllow          capability.Code = "empty-allow"
	codeMissingScope        capability.Code = "missing-scope"
	codeUnusedScope         capability.Code = "scope-mismatch"
	codeRedundantPermission capability.Code = "redundant-permission"
	codeDenyEverywhere      capability.Code = "deny-everywhere"
	codeDeadDeny            capability.Code = "dead-deny"
	codeAllowAndDeny        capability.Code = "allow-and-deny"
	codePlatformMismatch    capability.Code = "platform-mismatch"
	codeDoubleHyphen        capability.Code = "double-hyphen"
	codeRemoteWithoutScheme capability.Code = "remote-without-scheme"
	codeRemoteDefaultPort   capability.Code = "remote-default-port"
	codeRemoteMissesHTTP    capability.Code = "remote-misses-http"
	codeRemoteAnyHost       capability.Code = "remote-any-host"
	codeRemotePlainHTTP     capability.Code = "remote-plain-http"
	codeRemoteDangerous     capability.Code = "remote-dangerous"
	codeAnyWindowDangerous  capability.Code = "any-window-dangerous"
	codeScopeAllFiles       capability.Code = "scope-all-files"
	codeScopeAnyHost        capability.Code = "scope-any-host"
	codeShellAnyArguments   capability.Code = "shell-any-arguments"
	codeShellOpenValidator  capability.Code = "shell-open-validator"
	codeShellInterpreter    capability.Code = "shell-interpreter"
	codeUnknownVariable     capability.Code = "unknown-variable"
	codeOpenSuffix          capability.Code = "open-host-suffix"
	codeCoreScope           capability.Code = "core-scope"
)

type rule capability.Rule

var rules = [...]rule{
	{codeJSON5Feature, "JSON5 files are read only by builds with the Cargo feature config-json5.", capability.Info},
	{codeNoWindows, "A capability names neither windows nor webviews, so it matches none.", capability.Warning},
	{codeNoOrigin, "A capability is neither for the application's pages nor for any URL.", capability.Warning},
	{codeEmptyPlatforms, "An empty list of platforms keeps a capability from ever being active.", capability.Warning},
	{codeEmptyPermissions, "A capability has no permissions.", capability.Info},
	{codeImpossibleLabel, "A pattern contains a character that labels cannot have.", capability.Warning},
	{codeBareAndScoped, "A permission is listed both with a scope and without one.", capability.Warning},
	{codeScopedTwice, "A permission is listed twice with different scopes, which add up.", capability.Info},
	{codeEmptyAllow, "An empty allow list allows everything to many plugins.", capability.Warning},
	{codeMissingScope, "A plugin that works only within a scope has none.", capability.Warning},
	{codeUnusedScope, "A scope value is not of the form the plugin reads.", capability.Warning},
	{codeRedundantPermission, "A permission is in a set that is listed too.", capability.Info},
	{codeDenyEverywhere, "A denial applies everywhere, not only for the windows and URLs of its capability.",
		capability.Warning},
	{codeDeadDeny, "A denial is of a command that nothing allows.", capability.Info},
	{codeAllowAndDeny, "A command is both allowed and denied, so it is denied.", capability.Warning},
	{codePlatformMismatch, "A permission has no effect on the platforms of its capability.", capability.Warning},
	{codeDoubleHyphen, "Older releases refuse two hyphens in a row in an identifier.", capability.Info},
	{codeRemoteWithoutScheme, "A URL pattern without a scheme matches every host.", capability.Warning},
	{codeRemoteDefaultPort, "A URL pattern without a port matches the default port only.", capability.Info},
	{codeRemoteMissesHTTP, "A pattern of local servers is for one of http and https only.", capability.Info},
	{codeRemoteAnyHost, "A URL pattern matches every host.", capability.Warning},
	{codeRemotePlainHTTP, "Pages loaded without encryption may be anyone's.", capability.Warning},
	{codeRemoteDangerous, "Remote pages can use files, programs or databases.", capability.Warning},
	{codeAnyWindowDangerous, "Every window can use files, programs, databases or the network.", capability.Warning},
	{codeScopeAllFiles, "A scope matches all files, or all of the user's.", capability.Warning},
	{codeScopeAnyHost, "A scope matches every host.", capability.Info},
	{codeShellAnyArguments, "A program may be run with any arguments.", capability.Warning},
	{codeShellOpenValidator, "A validator of arguments does not look at the whole argument.", capability.Warning},
	{codeShellInterpreter, "A shell or an interpreter may be run with arguments of the page's choice.",
		capability.Warning},
	{codeUnknownVariable, "A path begins with a variable that does not exist.", capability.Warning},
	{codeOpenSuffix, "A pattern leaves the end of the host's name open.", capability.Warning},
	{codeCoreScope, "A core permission has a scope, which nothing reads.", capability.Warning},
}

// Rules returns all rules that [Check] applies: those of package capability and those of this one.
func Rules() []capability.Rule {
	all := capability.Rules()
	for _, r := range rules {
		all = append(all, capability.Rule(r))
	}
	return all
}

func severityOf(code capability.Code) capability.Severity {
	for _, r := range rules {
		if r.Code == code {
			return r.Severity
		}
	}
	return capability.Warning
}
