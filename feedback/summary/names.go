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

	"lessonkit.example/feedback/internal/script"
)

// names replaces people's names by tokens and restores them. It is not safe for concurrent use.
//
// It finds names in all their usual forms: the whole name, its parts (given name, family name), and
// of Chinese names the given name, the short names (小明, 明明) and the family name with a
// title (王老师, 小王). Each spelling has its own token, so that the text is restored verbatim, but
// for a misheard name, which has the token of the right one. The first token of a person is the
// whole name.
type names struct {
	find      *regexp.Regexp    // nil if there are no names
	person    map[string]int    // by the letters of a form
	misheard  map[string]string // the right forms, by the letters of others
	spellings [][]string        // found so far, by person
	word      string            // at the start of tokens
	back      *regexp.Regexp
}

const (
	student = iota
	guardian
)

// whole returns the token of a person's whole name, or "" if that is empty.
func (n *names) whole(person int) string {
	if len(n.spellings[person]) == 0 {
		return ""
	}
	return n.token(n.spellings[person][0])
}

// newNames returns the names for transcripts, which must be in NFC. The words are not misheard
// names.
func newNames(list, transcripts, words []string) *names {
	n := &names{person: map[string]int{}, misheard: map[string]string{}, word: "NAME"}
	n.back = tokens(n.word)
	for slices.ContainsFunc(transcripts, n.back.MatchString) {
		n.word += "X" // no token may be part of the transcripts
		n.back = tokens(n.word)
	}
	var forms []string
	add := func(person int, form string) bool {
		_, known := n.person[letters(form)]
		if letters(form) == "" || known {
			return false
		}
		n.person[letters(form)] = person
		forms = append(forms, form)
		return true
	}
	for person, name := range list { // 王女士 is also a form of 王小明, but first a whole name
		n.spellings = append(n.spellings, nil)
		if name = strings.Join(strings.Fields(norm.NFC.String(name)), " "); name != "" {
			n.spellings[person] = []string{name}
			add(person, name)
		}
	}
	n.spellings = append(n.spellings, nil) // of another parent
	for person, spellings := range n.spellings {
		if len(spellings) == 0 {
			continue
		}
		for _, f := range nameForms(spellings[0]) {
			who := person
			if title := parent.FindString(f); title != "" && len(list) > guardian {
				who = guardian // 王妈妈 is not 王小明
				if sexes[title]+sexes[parent.FindString(list[guardian])] == 3 {
					who = len(list) // beside 王妈妈 王爸爸 is somebody else
				}
			}
			add(who, f)
		}
		for _, right := range soundForms(spellings[0]) {
			for _, t := range transcripts {
				for _, wrong := range misheard(t, right, words) {
					if add(person, wrong) {
						n.misheard[letters(wrong)] = right
					}
				}
			}
		}
	}
	for _, f := range slices.Clone(forms) { // what was not misheard, as it was written: of Bär also the bar
		add(n.person[letters(f)], withoutAccents(f))
	}
	if len(forms) == 0 {
		return n
	}
	// The longest first, so that a whole name is preferred to its parts.
	slices.SortStableFunc(forms, func(a, b string) int { return len(b) - len(a) })
	for i, f := range forms {
		forms[i] = pattern(f)
	}
	n.find = regexp.MustCompile(strings.Join(forms, "|"))
	return n
}

// tokens matches tokens that start with word, also as models change them: with other brackets,
// other separators, or without brackets.
func tokens(word string) *regexp.Regexp {
	return regexp.MustCompile(`(?i)[\[【［〔{]\s*` + word + `[_ \-‐-―]?(\d+)(?:[_ \-‐-―](\d+))?\s*[\]】］〕}]` +
		`|\b` + word + `_(\d+)(?:_(\d+))?`)
}

// misspelt matches what models put in the place of a token: "[姓名_1_1]", "[Student's name]".
var misspelt = regexp.MustCompile(`(?i)[\[【［〔{]\s*(?:[^\]】］〕}\n]*(?:_|\pL[-‐-―])\d+(?:[-‐-―]\d+)?` +
	`|(?:the )?(?:(?:student|guardian|child|parent|teacher|your)(?:['’]s)?[ _-]?)?name(?:_\w+)?` +
	`|(?:the )?(?:student|guardian)` +
	`|(?:(?:学生|孩子|家长|老师|您|你)的?)?(?:姓名|名字))\s*[\]】］〕}]`)

// hide returns s with tokens in place of names.
func (n *names) hide(s string) string {
	if n.find == nil {
		return s
	}
	var b strings.Builder
	done := 0 // s[:done] has been written
	for at := 0; at < len(s); {
		loc := n.find.FindStringIndex(s[at:])
		if loc == nil {
			break
		}
		start := at + loc[0]
		end := n.end(s, start, at+loc[1])
		if end == start {
			_, size := utf8.DecodeRuneInString(s[start:])
			at = start + size
			continue
		}
		b.WriteString(s[done:start] + n.token(s[start:end]))
		done, at = end, end
	}
	return b.String() + s[done:]
}

// undecomposed are letters that Unicode does not divide into a letter and an accent.
var undecomposed = strings.NewReplacer("đ", "d", "Đ", "D", "ł", "l", "Ł", "L", "ø", "o", "Ø", "O", "ı", "i", "ß", "ss")

// withoutAccents returns a name as recognisers often write it: Jose for José.
func withoutAccents(name string) string {
	return norm.NFC.String(strings.Map(func(r rune) rune {
		if r >= 0x300 && r < 0x370 { // combining marks
			return -1
		}
		return r
	}, norm.NFD.String(undecomposed.Replace(name))))
}

// end returns where the name at start ends that is not a part of a word, or start if there is none:
// in "Emma likes" not Emma Li, which ends at end, but Emma.
func (n *names) end(s string, start, end int) int {
	for !wholeWord(s, start, end) {
		_, size := utf8.DecodeLastRuneInString(s[start:end])
		loc := n.find.FindStringIndex(s[start : end-size])
		if loc == nil || loc[0] > 0 {
			return start
		}
		end = start + loc[1]
	}
	return end
}

func (n *names) token(spelling string) string {
	person := n.person[letters(spelling)]
	if right, ok := n.misheard[letters(spelling)]; ok {
		spelling = right
	}
	form := slices.Index(n.spellings[person], spelling)
	if form < 0 {
		form = len(n.spellings[person])
		n.spellings[person] = append(n.spellings[person], spelling)
	}
	return fmt.Sprintf("[%s_%d_%d]", n.word, person+1, form+1)
}

// restore replaces the tokens of s, also slightly changed ones, by names. It reports whether all of
// them were known.
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

// wholeWord reports whether s[start:end] neither starts nor ends within a word. What follows a
// Korean name is mostly a particle: one that begins another word is hidden, too, and restored.
func wholeWord(s string, start, end int) bool {
	before, _ := utf8.DecodeLastRuneInString(s[:start])
	first, _ := utf8.DecodeRuneInString(s[start:])
	last, _ := utf8.DecodeLastRuneInString(s[:end])
	rest := s[end:]
	if end-start > 3 && unicode.IsUpper(first) {
		rest = strings.TrimPrefix(rest, "s") // "Emmas Bogen", but not "this" of Thi, nor "songs" of Song
	}
	after, _ := utf8.DecodeRuneInString(rest)
	if script.InWord(before) && script.InWord(first) {
		return false
	}
	return !script.InWord(last) || !script.InWord(after) || unicode.Is(unicode.Hangul, last)
}

// pattern returns an expression for a form with any spaces between its parts and between the
// characters of an unspaced script. It ignores case, unless the form is short or a common word.
func pattern(form string) string {
	const apostrophes = "'’‘＇"
	var b strings.Builder
	if commonWords[strings.ToLower(form)] || utf8.RuneCountInString(form) < 3 {
		b.WriteString("(?-i:")
	} else {
		b.WriteString("(?i:")
	}
	hyphen := `[-‐-―\s]*`
	if slices.ContainsFunc(strings.Split(form, "-"), func(p string) bool { return utf8.RuneCountInString(p) < 3 }) {
		hyphen = `[-‐-―]*` // "so young" is not So-Young
	}
	var last rune
	for _, r := range form {
		switch {
		case r == ' ':
			b.WriteString(`\s*`)
		case r == '-':
			b.WriteString(hyphen)
		case strings.ContainsRune(apostrophes, r):
			b.WriteString("[" + apostrophes + "]?")
		case last != 0 && script.IsUnspaced(r) && script.IsUnspaced(last):
			b.WriteString(`\s*` + regexp.QuoteMeta(string(r)))
		default:
			b.WriteString(regexp.QuoteMeta(string(r)))
		}
		last = r
	}
	b.WriteString(")")
	return b.String()
}

// notNames are common words that may be part of a name, for example if a profile is that of a
// class. They are replaced only as part of the whole name.
var notNames = strings.Fields(`class group grade year team course lesson school room term
	monday tuesday wednesday thursday friday saturday sunday morning afternoon evening
	art music maths math english chinese mr mrs ms miss dr prof professor teacher student pupil
	mum mom mummy mommy dad daddy mother father parent parents grandma grandpa guardian family and of`)

// titles follow a Chinese family name.
var titles = strings.Fields(`老师 同学 先生 女士 小姐 教练 校长 妈妈 爸爸 家长 小朋友
	老師 同學 教練 校長 媽媽 家長`)

// parent matches a family name with the title of a guardian.
var parent = regexp.MustCompile(`(?:妈妈|媽媽|爸爸|家长|家長)$`)

// sexes are those of parents whose titles are not the same person's.
var sexes = map[string]int{"妈妈": 1, "媽媽": 1, "爸爸": 2}

// compound are the usual family names of two characters, which are also used alone, except for
// those that are common words (东方).
var compound = strings.Fields(`欧阳 歐陽 诸葛 諸葛 司马 司馬 上官 司徒 夏侯 皇甫
	尉迟 尉遲 公孙 公孫 慕容 令狐 长孙 長孫 宇文 轩辕 軒轅 南宫
	南宮 独孤 獨孤 申屠 呼延 闻人 聞人`)

// everyday are family names that form or start a common word after 小 or 老: 老师, 小时,
// 小马, 小程序.
const everyday = "师師时時于於马馬牛熊石路车車包花米龙龍白" +
	"金钱錢康常段孔程任毛叶葉童苗麦麥文方"

// nameForms returns the forms of a name, the whole name first.
func nameForms(name string) []string {
	forms := []string{name}
	for _, part := range strings.Fields(name) {
		pieces := strings.Split(strings.ToLower(part), "-")
		isNoName := func(p string) bool { return slices.Contains(notNames, p) }
		if len(pieces) > 1 && !slices.ContainsFunc(pieces, isNoName) { // of Anne-Marie Li also Annemarie
			forms = append(forms, part)
		}
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsMark(r) && r != '\'' && r != '’'
	}) {
		if han := []rune(part); script.IsUnspaced(han[0]) {
			if forms = append(forms, hanForms(han)...); len(han) > maxHan && part != name && !isGroup(han) {
				forms = append(forms, part) // of 阿卜杜热合曼·买买提
			}
			continue
		}
		part = strings.TrimSuffix(strings.TrimSuffix(part, "'s"), "’s")
		if utf8.RuneCountInString(part) >= 2 && !slices.Contains(notNames, strings.ToLower(part)) {
			forms = append(forms, part)
		}
	}
	return forms
}

// maxHan is the length of a Chinese name: what is longer has another form, or is no name.
const maxHan = 4

// isGroup reports whether a name in Chinese is that of a class or a group.
func isGroup(name []rune) bool { return strings.ContainsRune("班组队", name[len(name)-1]) }

func hanForms(name []rune) []string {
	for _, t := range titles {
		if rest, ok := strings.CutSuffix(string(name), t); ok { // how a guardian is addressed
			if utf8.RuneCountInString(rest) > 1 {
				return []string{rest}
			}
			return nil
		}
	}
	if len(name) > maxHan || isGroup(name) {
		return nil
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
		given := string(name[len(name)-2:])
		forms = append(forms, given, "小"+given)
	}
	return append(forms, "小"+last, "阿"+last, last+last)
}
