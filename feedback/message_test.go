package feedback_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// message returns the message of a new record, which must be that of its session, too.
func (e *env) message(p feedback.Profile, date, text string) string {
	e.t.Helper()
	session, _, err := e.OpenSession(e.t.Context(), e.teacher, feedback.SessionInput{ProfileID: p.ID, Date: &date})
	require.NoError(e.t, err)
	_, err = e.EditSession(e.t.Context(), e.teacher, session.ID, feedback.SessionEdit{FeedbackText: &text})
	require.NoError(e.t, err)
	r, _, err := e.CreateRecord(e.t.Context(), e.teacher, feedback.RecordInput{ProfileID: p.ID, Date: date,
		Content: text, SessionID: uuid.NullUUID{UUID: session.ID, Valid: true}})
	require.NoError(e.t, err)
	got, err := e.RecordMessage(e.t.Context(), e.teacher, r.ID)
	require.NoError(e.t, err)
	written, err := e.SessionMessage(e.t.Context(), e.teacher, session.ID)
	require.NoError(e.t, err)
	require.Equal(e.t, got, written)
	return got
}

func TestMessages(t *testing.T) {
	t.Parallel()
	const zh, en = "今天梓涵练习了 legato，进步很大。", "Emma played 小星星 with both hands."
	e := newEnv(t)
	for name, c := range map[string]struct {
		template, student, guardian, text string // the grade, the subject and the term are empty
		want                              string
	}{
		"Chinese by default": {"", "梓涵", "王女士", zh,
			"王女士您好！以下是梓涵在2026年11月3日的课堂反馈：\n\n" + zh + "\n\n如有任何问题，欢迎随时与我联系。"},
		"Chinese without a guardian": {"", "梓涵", "", zh,
			"您好！以下是梓涵在2026年11月3日的课堂反馈：\n\n" + zh + "\n\n如有任何问题，欢迎随时与我联系。"},
		"English by default": {"", "Emma", "Mrs Brown", en,
			"Dear Mrs Brown,\n\nHere is Emma's lesson feedback for 3 November 2026:\n\n" + en +
				"\n\nPlease get in touch if you have any questions."},
		"English without a guardian": {" \n", "Emma", " ", en,
			"Hello,\n\nHere is Emma's lesson feedback for 3 November 2026:\n\n" + en +
				"\n\nPlease get in touch if you have any questions."},
		"the date is in the language of the template": {"日期：{date}\n{text}", "Emma", "", en, "日期：2026年11月3日\n" + en},
		"else in that of the text":                    {"{date}\n{text}", "Emma", "", en, "3 November 2026\n" + en},
		"nothing is filled in twice": {"{name}: {text}", "{text}", "", "{name} and {grade}, {term}",
			"{text}: {name} and {grade}, {term}"},
		"blanks and Chinese braces":              {"｛ name ｝：{ text}", "梓涵", "", zh, "梓涵：" + zh},
		"a salutation without a name is no line": {"Dear {guardian_title},\n\n{text}", "Emma", "", en, en},
		"one of two people": {"Dear {guardian_title} and {name}:\n{text}", "Emma", "", en,
			"Dear Emma:\n" + en},
		"one of two in Chinese": {"亲爱的{guardian_title}和{name}：\n{text}", "梓涵", "", zh,
			"亲爱的梓涵：\n" + zh},
		"the other of two":             {"{name}和{guardian_title}：\n{text}", "梓涵", "", zh, "梓涵：\n" + zh},
		"与 alone is between two":       {"{name}与{guardian_title}：\n{text}", "梓涵", "", zh, "梓涵：\n" + zh},
		"与 ends a word":                {"感谢您参与{term}的学习。\n{text}", "梓涵", "", zh, "感谢您参与的学习。\n" + zh},
		"以及 is one word":               {"{name}以及{term}\n{text}", "梓涵", "", zh, "梓涵\n" + zh},
		"it may have words of its own": {"{guardian_title}，您好！\n{text}", "梓涵", "", zh, "您好！\n" + zh},
		"a comma at the end of a line": {"{name}, {grade}, {term}\n{text}", "Emma", "", en, "Emma\n" + en},
		"a comma before a full stop":   {"{name}，{grade}。{text}", "梓涵", "", zh, "梓涵。" + zh},
		"two full stops":               {"{name}. Grade: {grade}. Term: {term}. {text}", "Emma", "", "x", "Emma. x"},
		"two commas": {"{name}, {subject}, {date}: {text}", "Emma", "", "x",
			"Emma, 3 November 2026: x"},
		"brackets": {"{name} ({grade}, {term}) on {date}. {text}", "Emma", "", "x",
			"Emma on 3 November 2026. x"},
		"a half-empty bracket": {"({term}, {name}) {text}", "Emma", "", "x", "(Emma) x"},
		"labels": {"{name} · 年级：{grade} · 学期：{term}\n课程：{subject}\n{text}", "梓涵", "",
			zh, "梓涵\n" + zh},
		"labels after blanks": {"学生:{name} 年级:{grade} 学期:{term}\n致{term}：\n{text}", "梓涵", "", zh, "学生:梓涵\n" + zh},
		"no label but words":  {"{name} worked on this: {subject} {text}", "Emma", "", "x", "Emma worked on this: x"},
		"German marks":        {"„{name}“ {grade}: {text}", "Emma", "", "x", "„Emma“: x"},
		"quotation marks":     {"『{term}』“{grade}”〔{term}〕{name}\n{text}", "梓涵", "", zh, "梓涵\n" + zh},
		"one space between words": {"The {subject} lesson in {term}: {text}", "Emma", "", "x",
			"The lesson: x"},
		"blank lines around a line": {"{name}\n\n{term}\n\n{text}", "Emma", "", "x", "Emma\n\nx"},
		"what the teacher wrote stays": {"--- , ---\n{guardian_title}\n1. {text} :-)", "Emma", "G.",
			"a,, b ()\n\n\nc ,",
			"--- , ---\nG.\n1. a,, b ()\n\n\nc , :-)"},
		"Windows line ends": {"{name}\r\n{term}\r\n{text}", "Emma", "", "x", "Emma\r\nx"},
	} {
		p, err := e.CreateProfile(t.Context(), e.teacher, feedback.ProfileInput{Name: c.student,
			GuardianTitle: c.guardian, Grade: new(""), Subject: new("")})
		require.NoError(t, err)
		require.NoError(t, e.SaveDefaults(t.Context(), e.teacher,
			feedback.Defaults{LessonDurationMinutes: 1, MessageTemplate: c.template}), name)
		require.Equal(t, c.want, e.message(p, "2026-11-03", c.text), name)
	}
}

func TestGeneratedTextIsTheMessageUntilTheTeacherWrites(t *testing.T) {
	t.Parallel()
	e := newEnv(t, func(c *feedback.Config) {
		c.Summarizer = fixedSummary("generated")
		c.Defaults = feedback.Defaults{LessonDurationMinutes: 1, MessageTemplate: "Hello!\n{text}"}
	})
	session := e.transcribed().SessionID
	for _, want := range []string{"", "Hello!\ngenerated"} {
		got, err := e.SessionMessage(t.Context(), e.teacher, session)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = e.Generate(t.Context(), e.teacher, session, nil)
		require.NoError(t, err)
	}
}

func TestTemplatesAreValidated(t *testing.T) {
	t.Parallel()
	e := newEnv(t)
	for template, want := range map[string]string{
		"Dear {guardian_title},\n你好 {parent}": "unknown placeholder in line 2 at character 4",
		"{}":                      "line 1 at character 1",
		"{text} {text}":           "{text} again in line 1 at character 8",
		"Dear {guardian_title}":   "lacks {text}",
		"{name":                   "brace that is not closed in line 1 at character 1",
		"｛Name｝":                  "{guardian_title}, {name}, {date}, {subject}, {grade}, {term}, {text}",
		strings.Repeat("字", 2001): "has 2001 characters",
		"\x00":                    "control character",
	} {
		err := e.SaveDefaults(t.Context(), e.teacher,
			feedback.Defaults{LessonDurationMinutes: 1, MessageTemplate: template})
		require.ErrorIs(t, err, feedback.ErrInvalid)
		require.ErrorContains(t, err, "message_template ")
		require.ErrorContains(t, err, want)
		invalid, _ := errors.AsType[*feedback.Error](err)
		require.Equal(t, template == "\x00", invalid.Fields[0].Code == "", template)
	}
	err := e.SaveDefaults(t.Context(), e.teacher,
		feedback.Defaults{LessonDurationMinutes: 1, SummaryInstructions: strings.Repeat("字", 2001)})
	require.ErrorContains(t, err, "summary_instructions has 2001 characters")
	require.NoError(t, e.SaveDefaults(t.Context(), e.teacher, feedback.Defaults{LessonDurationMinutes: 1,
		MessageTemplate: strings.Repeat("字", 1994) + "{text}", SummaryInstructions: strings.Repeat("字", 2000)}))
}
