package syntax

import (
	"encoding/json"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// AppendNumber appends a literal of JSON, JSON5 or TOML as a JSON number, null if it is infinite or
// not a number. The canonical form is the same for equal numbers; what 64 bits cannot represent is
// equal to the same literal only.
func AppendNumber(dst []byte, literal string, canonical bool) []byte {
	if !canonical && isJSONNumber(literal) {
		return append(dst, literal...)
	}
	s := strings.TrimPrefix(strings.ReplaceAll(literal, "_", ""), "+")
	if n, err := strconv.ParseInt(s, 0, 64); err == nil {
		return strconv.AppendInt(dst, n, 10)
	}
	if n, err := strconv.ParseUint(s, 0, 64); err == nil {
		return strconv.AppendUint(dst, n, 10)
	}
	switch f, ok := parseFloat(s); {
	case !ok && canonical:
		return append(dst, literal...)
	case !ok:
		return append(dst, "null"...)
	case f == math.Trunc(f) && math.Abs(f) < 1<<53:
		return strconv.AppendInt(dst, int64(f), 10)
	default:
		return strconv.AppendFloat(dst, f, 'g', -1, 64)
	}
}

// parseFloat returns the number that a literal without underscores is, false if it is infinite or
// none.
func parseFloat(s string) (f float64, ok bool) {
	if strings.ContainsAny(s, "xX") {
		s += "p0"
	}
	f, err := strconv.ParseFloat(s, 64)
	return f, err == nil && f-f == 0
}

// isJSONNumber reports whether the literal is a number by RFC 8259.
func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

// json5Number describes the numbers of JSON5, which may have a plus sign, a leading or trailing
// point, and hexadecimal digits.
var json5Number = regexp.MustCompile(
	`^[+-]?(0[xX][0-9a-fA-F]+|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)
