package capability

// Codes of rules about likely mistakes.
const (
	CodeUnknownKey          Code = "unknown-key"
	CodeJSON5Feature        Code = "json5-feature"
	CodeNoWindows           Code = "no-windows"
	CodeNoOrigin            Code = "no-origin"
	CodeEmptyPlatforms      Code = "empty-platforms"
	CodeEmptyPermissions    Code = "empty-permissions"
	CodeImpossibleLabel     Code = "impossible-label"
	CodeBareAndScoped       Code = "bare-and-scoped"
	CodeScopedTwice         Code = "scoped-twice"
	CodeEmptyAllow          Code = "empty-allow"
	CodeMissingScope        Code = "missing-scope"
	CodeUnusedScope         Code = "scope-mismatch"
	CodeRedundantPermission Code = "redundant-permission"
	CodeDenyEverywhere      Code = "deny-everywhere"
	CodeDeadDeny            Code = "dead-deny"
	CodeAllowAndDeny        Code = "allow-and-deny"
	CodePlatformMismatch    Code = "platform-mismatch"
	CodeDoubleHyphen        Code = "double-hyphen"
	CodeInactiveCapability  Code = "inactive-capability"
	CodeUnknownCapability   Code = "unknown-capability"
	CodeRemoteWithoutScheme Code = "remote-without-scheme"
	CodeRemoteDefaultPort   Code = "remote-default-port"
	CodeRemoteMissesHTTP    Code = "remote-misses-http"
	CodeRemoteAnyHost       Code = "remote-any-host"
	CodeRemotePlainHTTP     Code = "remote-plain-http"
	CodeRemoteDangerous     Code = "remote-dangerous"
	CodeAnyWindowDangerous  Code = "any-window-dangerous"
	CodeScopeAllFiles       Code = "scope-all-files"
	CodeScopeAnyHost        Code = "scope-any-host"
	CodeShellAnyArguments   Code = "shell-any-arguments"
	CodeShellOpenValidator  Code = "shell-open-validator"
)

// lintRules are those about likely mistakes and risks. They say nothing in the
// other modes.
var lintRules = [...]Rule{
	{CodeUnknownKey, "A key means nothing where it stands and is ignored.", Warning, Off, Off},
	{CodeJSON5Feature, "Files in JSON5 are read only by builds with a feature of their own.", Info, Off, Off},
	{CodeNoWindows, "A capability names neither windows nor webviews, so it matches none.", Warning, Off, Off},
	{CodeNoOrigin, "A capability is neither for the application's pages nor for any URL.", Warning, Off, Off},
	{CodeEmptyPlatforms, "An empty list of platforms keeps a capability from ever being active.", Warning, Off, Off},
	{CodeEmptyPermissions, "A capability has no permissions.", Info, Off, Off},
	{CodeImpossibleLabel, "A pattern holds a character that no label can have.", Warning, Off, Off},
	{CodeBareAndScoped, "A permission stands both with a scope and without one.", Warning, Off, Off},
	{CodeScopedTwice, "A permission stands twice with different scopes, which add up.", Info, Off, Off},
	{CodeEmptyAllow, "An empty allow list allows everything to many plugins.", Warning, Off, Off},
	{CodeMissingScope, "A plugin that works only within a scope has none.", Warning, Off, Off},
	{CodeUnusedScope, "A scope value is not of the form the plugin reads.", Warning, Off, Off},
	{CodeRedundantPermission, "A permission is in a set that is listed too.", Info, Off, Off},
	{CodeDenyEverywhere, "A denial holds everywhere, not only for the windows and URLs of its capability.", Warning, Off, Off},
	{CodeDeadDeny, "A denial is of a command that nothing allows.", Info, Off, Off},
	{CodeAllowAndDeny, "A command is both allowed and denied, so it is denied.", Warning, Off, Off},
	{CodePlatformMismatch, "A permission has no effect on the platforms of its capability.", Warning, Off, Off},
	{CodeDoubleHyphen, "Older releases refuse two hyphens in a row in an identifier.", Info, Off, Off},
	{CodeInactiveCapability, "The configuration lists its capabilities, and this one is not among them.", Warning, Off, Off},
	{CodeUnknownCapability, "The configuration refers to a capability that does not exist.", Error, Off, Error},
	{CodeRemoteWithoutScheme, "A URL pattern without a scheme matches every host.", Warning, Off, Off},
	{CodeRemoteDefaultPort, "A URL pattern without a port matches the default port only.", Info, Off, Off},
	{CodeRemoteMissesHTTP, "A pattern of local servers is for one of http and https only.", Info, Off, Off},
	{CodeRemoteAnyHost, "A URL pattern lets every host in.", Warning, Off, Off},
	{CodeRemotePlainHTTP, "Pages loaded without encryption may be anyone's.", Warning, Off, Off},
	{CodeRemoteDangerous, "Remote pages get at files, programs or databases.", Warning, Off, Off},
	{CodeAnyWindowDangerous, "Every window gets at files, programs, databases or the network.", Warning, Off, Off},
	{CodeScopeAllFiles, "A scope takes in all files, or all of the user's.", Warning, Off, Off},
	{CodeScopeAnyHost, "A scope takes in every host.", Info, Off, Off},
	{CodeShellAnyArguments, "A program may be run with any arguments.", Warning, Off, Off},
	{CodeShellOpenValidator, "A validator of arguments does not look at the whole argument.", Warning, Off, Off},
}
