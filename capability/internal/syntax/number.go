package syntax

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strconv"
	"strings"
)

// precision is enough to tell any two numbers of 300 digits apart.
const precision = 1024

// AppendNumber appends a literal of JSON, JSON5 or TOML as a JSON number, null if it is infinite or
// not a number. The canonical form is the same for equal numbers.
func AppendNumber(dst []byte, literal string, canonical bool) []byte {
	if canonical {
		return append(dst, canonicalNumber(literal)...)
	}
	if isJSONNumber(literal) {
		return append(dst, literal...)
	}
	f, _, err := big.ParseFloat(strings.ReplaceAll(literal, "_", ""), 0, precision, big.ToNearestEven)
	switch {
	case err != nil || !inRange(literal):
		return append(dst, "null"...)
	case f.Sign() == 0 || f.MantExp(nil) < -1100: // less than the smallest 64-bit number
		return append(dst, '0')
	case f.IsInt() && f.MantExp(nil) <= 64:
		return f.Append(dst, 'f', 0)
	}
	return f.Append(dst, 'g', -1)
}

// longNumber is the length of literals to other bases than ten that are compared as text, because
// converting them takes long.
const longNumber = 2000

// canonicalNumber returns the same text for all literals of a number: its digits without zeros at
// either end, and a power of ten. What is infinite or not a number stays as it is.
func canonicalNumber(literal string) string {
	number := strings.ToLower(strings.ReplaceAll(literal, "_", ""))
	digits := strings.TrimLeft(number, "+-")
	if len(digits) > 2 && strings.ContainsRune("xob", rune(digits[1])) && len(digits) <= longNumber {
		if n, ok := new(big.Int).SetString(digits, 0); ok {
			digits = n.String()
		}
	}
	mantissa, exponent, scientific := strings.Cut(digits, "e")
	power, err := strconv.Atoi(exponent)
	if scientific && err != nil || strings.Trim(mantissa, "0123456789.") != "" {
		return literal
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = strings.TrimLeft(whole+fraction, "0")
	significant := strings.TrimRight(digits, "0")
	if significant == "" {
		return "0"
	}
	power += len(digits) - len(significant) - len(fraction)
	if number[0] == '-' {
		significant = "-" + significant
	}
	return significant + "e" + strconv.Itoa(power)
}

// isJSONNumber reports whether the literal is a number by RFC 8259.
func isJSONNumber(s string) bool {
	return s != "" && (s[0] == '-' || s[0] >= '0' && s[0] <= '9') && json.Valid([]byte(s))
}

// json5Number describes the numbers of JSON5, which may have a plus sign, a leading or trailing
// point, and hexadecimal digits.
var json5Number = regexp.MustCompile(
	`^[+-]?(0[xX][0-9a-fA-F]+|((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?)$`)

// inRange reports whether a 64-bit floating point number can represent the literal: the reference
// implementation cannot read others.
func inRange(literal string) bool {
	s := strings.ReplaceAll(literal, "_", "")
	if _, err := strconv.ParseInt(s, 0, 64); err == nil {
		return true
	}
	f, err := strconv.ParseFloat(s, 64)
	if strings.ContainsAny(s, "xX") {
		f, err = strconv.ParseFloat(s+"p0", 64)
	}
	return err == nil && f-f == 0
}
