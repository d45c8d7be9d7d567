package capability

import (
	"slices"

	"lessonkit.example/capability/internal/syntax"
)

// Code names a rule. Codes are stable: they may be used in configuration and links.
type Code string

// Mode selects the rules that [Document.Check] applies.
type Mode uint8

const (
	// ModeLint reports what the schema refuses, what the reference implementation refuses, and
	// everything that is likely a mistake or a risk.
	ModeLint Mode = iota
	// ModeSchema accepts exactly what the JSON Schema of the format does.
	ModeSchema
	// ModeReference accepts exactly what the reference implementation does.
	ModeReference
)

// String returns the mode's name in lower case.
func (m Mode) String() string {
	return [...]string{"lint", "schema", "reference"}[min(m, ModeReference)]
}

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
	codeCapabilityOverride  Code = "capability-override"
)

// Rule describes what a code reports, with its severity in each mode.
type Rule struct {
	Code                    Code
	Summary                 string
	Lint, Schema, Reference Severity
}

func (r Rule) severity(m Mode) Severity {
	switch m {
	case ModeSchema:
		return r.Schema
	case ModeReference:
		return r.Reference
	default:
		return r.Lint
	}
}

// Rules returns the rules of [Parse], [Resolve], [App.Capabilities] and of manifests, those about
// the text first. Package lint has more.
func Rules() []Rule { return slices.Clone(rules[:]) }

func ruleOf(code Code) Rule {
	for i := range rules {
		if rules[i].Code == code {
			return rules[i]
		}
	}
	return Rule{Code: code, Lint: Warning}
}

// The severities are those of modes lint, schema and reference.
var rules = [...]Rule{
	{syntax.FaultSyntax, "The text is not well-formed.", Error, Error, Error},
	{syntax.FaultComment, "JSON has no comments.", Error, Error, Error},
	{syntax.FaultTrailingComma, "JSON has no trailing commas.", Error, Error, Error},
	{syntax.FaultNotJSON, "The text is JSON5 but not JSON.", Error, Error, Error},
	{syntax.FaultByteOrderMark, "A JSON file must not begin with a byte order mark.", Error, Error, Error},
	{syntax.FaultEncoding, "A file must be UTF-8.", Error, Error, Error},
	{syntax.FaultTooLarge, "The file, or what it grants in all, is larger than the limit.", Error, Error, Error},
	{syntax.FaultTooDeep, "Values are nested deeper than the limit.", Error, Error, Error},
	{syntax.FaultNumberRange, "A number does not fit into 64 bits.", Error, Off, Error},
	{syntax.FaultSurrogate, "An escape is half a character.", Error, Off, Error},
	{syntax.FaultNotFinite, "TOML's inf and nan are read as null.", Warning, Off, Off},
	{codeWrongType, "A value has the wrong type.", Error, Error, Error},
	{codeMissingField, "A required key is missing.", Error, Error, Error},
	{codeUnknownPlatform, "A platform does not exist.", Error, Error, Error},
	{codeIdentifierSyntax, "A permission identifier is not well-formed.", Error, Off, Error},
	{codeDuplicateField, "A key of a capability in an array is written twice.", Error, Off, Error},
	{codeDuplicateKey, "A key is written twice, and the last one counts.", Warning, Off, Off},
	{codeDuplicatePermission, "A permission is listed twice.", Warning, Error, Off},
	{codeUnsupportedScope, "A scope contains a date, which plugins get as an object.", Warning, Off, Off},
	{codeUnknownPermission, "A permission does not exist.", Error, Off, Error},
	{codeNewerPermission, "A permission is not known, but the framework or plugin may be newer than what is known.",
		Warning, Off, Off},
	{codeUnknownPlugin, "No manifest of the plugin is known.", Error, Off, Error},
	{codeUncheckedPlugin, "Permissions of a plugin could not be checked.", Info, Off, Off},
	{codeUnknownSetMember, "A permission set refers to a permission that does not exist.", Error, Off, Error},
	{codePermissionCycle, "Permission sets contain each other.", Error, Off, Error},
	{codeDuplicateCapability, "Two capabilities have one identifier.", Error, Off, Error},
	{codeWindowPattern, "A window or webview pattern is not well-formed.", Error, Off, Error},
	{codeRemotePattern, "A remote URL pattern is not well-formed.", Error, Off, Error},
	{codeManifest, "A manifest is not well-formed.", Error, Off, Error},
	{codeUnknownKey, "A key has no meaning here and is ignored.", Warning, Off, Off},
	{codeInactiveCapability, "The configuration lists its capabilities, and this one is not among them.", Warning, Off,
		Off},
	{codeCapabilityOverride, "A capability of the configuration takes the place of another one.", Warning, Off, Off},
	{codeUnknownCapability, "The configuration refers to a capability that does not exist.", Error, Off, Error},
}

// Check returns what is wrong with the document by the rules of a mode, in the order of the text.
// It looks at this file alone; [Resolve] checks what the file refers to, and package lint checks
// files together.
func (d *Document) Check(m Mode) Diagnostics {
	found := judge(d.found, m, d.ignored, d.bySchema)
	if m == ModeSchema && d.single != nil && found.HasErrors() {
		// The schema accepts either reading of an object that is one capability and a list.
		if other := judge(d.single.found, m, nil, d.bySchema); !other.HasErrors() {
			found = other
		}
	}
	return found.sorted()
}

// judge returns the diagnostics that a mode reports, without their positions. What the schema
// refuses is an error in every mode if it is applied too.
func judge(found []Diagnostic, m Mode, ignored []syntax.Span, bySchema bool) Diagnostics {
	var ds Diagnostics
	for _, f := range found {
		rule := ruleOf(f.Code)
		if f.Severity = rule.severity(m); bySchema {
			f.Severity = max(f.Severity, rule.Schema)
		}
		if f.Severity == Off {
			continue
		}
		// The reference implementation does not look at the values that it ignores.
		if m == ModeReference && (f.Code == syntax.FaultNumberRange || f.Code == syntax.FaultSurrogate) &&
			slices.ContainsFunc(ignored, f.within) {
			continue
		}
		ds = append(ds, f)
	}
	return ds
}

func (d *Diagnostic) within(s syntax.Span) bool { return d.at.Start >= s.Start && d.at.End <= s.End }
