package summary

import (
	"slices"
	"strings"
)

// withoutAddressed leaves out sentences in which others than the family are spoken to, as "Tom,
// would you shut the door?", and the answers after them. Names are those of the student.
func withoutAddressed(words []word, names []string) []word {
	drop := make([]reason, len(words))
	at := 0
	before := false // the sentence before was left out
	for _, s := range parts(words, sentence) {
		text, _ := plainText(s)
		switch {
		case len(s) > 24, about.MatchString(text), placeOf(text) != inLesson, unsaidInside.MatchString(text):
			before = false
		case address.MatchString(text) || address.MatchString(calls(s, names)),
			before && len(s) <= 6 && answers.MatchString(text):
			mark(drop[at:at+len(s)], filler)
			before = true
		default:
			before = false
		}
		at += len(s)
	}
	return without(words, drop)
}

// calls returns a sentence for the rules of addresses: with a comma after each clause, and @ in
// place of a name, which is a capitalised word other than those of the student, or a Chinese
// character said twice, as in pet names.
func calls(s []word, names []string) string {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		w := s[i]
		low := w.low
		switch {
		case w.wide && i+1 < len(s) && s[i+1].low == low && w.end == inside && !kinship[low]:
			low = "@"
			i++
		case i == 0 && isCommonStart(low):
		case hasCapital(w) && w.kind != day && w.kind != month &&
			!slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, w.text) }):
			low = "@"
		}
		if b.Len() > 0 && !w.wide {
			b.WriteByte(' ')
		}
		b.WriteString(low)
		if s[i].end != inside {
			b.WriteByte(',')
		}
	}
	return b.String()
}

// isCommonStart reports whether a sentence often starts with a word, which then is no name.
func isCommonStart(low string) bool {
	return proclitics[low] || clauseStarts[low] || subjects[low] || imperative.MatchString(low) ||
		weakTerm.MatchString(low) || fillerClause.MatchString(low) || openingWords.MatchString(low)
}

// kinship are characters that are often said twice and are no pet names, such as those of
// relatives.
var kinship = wordSet(`妈 爸 爷 奶 哥 姐 弟 妹 慢 常 天 每 好 多 看 试 想 听 练 说 刚 渐 轻 重 高 低`)
