package summary

import (
	_ "embed"
	"regexp"
	"strings"
)

//go:embed phrases.txt
var phraseText string

// phrases are the rules of phrases.txt by section, each as written there.
var phrases = func() map[string][]string {
	m := map[string][]string{}
	section := ""
	for line := range strings.Lines(phraseText) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case isSection.MatchString(line):
			section = isSection.FindStringSubmatch(line)[1]
		default:
			m[section] = append(m[section], macros.Replace(line))
		}
	}
	return m
}()

var isSection = regexp.MustCompile(`^\[([a-z ]+)\]`)

var macros = strings.NewReplacer(
	"{n}", `(?:\d[\d.,:]*|[零〇一二两三四五六七八九十百千万半]+|one|two|three|four|five|six|seven|eight|nine|ten|`+
		`eleven|twelve|fifteen|twenty|thirty|forty|fifty|sixty|half|a)`,
	"{day}", `(?:\b(?:mon|tues|wednes|thurs|fri|satur|sun)days?\b|\b\d+(?:st|nd|rd|th)\b|`+
		`\b(?:january|february|april|june|july|august|september|october|november|december)\b|`+
		`(?:周|星期|礼拜)[一二三四五六日天末]|[\d一二三四五六七八九十]+[号月日])`,
)

// The rules that match anywhere.
var (
	homework    = anyOf("homework", "")
	notHomework = anyOf("not homework", "")
	notice      = anyOf("notices", "")
	notNotice   = anyOf("not notices", "")
	starts      = anyOf("starts", "")
	breaks      = anyOf("breaks", "")
	opener      = anyOf("openers", "^")
	adds        = regexp.MustCompile(`^(?:还有|另外|对了|also\b|and also\b)`)
)

// anyOf returns an expression for one of the rules of a section.
func anyOf(section, before string) *regexp.Regexp {
	re := regexp.MustCompile(before + "(?:" + strings.Join(phrases[section], "|") + ")")
	re.Longest()
	return re
}
