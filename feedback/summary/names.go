package summary

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// names replaces people's names by tokens and puts them back. One is made for
// each call; it is not safe for concurrent use.
//
// A name is looked for in the forms in which it is said: whole, by its parts
// (given name, family name), and for Chinese names by the given name, the usual
// short names (小明, 明明) and the family name with a title (王老师, 小王). Each
// spelling met gets a token of its own, so that the text comes back as it was said.
type names struct {
	find      *regexp.Regexp // nil when there are none
	person    map[string]int // by the letters of a form
	spellings [][]string     // as met, by person
	word      string         // what a token begins with
	back      *regexp.Regexp
}

// newNames prepares the replacing of names in transcripts, which are in NFC.
func newNames(list, transcripts []string) *names {
	n := &names{person: map[string]int{}, word: "NAME"}
	n.back = tokens(n.word)
	for slices.ContainsFunc(transcripts, n.back.MatchString) {
		n.word += "X" // a token that the transcripts hold already would be taken for ours
		n.back = tokens(n.word)
	}
	var forms []string
	for _, name := range list {
		name = strings.Join(strings.Fields(norm.NFC.String(name)), " ")
		if name == "" {
			continue
		}
		for _, f := range nameForms(name) {
			if _, ok := n.person[letters(f)]; !ok && letters(f) != "" {
				n.person[letters(f)] = len(n.spellings)
				forms = append(forms, f)
			}
		}
		n.spellings = append(n.spellings, nil)
	}
	if len(forms) == 0 {
		return n
	}
	// The longest first, so that a whole name is not taken for one of its parts.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for i, f := range forms {
		forms[i] = pattern(f)
	}
	n.find = regexp.MustCompile(strings.Join(forms, "|"))
	return n
}

// tokens matches tokens that begin with word, in the shapes that models turn
// them into: other brackets, other separators, no brackets at all.
func tokens(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)[\[【［〔{]\s*` + word + `\\?[_ -]?(\d+)(?:\\?[_ -](\d+))?\s*[\]】］〕}]|\b` + word + `\\?_(\d+)(?:\\?_(\d+))?`)
}

// hide returns s with tokens in the place of names.
func (n *names) hide(s string) string {
	if n.find == nil {
		return s
	}
	var b strings.Builder
	done := 0 // s[:done] is written
	for at := 0; at < len(s); {
		loc := n.find.FindStringIndex(s[at:])
		if loc == nil {
			break
		}
		start, end := at+loc[0], at+loc[1]
		if !wholeWord(s, start, end) {
			_, size := utf8.DecodeRuneInString(s[start:])
			at = start + size
			continue
		}
		b.WriteString(s[done:start] + n.token(s[start:end]))
		done, at = end, end
	}
	return b.String() + s[done:]
}

// token is the token of a spelling.
func (n *names) token(spelling string) string {
	person := n.person[letters(spelling)]
	form := slices.Index(n.spellings[person], spelling)
	if form < 0 {
		form = len(n.spellings[person])
		n.spellings[person] = append(n.spellings[person], spelling)
	}
	return fmt.Sprintf("[%s_%d_%d]", n.word, person+1, form+1)
}

// restore puts the names back into s, also for tokens that were a little
// changed on the way. It reports whether it knew them all.
func (n *names) restore(s string) (text string, known bool) {
	known = true
	text = n.back.ReplaceAllStringFunc(s, func(token string) string {
		m := n.back.FindStringSubmatch(token)
		person, _ := strconv.Atoi(m[1] + m[3])
		form, _ := strconv.Atoi(m[2] + m[4])
		if person < 1 || person > len(n.spellings) || len(n.spellings[person-1]) == 0 {
			known = false
			return token
		}
		spellings := n.spellings[person-1]
		if form < 1 || form > len(spellings) {
			form = 1
		}
		return spellings[form-1]
	})
	return text, known
}

// wholeWord reports whether s[start:end] neither begins nor ends inside a word.
func wholeWord(s string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	first, _ := utf8.DecodeRuneInString(s[start:])
	last, _ := utf8.DecodeLastRuneInString(s[:end])
	after, _ := utf8.DecodeRuneInString(s[end:])
	if inWord(before) && inWord(first) {
		return false
	}
	return !inWord(last) || !inWord(after) || takesParticle(s[start:end], after)
}

// koreanParticles are what Korean particles and forms of address begin with.
const koreanParticles = "은는이가을를의와과도만에께한로으랑씨님야아군양네처보까부"

// takesParticle reports whether a Korean name goes on in its word. A whole name
// is hardly part of another word; a shorter one may be.
func takesParticle(name string, after rune) bool {
	for _, r := range name {
		if !unicode.Is(unicode.Hangul, r) && r != ' ' {
			return false
		}
	}
	return unicode.Is(unicode.Hangul, after) && (utf8.RuneCountInString(name) > 2 || strings.ContainsRune(koreanParticles, after))
}

// pattern matches a form with any blanks between its parts, and between the
// characters of an unspaced script, as recognisers put them. Case does not
// matter, unless the form is also a common word or too short to tell.
func pattern(form string) string {
	const apostrophes = "'’‘＇"
	var b strings.Builder
	if stopwords[strings.ToLower(form)] || utf8.RuneCountInString(form) < 3 {
		b.WriteString("(?-i:")
	} else {
		b.WriteString("(?i:")
	}
	var last rune
	for _, r := range form {
		switch {
		case r == ' ':
			b.WriteString(`\s*`)
		case strings.ContainsRune(apostrophes, r):
			b.WriteString("[" + apostrophes + "]")
		case last != 0 && unspaced(r) && unspaced(last):
			b.WriteString(`\s*` + regexp.QuoteMeta(string(r)))
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		last = r
	}
	b.WriteString(")")
	return b.String()
}

// notNames are parts of what may be listed as a name, such as a class, that are
// said all the time. They are still replaced inside the whole name.
var notNames = map[string]bool{
	"class": true, "group": true, "grade": true, "year": true, "team": true, "course": true, "lesson": true, "school": true,
	"room": true, "term": true, "monday": true, "tuesday": true, "wednesday": true, "thursday": true, "friday": true,
	"saturday": true, "sunday": true, "morning": true, "afternoon": true, "evening": true, "art": true, "music": true,
	"maths": true, "math": true, "english": true, "chinese": true, "mr": true, "mrs": true, "ms": true, "miss": true,
	"dr": true, "prof": true, "professor": true, "teacher": true, "student": true, "pupil": true,
}

// titles follow a Chinese family name.
var titles = strings.Fields("老师 同学 先生 女士 小姐 教练 校长 妈妈 爸爸 家长 小朋友")

// compound are the usual family names of two characters. Such a name is also
// said alone; those that are everyday words (东方) are not.
var compound = strings.Fields("欧阳 歐陽 诸葛 諸葛 司马 司馬 上官 司徒 夏侯 皇甫 尉迟 尉遲 公孙 公孫 慕容 令狐 长孙 長孫 宇文 轩辕 軒轅 南宫 南宮 独孤 獨孤 申屠 呼延 闻人 聞人")

// everyday are family names that after 小 or 老 make an everyday word, or begin
// one: 老师, 小时, 小马, 小程序.
const everyday = "师師时時于於马馬牛熊石路车車包花米龙龍白金钱錢康常段孔程任毛叶葉童苗麦麥文方"

// nameForms lists how somebody of this name is called, the whole name first.
func nameForms(name string) []string {
	forms := []string{name}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '’' }) {
		if han := []rune(part); unspaced(han[0]) {
			forms = append(forms, hanForms(han)...)
			continue
		}
		if utf8.RuneCountInString(part) >= 2 && !notNames[strings.ToLower(part)] {
			forms = append(forms, part)
		}
	}
	return forms
}

// hanForms lists the forms of a name in Chinese characters.
func hanForms(name []rune) []string {
	if len(name) > 4 || strings.ContainsRune("班组队", name[len(name)-1]) {
		return nil // a class or a group
	}
	forms := []string{string(name)}
	family := string(name[:1])
	if len(name) > 2 && slices.Contains(compound, string(name[:2])) {
		family = string(name[:2])
		forms = append(forms, family)
	} else if len(name) == 4 {
		family = string(name[:2])
	}
	for _, t := range titles {
		forms = append(forms, family+t)
	}
	if !strings.Contains(everyday, family) {
		forms = append(forms, "小"+family, "老"+family)
	}
	if len(name) == 1 {
		return forms[1:]
	}
	last := string(name[len(name)-1])
	if len(name) > 2 {
		forms = append(forms, string(name[len(name)-2:]))
	}
	return append(forms, "小"+last, "阿"+last, last+last)
}
