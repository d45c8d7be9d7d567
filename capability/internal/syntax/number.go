package syntax

import (
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// decimal is a number as ±0.digits × 10^exp with neither leading nor trailing zeros, so that two
// numbers are equal exactly when their decimals are. It keeps huge exponents as numbers and never
// as digits.
type decimal struct {
	negative bool
	digits   string
	exp      int64
}

// parseDecimal reads a number literal of JSON, JSON5 or TOML. It refuses infinities, NaN and
// exponents beyond an int64.
func parseDecimal(literal string) (decimal, bool) {
	s := strings.ReplaceAll(literal, "_", "")
	d := decimal{}
	if s != "" && (s[0] == '-' || s[0] == '+') {
		d.negative = s[0] == '-'
		s = s[1:]
	}
	if len(s) > 2 && s[0] == '0' && (s[1]|0x20 == 'x' || s[1]|0x20 == 'o' || s[1]|0x20 == 'b') {
		n, ok := new(big.Int).SetString(strings.ToLower(s), 0)
		if !ok {
			return decimal{}, false
		}
		s = n.String()
	}
	if at := strings.IndexAny(s, "eE"); at >= 0 {
		exp, err := strconv.ParseInt(s[at+1:], 10, 64)
		if err != nil || exp > 1<<40 || exp < -1<<40 {
			return decimal{}, false
		}
		d.exp = exp
		s = s[:at]
	}
	whole, fraction, _ := strings.Cut(s, ".")
	if whole == "" && fraction == "" || strings.Trim(whole+fraction, "0123456789") != "" {
		return decimal{}, false
	}
	d.exp += int64(len(whole))
	digits := whole + fraction
	trimmed := strings.TrimLeft(digits, "0")
	d.exp -= int64(len(digits) - len(trimmed))
	d.digits = strings.TrimRight(trimmed, "0")
	if d.digits == "" {
		return decimal{}, true
	}
	return d, true
}

// append writes the number as JSON.
func (d decimal) append(dst []byte) []byte {
	if d.digits == "" {
		return append(dst, '0')
	}
	if d.negative {
		dst = append(dst, '-')
	}
	n := int64(len(d.digits))
	switch {
	case d.exp >= n && d.exp <= 21:
		dst = append(dst, d.digits...)
		return append(dst, strings.Repeat("0", int(d.exp-n))...)
	case d.exp > 0 && d.exp < n:
		dst = append(dst, d.digits[:d.exp]...)
		dst = append(dst, '.')
		return append(dst, d.digits[d.exp:]...)
	case d.exp <= 0 && d.exp > -6:
		dst = append(dst, "0."...)
		dst = append(dst, strings.Repeat("0", int(-d.exp))...)
		return append(dst, d.digits...)
	}
	dst = append(dst, d.digits[0])
	if n > 1 {
		dst = append(dst, '.')
		dst = append(dst, d.digits[1:]...)
	}
	dst = append(dst, 'e')
	return strconv.AppendInt(dst, d.exp-1, 10)
}

// isJSONNumber reports whether the literal is a number by RFC 8259.
func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

// Equal reports whether two values are the same by JSON Schema's rule: numbers by their
// mathematical value, objects without regard to the order of their members, and the last one of a
// key written twice counts.
func (v Value) Equal(w Value) bool {
	if v.Kind() != w.Kind() {
		return false
	}
	if v.Kind() == String {
		return v.Text() == w.Text()
	}
	return v.Canonical() == w.Canonical()
}

// Canonical returns the value as text that is the same for equal values only.
func (v Value) Canonical() string { return string(v.appendCanonical(nil)) }

// appendCanonical writes the value so that equal values become equal bytes.
func (v Value) appendCanonical(dst []byte) []byte {
	switch v.Kind() {
	case Number:
		if d, ok := parseDecimal(v.Text()); ok {
			return d.append(dst)
		}
		return append(dst, v.Text()...)
	case Array:
		dst = append(dst, '[')
		for item := range v.Items() {
			dst = append(item.appendCanonical(dst), ',')
		}
		return append(dst, ']')
	case Object:
		last := make(map[string]Value)
		for key, val := range v.Members() {
			last[key.Text()] = val
		}
		dst = append(dst, '{')
		for _, key := range slices.Sorted(maps.Keys(last)) {
			dst = append(AppendQuoted(dst, key), ':')
			dst = append(last[key].appendCanonical(dst), ',')
		}
		return append(dst, '}')
	default:
		return v.appendJSON(dst)
	}
}
