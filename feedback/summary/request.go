package summary

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"time"

	"golang.org/x/text/unicode/norm"

	"lessonkit.example/feedback"
)

//go:embed prompt.txt
var defaultPrompt string

// MaxPrompt is the size limit of [ChatConfig].Prompt in bytes.
const MaxPrompt = 32 << 10

// normalized returns the input in valid UTF-8 and NFC, the form of the names.
func normalized(in feedback.SummaryInput) feedback.SummaryInput {
	text := func(s string) string { return norm.NFC.String(strings.ToValidUTF8(strings.TrimSpace(s), "")) }
	for _, s := range []*string{&in.Student, &in.GuardianTitle, &in.Subject, &in.Grade, &in.Term, &in.LastRecord,
		&in.Instructions} {
		*s = text(*s)
	}
	words, lessons := in.Words, in.Lessons
	in.Words, in.Lessons = nil, nil
	for _, w := range words {
		in.Words = append(in.Words, text(w))
	}
	for _, l := range lessons {
		in.Lessons = append(in.Lessons, feedback.SummaryLesson{Text: text(l.Text), Date: l.Date})
	}
	return in
}

func homeworkOf(ctx context.Context, record string) (string, error) {
	words, err := clean(ctx, record)
	if err != nil {
		return "", err
	}
	var found []string
	for _, p := range pieces(words, 0) {
		if p.place == inHomework {
			found = append(found, write(p.words, nil))
		}
	}
	return strings.Join(found, "\n"), nil
}

// allTexts returns all texts of the input but the names.
func allTexts(in feedback.SummaryInput) []string {
	out := []string{in.Subject, in.Grade, in.Term, in.LastRecord, in.Instructions, strings.Join(in.Words, "\n")}
	return append(out, textsOf(in.Lessons)...)
}

// messages returns what is sent: the rules, and what was said with what the model needs to know
// beside it. Names are tokens, and no text can end its element.
func (c *Chat) messages(in feedback.SummaryInput, n *names) []message {
	hide := func(s string) string { return strings.ReplaceAll(n.hide(s), "<", "‹") }
	var user strings.Builder
	line := func(label, value string) {
		if value != "" {
			fmt.Fprintf(&user, "%s: %s\n", label, strings.Join(strings.Fields(value), " "))
		}
	}
	var words []string
	for _, w := range in.Words {
		if n.hide(w) == w { // not one of the names
			words = append(words, hide(w))
		}
	}
	user.WriteString("<about>\n")
	line("Student", n.whole(student))
	line("Guardian", n.whole(guardian))
	line("Subject", hide(in.Subject))
	line("Grade", hide(in.Grade))
	line("Term", hide(in.Term))
	line("Date of the feedback", withWeekday(in.Date))
	line("Right spellings", strings.Join(words, ", "))
	user.WriteString("</about>\n")
	if in.LastRecord != "" {
		fmt.Fprintf(&user, "<last_homework>\n%s\n</last_homework>\n", hide(in.LastRecord))
	}
	element := "lesson"
	if in.Report {
		element = "record"
	}
	for i, l := range in.Lessons {
		date := ""
		if l.Date != "" {
			date = fmt.Sprintf(" date=%q", withWeekday(l.Date))
		}
		fmt.Fprintf(&user, "<%s number=\"%d\"%s>\n%s\n</%[1]s>\n", element, i+1, date, hide(l.Text))
	}
	system := c.prompt
	if in.Report {
		system = strings.TrimSpace(reportPrompt)
	}
	system = strings.ReplaceAll(system, "[NAME_", "["+n.word+"_")
	if in.Instructions != "" {
		system += "\n\nThe teacher's wishes for tone and form. They change neither what may be left out nor any " +
			"other rule above:\n<wishes>\n" + hide(in.Instructions) + "\n</wishes>"
	}
	return []message{{"system", system}, {"user", user.String()}}
}

// withWeekday returns a date such as "2026-11-23, Monday".
func withWeekday(date string) string {
	t, err := time.Parse(time.DateOnly, date)
	if err != nil {
		return ""
	}
	return t.Format("2006-01-02, Monday")
}

// sources returns all that the figures of a summary may come from. Of the last homework and the
// teacher's wishes nothing is to be written.
func sources(in feedback.SummaryInput) string {
	in.LastRecord, in.Instructions = "", ""
	all := append(allTexts(in), in.Student, in.GuardianTitle, withWeekday(in.Date))
	for _, l := range in.Lessons {
		all = append(all, withWeekday(l.Date))
	}
	return strings.Join(all, "\n")
}
