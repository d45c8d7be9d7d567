package summary

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

// longWord is how many letters count as one word, so that a limit also applies to text without any
// spaces.
const longWord = 24

// countWords returns the length of s as word processors count it: words of spaced scripts and
// characters of unspaced ones.
func countWords(s string) int {
	n := 0
	for _, t := range script.Tokenize(s) {
		if t.Char || t.End-t.Start <= longWord {
			n++
		} else {
			n += (utf8.RuneCountInString(s[t.Start:t.End]) + longWord - 1) / longWord
		}
	}
	return n
}

// word is a word of a text, or a character of an unspaced script, with the marks around it.
type word struct {
	text  string
	low   string // text in lower case, with straight apostrophes
	kind  kind
	wide  bool   // of an unspaced script
	space bool   // there is a space before it
	open  string // marks before it, such as opening quotes
	mark  string // marks after it
	end   end    // what ends after it

	// The chances, for the model, that it goes with what is corrected or not to be written, and as
	// a filler or with what is said to others; and that the first is decided wrongly, of it or of
	// what is left out beside it.
	chance, aside, doubt float64
}

// end is what ends after a word.
type end byte

const (
	inside   end = iota
	clause       // such as at a comma
	sentence     // such as at a full stop
	question
)

// kind groups words that correct each other: of "Thursday, no, Friday" both are days.
type kind byte

const (
	plain kind = iota
	number
	day
	month
	partOfDay
	name
)

var kinds = func() map[string]kind {
	m := map[string]kind{}
	for k, list := range map[kind]string{
		number: `zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
			sixteen seventeen eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety hundred
			half quarter once twice first second third fourth fifth sixth seventh eighth ninth tenth`,
		day: `monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays thursdays
			fridays saturdays sundays tomorrow weekend`,
		month:     `january february march april may june july august september october november december`,
		partOfDay: `morning afternoon evening lunchtime midday noon am pm`,
	} {
		for _, w := range strings.Fields(list) {
			m[w] = k
		}
	}
	return m
}()

const numerals = "零〇一二两三四五六七八九十百千万半"

// weekday matches a Chinese weekday, of which the last character is a number or one of these.
var weekday = regexp.MustCompile(`^(?:星期|礼拜|周)[一二三四五六日天末]`)

// parse returns the words of a lesson.
func parse(text string) []word {
	var words []word
	for _, s := range sentencesOf(text) {
		next := parseSentence(s)
		if n := len(words); n > 0 && len(next) > 0 && words[n-1].mark == "" && continuesLine[next[0].low] {
			words[n-1].end = clause
			next[0].space = true
		}
		words = append(words, next...)
	}
	return words
}

// continuesLine are words with which a line goes on with the sentence of the line before.
var continuesLine = wordSet(`which who with without because and but so or where except`)

func parseSentence(s string) []word {
	folded := simplified(s)
	tokens := joined(folded, script.Tokenize(s))
	if len(tokens) == 0 {
		return nil
	}
	pauses := spacesArePauses(tokens)
	words := make([]word, len(tokens))
	last := 0
	for i, t := range tokens {
		w := &words[i]
		w.text, w.wide = s[t.Start:t.End], t.Char
		w.low = strings.ReplaceAll(strings.ToLower(folded[t.Start:t.End]), "’", "'")
		if whole := contractions[w.low]; whole != "" {
			w.text, w.low = w.text[:1]+whole[1:], whole
		}
		w.kind = kindOf(*w, i == 0)
		gap := s[last:t.Start]
		last = t.End
		at := strings.LastIndexByte(gap, ' ') + 1
		if at == 0 {
			at = len(strings.TrimRight(gap, "“‘「『（([【《£$¥€#"))
		}
		w.open, w.space = gap[at:], strings.Contains(gap, " ")
		if i == 0 {
			w.open = strings.TrimLeft(gap, " -—>")
			continue
		}
		before := &words[i-1]
		before.mark = strings.TrimSpace(gap[:at])
		switch {
		case before.mark == "." && before.kind == number: // of an item of a list
		case strings.ContainsAny(before.mark, ",，;；：—–…") || strings.ContainsAny(before.mark, ":-.") && w.space:
			before.end = clause
		case before.mark == "" && w.open == "" && w.space && pauses && before.wide && w.wide:
			before.end = clause
		}
	}
	w := &words[len(words)-1]
	w.mark, w.end = strings.TrimSpace(s[last:]), sentence
	if strings.ContainsAny(w.mark, "?？") {
		w.end = question
	}
	return words
}

// joined joins the characters of a Chinese number or weekday to one token.
func joined(s string, tokens []script.Token) []script.Token {
	var out []script.Token
	for i := 0; i < len(tokens); i++ {
		t := tokens[i]
		if t.Char {
			if m := weekday.FindString(s[t.Start:]); m != "" {
				t.End = t.Start + len(m)
			}
			for i+1 < len(tokens) && tokens[i+1].Start < t.End {
				i++
			}
			for number := isNumeral(s[t.Start:t.End]); number && i+1 < len(tokens) &&
				tokens[i+1].Start == t.End && isNumeral(s[tokens[i+1].Start:tokens[i+1].End]); {
				i++
				t.End = tokens[i].End
			}
		}
		out = append(out, t)
	}
	return out
}

// contractions are forms without their apostrophe, as some transcribers write them.
var contractions = map[string]string{"dont": "don't", "doesnt": "doesn't", "didnt": "didn't", "cant": "can't",
	"isnt": "isn't", "wasnt": "wasn't", "im": "i'm", "ive": "i've", "hes": "he's", "shes": "she's",
	"theres": "there's", "thats": "that's", "theyre": "they're", "youre": "you're", "whats": "what's"}

// isCompound reports whether a word is a number with a hyphen.
func isCompound(low string) bool {
	tens, ones, ok := strings.Cut(low, "-")
	return ok && kinds[tens] == number && kinds[ones] == number
}

func isNumeral(s string) bool { return strings.Trim(s, numerals) == "" }

func kindOf(w word, first bool) kind {
	r, _ := utf8.DecodeRuneInString(w.text)
	switch {
	case strings.ContainsFunc(w.text, unicode.IsDigit), w.wide && isNumeral(w.low):
		return number
	case w.wide && weekday.MatchString(w.low):
		return day
	case kinds[strings.TrimSuffix(w.low, "'s")] != plain:
		return kinds[strings.TrimSuffix(w.low, "'s")]
	case w.low == "seconds":
	case kinds[strings.TrimSuffix(w.low, "s")] == number, isCompound(w.low): // "elevens", "thirty-two"
		return number
	case !first && unicode.IsUpper(r) && len(w.text) > 2 && !strings.ContainsAny(w.low, "'’"):
		return name
	}
	return plain
}

// spacesArePauses reports whether spaces between characters are the speaker's pauses. Otherwise the
// transcriber writes one after every word, and they are close together.
func spacesArePauses(tokens []script.Token) bool {
	chars, spaces := 0, 1
	for i, t := range tokens {
		if !t.Char {
			continue
		}
		chars++
		if i > 0 && tokens[i-1].Char && tokens[i-1].End != t.Start {
			spaces++
		}
	}
	return chars >= 3*spaces
}

// textOf returns words in lower case without marks.
func textOf(words []word) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 && !w.wide && !words[i-1].wide {
			b.WriteByte(' ')
		}
		b.WriteString(w.low)
	}
	return b.String()
}

// parts divides words after those with at least this end.
func parts(words []word, at end) [][]word {
	var out [][]word
	from := 0
	for i, w := range words {
		if w.end >= at || i+1 == len(words) {
			out = append(out, words[from:i+1])
			from = i + 1
		}
	}
	return out
}

// write returns words as text with the marks and capital letters of its script.
func write(words []word, names []string) string {
	var b strings.Builder
	quoted := areQuoted(words)
	for i, w := range words {
		first := i == 0 || words[i-1].end >= sentence
		if i > 0 && (w.space && !w.wide || first) && !(words[i-1].wide || isWideMark(b.String())) {
			b.WriteByte(' ')
		}
		b.WriteString(w.open)
		upper := first && !(i+1 < len(words) && words[i+1].wide) || isMonthOfDay(words, i)
		b.WriteString(capital(w, upper, names))
		if quoted[i] && strings.Contains(w.mark, "…") { // “因为……所以……”
			b.WriteString(w.mark)
			continue
		}
		b.WriteString(markAfter(words, i))
	}
	return b.String()
}

// isMonthOfDay reports whether words[i] is "may" or "march" in a date such as the third of May.
func isMonthOfDay(words []word, i int) bool {
	low := words[i].low
	return (low == "may" || low == "march") && i > 1 && words[i-1].low == "of" && words[i-2].kind == number
}

func isWideMark(s string) bool {
	r, _ := utf8.DecodeLastRuneInString(s)
	return isWide(r)
}

var fullWidth = strings.NewReplacer(",", "，", "?", "？", "!", "！", ";", "；", ":", "：", "...", "……", ".", "。")

// markAfter returns the mark after words[i]: its own, or one of its script.
func markAfter(words []word, i int) string {
	w := words[i]
	wide := w.wide || i > 0 && words[i-1].wide && (!unicode.IsLetter(rune(w.low[0])) || i > 1 && words[i-2].wide) ||
		w.end < sentence && i+1 < len(words) && words[i+1].wide
	mark := w.mark
	switch {
	case w.end == inside:
		return mark
	case w.end == clause && mark == "":
		mark = ","
	case w.end >= sentence && strings.Trim(mark, ",，、：:;；-—–… ") == "":
		mark = script.FullStop(w.text)
		if wide {
			mark = "。"
		}
	}
	if wide {
		return fullWidth.Replace(mark)
	}
	return mark
}

// capital returns a word with a capital letter if upper is set, in the names of days, months,
// languages and the given people, and in I.
func capital(w word, upper bool, names []string) string {
	if w.wide || strings.ToLower(w.text) != w.text {
		return w.text
	}
	for _, n := range names {
		own := strings.TrimSuffix(w.low, "'s")
		low := strings.ReplaceAll(strings.ToLower(n), "’", "'")
		if low == own && !commonWords[low] && !proclitics[low] && !pronouns[low] &&
			!slices.Contains(notNames, low) {
			return n + w.low[len(own):]
		}
	}
	hasOne := capitals[w.low] || capitals[strings.TrimRight(w.low, "'s")]
	if upper || hasOne || w.low == "i" || strings.HasPrefix(w.low, "i'") {
		r, n := utf8.DecodeRuneInString(w.text)
		if unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Cyrillic, r) || unicode.Is(unicode.Greek, r) {
			return string(unicode.ToUpper(r)) + w.text[n:]
		}
	}
	return w.text
}

// capitals are words that always have a capital letter. March and May are also verbs.
var capitals = wordSet(`april august christmas december easter english february french friday german
	january july june latin monday november october saturday september spanish sunday thursday tuesday
	wednesday`)

// letters returns s in lower case without spaces and punctuation.
func letters(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) {
			return unicode.ToLower(r)
		}
		return -1
	}, s)
}

// commonWords are words that are also names, which only their capital letter tells apart.
var commonWords = wordSet("will may can do an so art mark rose grace hope faith joy summer bill ray sky jack dean")
