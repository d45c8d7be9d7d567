package syntax

import (
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/capability/internal/words"
)

// tomlNumber describes the numbers of TOML.
var tomlNumber = regexp.MustCompile(
	`^(?:[+-]?(?:inf|nan)|0x[0-9a-fA-F](?:_?[0-9a-fA-F])*|0o[0-7](?:_?[0-7])*|0b[01](?:_?[01])*|` +
		`[+-]?(?:0|[1-9](?:_?[0-9])*)(?:\.[0-9](?:_?[0-9])*)?(?:[eE][+-]?[0-9](?:_?[0-9])*)?)$`)

// number reads a number as the reference implementation does: integers have 64 bits, with a sign or
// without one, and infinity and what is not a number become null.
func (r *reader) number(v *value) {
	v.kind = Number
	end := v.start + len(v.text)
	digits := strings.TrimLeft(strings.ReplaceAll(v.text, "_", ""), "+-")
	switch {
	case !tomlNumber.MatchString(v.text):
		r.fault(v.start, end, "%s is not a number.", words.Quote(v.text))
	case digits == "inf" || digits == "nan":
		v.kind = Null
		r.faultOf(FaultNotFinite, v.start, end, "The number %s is read as null; write the number that is meant.",
			v.text)
	case !tomlInRange(v.text, digits):
		r.faultOf(FaultNumberRange, v.start, end, "The number %s does not fit into 64 bits.", words.Quote(v.text))
	}
}

func tomlInRange(text, digits string) bool {
	if strings.HasPrefix(digits, "0x") || !strings.ContainsAny(digits, ".eE") {
		n, err := strconv.ParseUint(digits, 0, 64)
		return err == nil && (text[0] != '-' || n <= -math.MinInt64)
	}
	_, err := strconv.ParseFloat(digits, 64)
	return err == nil
}

// tomlDate describes the dates and times of TOML 1.1, in which the seconds may be left out.
var tomlDate = regexp.MustCompile(
	`^(?:(\d{4}-\d\d-\d\d)(?:[Tt ](\d\d:\d\d)(?:(:\d\d)(?:\.\d+)?)?(?:[Zz]|[+-](\d\d:\d\d))?)?|` +
		`(\d\d:\d\d)(?:(:\d\d)(?:\.\d+)?)?)$`)

// isDate reports whether a date or time of day exists.
func isDate(text string) bool {
	parts := tomlDate.FindStringSubmatch(text)
	if parts == nil {
		return false
	}
	exists := func(layout, s string) bool {
		_, err := time.Parse(layout, s)
		return s == "" || err == nil
	}
	seconds := parts[3] + parts[6]
	return exists(time.DateOnly, parts[1]) && exists("15:04", parts[2]) && exists("15:04", parts[4]) &&
		exists("15:04", parts[5]) && (seconds <= ":60")
}
