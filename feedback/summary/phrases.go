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
	"{ord}", `(?:\d+(?:st|nd|rd|th)?|first|second|third|fourth|fifth|sixth|seventh|eighth|ninth|tenth|eleventh|`+
		`twelfth|thirteenth|fourteenth|fifteenth|\w+teenth|twentieth|twenty[- ]\w+|thirtieth|thirty[- ]first)`,
	"{month}", `(?:january|february|march|april|may|june|july|august|september|october|november|december)`,
	"{call}", `(?:(?:@|mate|darling|sweetie|sweetheart|honey|buddy|beta|guys|girls|boys|kids|lads|`+
		`siri|everyone|everybody)[ ,]+)+`,
	"{order}", orders,
	"{end}", `[啊呀吧了啦哈呢哦嘛的]*`,
	"{lead}", `(?:(?:okay|so|but|and|oh|ah|no|hey|well|please|actually|sorry|honestly|obviously) )`,
	"{trail}", `(?: (?:please|though|obviously|okay|of course|would you|will you|actually|either|right))`,
	"{ref}", `(?:this|that|it|them|any of (?:this|that|it)|`+
		`(?:this|that|the) (?:last )?(?:bit|part|one|line|sentence)|what i(?:'ve)? (?:just )?said)`,
	"{text}", `(?:(?:the|a|your|my|this|his|her) )?(?:\w+ )?`+
		`(?:report|notes?|feedback|message|text|summary|record)`,
	"{xlead}", `(?:啊|哦|嗯|对|但是?|不过|就|欸|诶|哎|那)`,
	"{xref}", `(?:(?:这|那|刚才|刚刚|上面|前面|刚说|我?刚才说)+的?(?:个|一?句|一?段|些|件事|部分|事儿?)*(?:话)?)`,
	"{xtrail}", `[了啊哈吧哦噢呀嘛]`,
)

// orders are how an order or a request in a classroom begins.
const orders = `(?:(?:please|just),? )*(?:sit|stand|wait|hold|come|go|stop|walk|shut|close|open|` +
	`leave|turn|take|put|pass|` +
	`give|get|be (?:quiet|careful|nice)|hang|listen|hush|shush|quiet|move|don't|no \w+ing|not now|i mean it|i said|` +
	`(?:can|could|would|will|do|did|have|are) you)\b`

var imperative = regexp.MustCompile("^" + orders)

// The rules that match anywhere.
var (
	hesitations = compileEach("hesitations")
	openings    = compileEach("opening")
	wordRules   = compileEach("words")
	homework    = anyOf("homework", "", "")
	notHomework = anyOf("not homework", "", "")
	notice      = anyOf("notices", "", "")
	notNotice   = anyOf("not notices", "", "")
	starts      = anyOf("starts", "", "")
	breaks      = anyOf("breaks", "", "")
)

// The rules that match a whole clause, a sentence or its start.
var (
	fillerClause = anyOf("clauses", "^(?:", " ?)+$")
	openingWords = anyOf("opening clauses", "^(?:", " ?)+$")
	aside        = anyOf("asides", "^", "$")
	courtesy     = anyOf("courtesies", "^", "$")
	order        = anyOf("orders", "^", "$")
	closing      = anyOf("closings", "^", "$")
	followUp     = anyOf("follow up", "", "")
	address      = anyOf("address", "^", "")
	about        = anyOf("about", "", "")
	answers      = anyOf("answers", "^", "$")
	recorder     = anyOf("recorder", "", "")
	unsaidReason = anyOf("unsaid reason", "^", "")
	group        = anyOf("group", "^", "$")
	leadIn       = repeated("^", "", "lead in", "clauses", "opening clauses")
	leadOut      = repeated("(?:^| )(", ")$", "lead out", "clauses", "courtesies")
	asideInside  = regexp.MustCompile(
		`\b((?:` + strings.Join(plainPhrases("asides", "orders", "courtesies"), "|") + `)\b)`)
	resumes      = anyOf("resuming", "^", "$")
	vocative     = anyOf("vocatives", `\b(`, `)`)
	resumption   = anyOf("resumption", "", "")
	called       = anyOf("called", "^", "$")
	command      = anyOf("commands", "", "")
	unsaid       = anyOf("unsaid", "^", "$")
	retracted    = anyOf("retracted", "^", "$")
	unsaidInside = anyOf("unsaid", "", "")
	unsaidNext   = anyOf("unsaid next", "^", "")
	aboutWriting = anyOf("about writing", "", "")
	adds         = regexp.MustCompile(`^(?:还有|另外|对了|also\b|and also\b)`)
	opener       = anyOf("openers", "^", "")
	strongTerm   = anyOf("strong", "^(", `)(?:$|\b|[^a-z'])`)
	weakTerm     = anyOf("weak", "^(", `)(?:$|\b|[^a-z'])`)
	rejecting    = anyOf("rejecting", "", "")
	remark       = anyOf("remark", "^(?:", ")$")
	alike        = compileAlike()
	linkTerm     = anyOf("link", "^(", `)(?:$|\b|[^a-z'])`)
)

// anyOf returns an expression for one of the rules of a section.
func anyOf(section, before, after string) *regexp.Regexp {
	re := regexp.MustCompile(before + "(?:" + strings.Join(phrases[section], "|") + ")" + after)
	re.Longest()
	return re
}

// repeated returns an expression for phrases of sections one after the other.
func repeated(before, after string, sections ...string) *regexp.Regexp {
	re := regexp.MustCompile(before + `(?:(?:` + strings.Join(plainPhrases(sections...), "|") + `)(?: |$))+` + after)
	re.Longest()
	return re
}

// plainPhrases returns the rules of sections without those of Chinese and those that match any
// words.
func plainPhrases(sections ...string) []string {
	var out []string
	for _, s := range sections {
		for _, p := range phrases[s] {
			if !strings.Contains(p, ".*") && !strings.ContainsFunc(p, func(r rune) bool { return r >= 0x2e80 }) {
				out = append(out, p)
			}
		}
	}
	return out
}

// compileAlike returns an expression with a group for each line of its section.
func compileAlike() *regexp.Regexp {
	re := regexp.MustCompile("^(?:(" + strings.Join(phrases["alike"], ")|(") + "))")
	re.Longest()
	return re
}

func compileEach(section string) []*regexp.Regexp {
	var out []*regexp.Regexp
	for _, p := range phrases[section] {
		out = append(out, regexp.MustCompile(p))
	}
	return out
}
