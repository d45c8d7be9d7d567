package capability

import "slices"

// Code names a rule. Codes are stable: they may be used in configuration,
// baselines and links.
type Code string

// Mode says by which measure a file is judged.
type Mode uint8

const (
	// ModeLint reports what the schema refuses, what the reference implementation
	// refuses, and everything that is likely a mistake or a risk.
	ModeLint Mode = iota
	// ModeSchema judges exactly as the JSON Schema of the format does.
	ModeSchema
	// ModeReference judges exactly as the reference implementation reads a file.
	ModeReference
)

// String returns the mode's name in lower case.
func (m Mode) String() string {
	return [...]string{"lint", "schema", "reference"}[min(m, ModeReference)]
}

// Codes of rules about the text of a file.
const (
	CodeSyntax        Code = "syntax"
	CodeComment       Code = "comment"
	CodeTrailingComma Code = "trailing-comma"
	CodeNotJSON       Code = "not-json"
	CodeByteOrderMark Code = "byte-order-mark"
	CodeEncoding      Code = "encoding"
	CodeTooLarge      Code = "too-large"
	CodeTooDeep       Code = "too-deep"
	CodeNumberRange   Code = "number-range"
	CodeSurrogate     Code = "surrogate"
)

// Codes of rules about the form of a capability.
const (
	CodeWrongType           Code = "wrong-type"
	CodeMissingField        Code = "missing-field"
	CodeUnknownPlatform     Code = "unknown-platform"
	CodeIdentifierSyntax    Code = "identifier-syntax"
	CodeDuplicateField      Code = "duplicate-field"
	CodeDuplicateKey        Code = "duplicate-key"
	CodeDuplicatePermission Code = "duplicate-permission"
	CodeUnsupportedScope    Code = "unsupported-scope-value"
)

// Codes of rules about what capabilities refer to.
const (
	CodeUnknownPermission   Code = "unknown-permission"
	CodeUnknownPlugin       Code = "unknown-plugin"
	CodeUncheckedPlugin     Code = "unchecked-plugin"
	CodeUnknownSetMember    Code = "unknown-set-member"
	CodePermissionCycle     Code = "permission-cycle"
	CodeDuplicateCapability Code = "duplicate-capability"
	CodeWindowPattern       Code = "window-pattern"
	CodeRemotePattern       Code = "remote-pattern"
	CodeManifest            Code = "manifest"
)

// Rule describes a code: what it reports, and how much that weighs by mode.
type Rule struct {
	Code      Code     `json:"code"`
	Summary   string   `json:"summary"`
	Lint      Severity `json:"lint"`
	Schema    Severity `json:"schema"`
	Reference Severity `json:"reference"`
}

// In returns the rule's severity in a mode.
func (r Rule) In(m Mode) Severity {
	switch m {
	case ModeSchema:
		return r.Schema
	case ModeReference:
		return r.Reference
	default:
		return r.Lint
	}
}

// Rules returns all rules, those about the text first.
func Rules() []Rule { return slices.Concat(formRules[:], lintRules[:]) }

func ruleOf(code Code) Rule {
	for i := range formRules {
		if formRules[i].Code == code {
			return formRules[i]
		}
	}
	for i := range lintRules {
		if lintRules[i].Code == code {
			return lintRules[i]
		}
	}
	return Rule{Code: code, Lint: Warning}
}

// formRules are those that a file alone, or with its manifests, breaks. Lint, schema, reference.
var formRules = [...]Rule{
	{CodeSyntax, "The text is not well-formed.", Error, Error, Error},
	{CodeComment, "JSON has no comments.", Error, Error, Error},
	{CodeTrailingComma, "JSON has no trailing commas.", Error, Error, Error},
	{CodeNotJSON, "The text is JSON5 but not JSON.", Error, Error, Error},
	{CodeByteOrderMark, "A JSON file must not begin with a byte order mark.", Error, Error, Error},
	{CodeEncoding, "A file must be UTF-8.", Error, Error, Error},
	{CodeTooLarge, "The file, or what it grants in all, is larger than the limit.", Error, Error, Error},
	{CodeTooDeep, "Values are nested deeper than the limit.", Error, Error, Error},
	{CodeNumberRange, "A number does not fit into 64 bits.", Error, Off, Error},
	{CodeSurrogate, "An escape stands for half a character.", Error, Off, Error},
	{CodeWrongType, "A value has the wrong type.", Error, Error, Error},
	{CodeMissingField, "A required key is missing.", Error, Error, Error},
	{CodeUnknownPlatform, "A platform does not exist.", Error, Error, Error},
	{CodeIdentifierSyntax, "A permission identifier is not well-formed.", Error, Off, Error},
	{CodeDuplicateField, "A key of a capability in an array is written twice.", Error, Off, Error},
	{CodeDuplicateKey, "A key is written twice, and the last one counts.", Warning, Off, Off},
	{CodeDuplicatePermission, "A permission is listed twice.", Warning, Error, Off},
	{CodeUnsupportedScope, "A scope value has a type that scopes do not have.", Error, Error, Error},
	{CodeUnknownPermission, "A permission does not exist.", Error, Off, Error},
	{CodeUnknownPlugin, "No manifest of the plugin is known.", Error, Off, Error},
	{CodeUncheckedPlugin, "Permissions of a plugin could not be checked.", Info, Off, Off},
	{CodeUnknownSetMember, "A permission set refers to a permission that does not exist.", Error, Off, Error},
	{CodePermissionCycle, "Permission sets contain each other.", Error, Off, Error},
	{CodeDuplicateCapability, "Two capabilities have one identifier.", Error, Off, Error},
	{CodeWindowPattern, "A window or webview pattern is not well-formed.", Error, Off, Error},
	{CodeRemotePattern, "A remote URL pattern is not well-formed.", Error, Off, Error},
	{CodeManifest, "A manifest is not well-formed.", Error, Off, Error},
}

// Check returns what is wrong with the document by a mode's measure, in the
// order of the text. It looks at this file alone; what it refers to is
// checked by [Resolve] and [LintAll].
func (d *Document) Check(m Mode) Diagnostics {
	if m == ModeSchema {
		return d.either(func(r *reading) Diagnostics { return judge(r.found, m) })
	}
	return judge(d.found, m).sorted()
}

// either returns what a schema finds: it is content with either reading of an
// object that can be read as one capability and as a list of them.
func (d *Document) either(check func(*reading) Diagnostics) Diagnostics {
	found := check(&d.reading)
	if d.single != nil && found.Worst() == Error {
		if other := check(d.single); other.Worst() < Error {
			found = other
		}
	}
	return found.sorted()
}

// judge returns what a mode minds, in no order and without the places.
func judge(found []Diagnostic, m Mode) Diagnostics {
	var ds Diagnostics
	for _, f := range found {
		if f.Severity = ruleOf(f.Code).In(m); f.Severity != Off && !(m == ModeReference && f.passedOver()) {
			ds = append(ds, f)
		}
	}
	return ds
}

// passedOver reports whether the reference implementation does not notice a
// fault, because it does not look at the value.
func (d *Diagnostic) passedOver() bool {
	if d.Code != CodeNumberRange && d.Code != CodeSurrogate {
		return false
	}
	for _, s := range d.doc.ignored {
		if d.at.start >= s.start && d.at.end <= s.end {
			return true
		}
	}
	return false
}
