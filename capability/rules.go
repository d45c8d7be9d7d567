package capability

import (
	"slices"

	"lessonkit.example/capability/internal/syntax"
)

// Code names a rule. Codes are stable: they may be used in configuration and links.
type Code string

// Codes of rules about the form of a capability.
const (
	codeWrongType           Code = "wrong-type"
	codeMissingField        Code = "missing-field"
	codeUnknownPlatform     Code = "unknown-platform"
	codeIdentifierSyntax    Code = "identifier-syntax"
	codeDuplicateField      Code = "duplicate-field"
	codeDuplicateKey        Code = "duplicate-key"
	codeDuplicatePermission Code = "duplicate-permission"
	codeUnsupportedScope    Code = "unsupported-scope-value"
)

// Codes of rules about references.
const (
	codeUnknownPermission   Code = "unknown-permission"
	codeUnknownPlugin       Code = "unknown-plugin"
	codeUncheckedPlugin     Code = "unchecked-plugin"
	codeNewerPermission     Code = "newer-permission"
	codeUnknownSetMember    Code = "unknown-set-member"
	codePermissionCycle     Code = "permission-cycle"
	codeDuplicateCapability Code = "duplicate-capability"
	codeWindowPattern       Code = "window-pattern"
	codeRemotePattern       Code = "remote-pattern"
	codeManifest            Code = "manifest"
	codeUnknownKey          Code = "unknown-key"
	codeInactiveCapability  Code = "inactive-capability"
	codeUnknownCapability   Code = "unknown-capability"
	codeFirstVersion        Code = "tauri-1"
	codeCapabilityOverride  Code = "capability-override"
)

// Rule describes what a code reports.
type Rule struct {
	Code     Code
	Summary  string
	Severity Severity
}

// Rules returns the rules of [Parse], [Resolve], [App.Capabilities] and of manifests, those about
// the text first. Package lint has more.
func Rules() []Rule { return slices.Clone(rules[:]) }

// severityOf returns the severity of a rule, which must exist.
func severityOf(code Code) Severity {
	return rules[slices.IndexFunc(rules[:], func(r Rule) bool { return r.Code == code })].Severity
}

var rules = [...]Rule{
	{syntax.FaultSyntax, "The text is not well-formed.", Error},
	{syntax.FaultComment, "JSON has no comments.", Error},
	{syntax.FaultTrailingComma, "JSON has no trailing commas.", Error},
	{syntax.FaultNotJSON, "The text is JSON5 but not JSON.", Error},
	{syntax.FaultByteOrderMark, "A JSON file must not begin with a byte order mark.", Error},
	{syntax.FaultEncoding, "A file must be UTF-8.", Error},
	{syntax.FaultTooLarge, "The file, or what it grants in all, is larger than the limit.", Error},
	{syntax.FaultTooDeep, "Values are nested deeper than the limit.", Error},
	{syntax.FaultNumberRange, "A number does not fit into 64 bits.", Error},
	{syntax.FaultSurrogate, "An escape is half a character.", Error},
	{syntax.FaultNotFinite, "TOML's inf and nan are read as null.", Warning},
	{codeWrongType, "A value has the wrong type.", Error},
	{codeMissingField, "A required key is missing.", Error},
	{codeUnknownPlatform, "A platform does not exist.", Error},
	{codeIdentifierSyntax, "A permission identifier is not well-formed.", Error},
	{codeDuplicateField, "A key of a capability in an array is written twice.", Error},
	{codeDuplicateKey, "A key is written twice, and the last one counts.", Warning},
	{codeDuplicatePermission, "A permission is listed twice.", Warning},
	{codeUnsupportedScope, "A scope contains a date, which plugins get as an object.", Warning},
	{codeUnknownPermission, "A permission does not exist.", Error},
	{codeNewerPermission, "A permission is not known, but the framework or plugin may be newer than what is known.",
		Warning},
	{codeUnknownPlugin, "No manifest of the plugin is known.", Error},
	{codeUncheckedPlugin, "Permissions of a plugin could not be checked.", Info},
	{codeUnknownSetMember, "A permission set refers to a permission that does not exist.", Error},
	{codePermissionCycle, "Permission sets contain each other.", Error},
	{codeDuplicateCapability, "Two capabilities have one identifier.", Error},
	{codeWindowPattern, "A window or webview pattern is not well-formed.", Error},
	{codeRemotePattern, "A remote URL pattern is not well-formed.", Error},
	{codeManifest, "A manifest is not well-formed.", Error},
	{codeUnknownKey, "A key has no meaning here and is ignored.", Warning},
	{codeInactiveCapability, "The configuration lists its capabilities, and this one is not among them.", Warning},
	{codeCapabilityOverride, "A capability of the configuration takes the place of another one.", Warning},
	{codeUnknownCapability, "The configuration refers to a capability that does not exist.", Error},
	{codeFirstVersion, "The application is one of Tauri 1, which has no capabilities.", Warning},
}

// Check returns what is wrong with the document, in the order of the text. It looks at this file
// alone; [Resolve] checks what the file refers to, and package lint checks files together.
func (d *Document) Check() Diagnostics { return Diagnostics(slices.Clone(d.found)).sorted() }
