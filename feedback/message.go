package feedback

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/uuid"

	"lessonkit.example/feedback/internal/script"
)

// maxTemplateLength limits [Defaults].MessageTemplate and SummaryInstructions, in characters.
const maxTemplateLength = 2000

// placeholders are the names that a message template may contain in braces.
var placeholders = strings.Fields("guardian_title name date subject grade term text")

// placeholder matches a placeholder, also in the braces of Chinese keyboards, and an opening brace
// without a closing one.
var placeholder = regexp.MustCompile(`[{｛]([^{}｛｝\n]*)([}｝]?)`)

// The message templates of teachers who have saved none.
const (
	chineseTemplate = "{guardian_title}您好！以下是{name}在{date}的课堂反馈：\n\n{text}\n\n如有任何问题，欢迎随时与我联系。"
	englishTemplate = "Dear {guardian_title},\n\nHere is {name}'s lesson feedback for {date}:\n\n{text}\n\n" +
		"Please get in touch if you have any questions."
)

// template validates a message template. The text occurs once, which limits the message.
func (v *validator) template(field, s string) {
	v.text(field, s, 0, maxTemplateLength)
	texts := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(s, -1) {
		line := strings.Count(s[:at[0]], "\n") + 1
		character := utf8.RuneCountInString(s[strings.LastIndex(s[:at[0]], "\n")+1:at[0]]) + 1
		name := strings.TrimSpace(s[at[2]:at[3]])
		if name == "text" {
			texts++
		}
		code, what, rule := "", "", ""
		switch {
		case at[4] == at[5]:
			code, what = "brace_not_closed", "a brace that is not closed"
		case !slices.Contains(placeholders, name):
			code, what = "unknown_placeholder", "an unknown placeholder"
			rule = "; there are {" + strings.Join(placeholders, "}, {") + "}"
		case texts > 1:
			code, what, rule = "text_repeated", "{text} again", "; once is allowed"
		default:
			continue
		}
		e := v.fail(field, "has %s in line %d at character %d%s", what, line, character, rule)
		e.Code, e.Line = code, line
		return
	}
	if texts == 0 && strings.TrimSpace(s) != "" {
		v.fail(field, "lacks {text}, in the place of the feedback").Code = "text_missing"
	}
}

// RecordMessage returns the text of a record as a message to the guardian: in the teacher's
// [Defaults].MessageTemplate. Errors: [ErrNotFound].
func (s *Service) RecordMessage(ctx context.Context, teacher, record uuid.UUID) (string, error) {
	r, err := s.store.Record(ctx, teacher, record)
	if err != nil {
		return "", err
	}
	return s.message(ctx, teacher, r.ProfileID, r.Date, r.Date, r.Content)
}

// SessionMessage returns the text that is being written in a session as RecordMessage does that of
// a record: the teacher's text or, while there is none, the generated one. It is "" while there is
// neither. Errors: [ErrNotFound].
func (s *Service) SessionMessage(ctx context.Context, teacher, session uuid.UUID) (string, error) {
	f, err := s.store.Session(ctx, teacher, session)
	if err != nil {
		return "", err
	}
	text := f.FeedbackText
	if strings.TrimSpace(text) == "" {
		text = f.GeneratedText
	}
	if text == "" {
		return "", nil
	}
	return s.message(ctx, teacher, f.ProfileID, f.Date, f.Date, text)
}

// message returns a text on the lessons of some days as a message to the guardian.
func (s *Service) message(
	ctx context.Context, teacher, profile uuid.UUID, first, last, text string,
) (string, error) {
	p, err := s.store.Profile(ctx, teacher, profile)
	if err != nil {
		return "", err
	}
	d, err := s.Defaults(ctx, teacher)
	if err != nil {
		return "", err
	}
	return fillTemplate(d.MessageTemplate, p, first, last, text), nil
}

// fillTemplate returns a message. An empty template means the default of the text's language.
func fillTemplate(template string, p Profile, first, last, text string) string {
	if strings.TrimSpace(template) == "" {
		switch {
		case isChinese(text):
			template = chineseTemplate
		case strings.TrimSpace(p.GuardianTitle) == "":
			template = strings.Replace(englishTemplate, "Dear {guardian_title},", "Hello,", 1)
		default:
			template = englishTemplate
		}
	}
	words := placeholder.ReplaceAllString(template, "")
	if !strings.ContainsFunc(words, unicode.IsLetter) {
		words = text
	}
	values := map[string]string{
		"guardian_title": p.GuardianTitle, "name": p.Name, "date": writtenDates(first, last, isChinese(words)),
		"subject": p.Subject, "grade": p.Grade, "term": p.Term, "text": text,
	}
	var lines []string
	dropped := false // the line before, or one before blank lines
	for line := range strings.SplitSeq(template, "\n") {
		line, ok := fillLine(line, values)
		if !ok {
			dropped = true
			continue
		}
		if strings.TrimSpace(line) != "" {
			dropped = false
		} else if dropped && (len(lines) == 0 || strings.TrimSpace(lines[len(lines)-1]) == "") {
			continue // the blank line before it stays
		}
		lines = append(lines, line)
	}
	return strings.TrimSpace(strings.Join(lines, "\n"))
}

// isChinese reports whether a text has at least as many Chinese characters as other words.
func isChinese(text string) bool {
	chinese, others := 0, 0
	for _, t := range script.Tokenize(text) {
		switch r, _ := utf8.DecodeRuneInString(text[t.Start:]); {
		case unicode.Is(unicode.Han, r):
			chinese++
		case unicode.IsLetter(r):
			others++
		}
	}
	return chinese > 0 && chinese >= others
}

// writtenDate returns a date as people write it.
func writtenDate(date string, chinese bool) string {
	t, err := time.Parse(dateLayout, date)
	switch {
	case err != nil:
		return date
	case chinese:
		return t.Format("2006年1月2日")
	}
	return t.Format("2 January 2006")
}

func writtenDates(first, last string, chinese bool) string {
	switch {
	case first == last:
		return writtenDate(first, chinese)
	case chinese:
		return writtenDate(first, true) + "至" + writtenDate(last, true)
	}
	return writtenDate(first, false) + " to " + writtenDate(last, false)
}

// fillLine puts the values in the place of a line's placeholders. It reports false if the line had
// placeholders and has neither a value nor a word without them.
func fillLine(line string, values map[string]string) (filled string, ok bool) {
	var literals, fields []string // literals[i] is before fields[i]
	end := 0
	for _, at := range placeholder.FindAllStringSubmatchIndex(line, -1) {
		literals = append(literals, line[end:at[0]])
		fields = append(fields, strings.TrimSpace(values[strings.TrimSpace(line[at[2]:at[3]])]))
		end = at[1]
	}
	if len(fields) == 0 {
		return line, true
	}
	literals = append(literals, line[end:])
	for i := 0; i < len(fields); {
		if fields[i] != "" {
			i++
			continue
		}
		literals[i] = closeGap(literals[i], literals[i+1], i == 0, i == len(fields)-1)
		literals, fields = slices.Delete(literals, i+1, i+2), slices.Delete(fields, i, i+1)
	}
	for i, field := range fields {
		filled += literals[i] + field
	}
	filled += literals[len(fields)]
	return filled, len(fields) > 0 || strings.ContainsFunc(filled, unicode.IsLetter)
}

const (
	blanks     = " \t\r\u00a0\u3000"
	separators = "-,，、;；:：·|/–—" // a hyphen elsewhere would be a range in a regular expression
	endMarks   = ".。!！?？"
	opening    = "(（[【「『《〔“"
	closing    = ")）]】」』》〕”" // in the order of opening
)

var (
	// label matches what names the value after it, such as "Term: ", and the mark before that.
	label = regexp.MustCompile(`(^|[` + marks + `])[^` + marks + `]*[:：]$`)
	// wordLabel matches a label of one word after another value.
	wordLabel = regexp.MustCompile(`^[` + blanks + `]+[^` + marks + blanks + `]+[:：]$`)
	marks     = regexp.QuoteMeta(separators + endMarks + opening)
	// dangling matches a word that needs another one after it: 与 and 致 also end words such as 参与.
	dangling = regexp.MustCompile(`(?i)(?:\b(?:dear|to|for|of|in|on|from|with|and)|尊敬的|亲爱的|&|和|以及` +
		`|(^|[` + marks + blanks + `])[与及致给])$`)
	// joins are between two values of the same kind, as in "Dear {guardian_title} and {name}".
	joins = []string{"and", "&", "和", "与", "及", "以及"}
)

// closeGap returns what stays of the text before and after an empty placeholder: no label without a
// value, no empty brackets, no second full stop, and no separator that separates nothing. The text
// before it is at the start of the line if first, and the text after it at the end if last; else
// they are beside values.
func closeGap(before, after string, first, last bool) string {
	l, r := strings.TrimRight(before, blanks), strings.TrimLeft(after, blanks)
	if !last && slices.Contains(joins, strings.TrimRight(r, blanks)) {
		return before // the value after it is in its place
	}
	gap := ""
	if l != before || r != after {
		gap = " "
	}
	left, leftSize := utf8.DecodeLastRuneInString(l)
	right, rightSize := utf8.DecodeRuneInString(r)
	if i := slices.Index([]rune(opening), left); i >= 0 && []rune(closing)[i] == right {
		return closeGap(l[:len(l)-leftSize], r[rightSize:], first, last)
	}
	startsLabel := first || wordLabel.MatchString(l) // not as in "{name}'s grade: {grade}"
	if at := label.FindStringSubmatchIndex(l); at != nil && (startsLabel || at[3] > 0) {
		l = l[:at[3]]
	}
	l = strings.TrimRight(dangling.ReplaceAllString(l, "$1"), blanks)
	left, _ = utf8.DecodeLastRuneInString(l)
	switch {
	case first && l == "", strings.ContainsRune(opening, left) && (first || l != "“"): // closes „{name}“
		return l + strings.TrimLeft(r, separators+endMarks+blanks)
	case strings.ContainsRune(endMarks, left) && strings.ContainsRune(endMarks, right):
		return l + r[rightSize:]
	case last && r == "" || strings.ContainsRune(closing+endMarks, right):
		return strings.TrimRight(l, separators+blanks) + r
	case strings.ContainsRune(separators, right):
		l = strings.TrimRight(l, separators+blanks)
		if r == after {
			gap = ""
		}
	}
	return l + gap + r
}
