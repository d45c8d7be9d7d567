package summary

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

// year returns 45 weekly records: what is said of each thing changes in the course of the year, as
// the stages say, divided by "|"; the rest repeats.
func year(stages, once, rest []string) (records []feedback.SummaryLesson) {
	day := time.Date(2025, 9, 1, 0, 0, 0, 0, time.UTC)
	for i := range 45 {
		var text []string
		for j, s := range stages {
			if phases := strings.Split(s, "|"); (i+j)%3 == 0 {
				text = append(text, phases[i*len(phases)/45])
			}
		}
		for _, o := range once {
			if at, said, _ := strings.Cut(o, "|"); at == day.Format("01-02") {
				text = append(text, said)
			}
		}
		text = append(text, rest[i%len(rest)], rest[(i+3)%len(rest)])
		records = append(records,
			feedback.SummaryLesson{Text: strings.Join(text, " "), Date: day.Format(time.DateOnly)})
		day = day.AddDate(0, 0, 7)
	}
	return records
}

func TestReportOfAYearTellsWhatChanged(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		student            string
		stages, once, rest []string
		has, hasNot        []string
	}{
		"en": {
			"Emma",
			[]string{
				"Her bow hold is stiff and the little finger locks.|The bow hold relaxes when she is reminded." +
					"|Her bow hold is round and relaxed, and the little finger stays curved.",
				"The shift to third position is far out of tune.|The shift to third position is nearly in tune." +
					"|She shifts to third position cleanly and in tune.",
				"In sight-reading she stops at every bar.|Sight-reading goes on without stops in easy pieces." +
					"|Sight-reading is fluent, also with accidentals.",
				"She rushes sixteenth notes.|Sixteenth notes are even up to 60.|Sixteenth notes are even at 92.",
			},
			[]string{"12-15|She played in the concert for the first time and was calm.",
				"03-23|Emma passed her grade two exam with merit."},
			[]string{"Homework: page 12, ten minutes a day.", "Please bring the rosin next week.",
				"We laughed a lot today.", "Homework is the scale of G, five times a day.",
				"There is no lesson next Monday.", "She was a bit tired today.", "We tuned the violin together."},
			[]string{
				": Her bow hold is stiff and the little finger locks.", ": Her bow hold is round and relaxed",
				"far out of tune.", ": She shifts to third position cleanly",
				"15 December 2025: She played in the concert for the first time",
				"23 March 2026: Emma passed her grade two exam with merit.",
			},
			[]string{"Homework", "rosin", "no lesson", "page 12"},
		},
		"zh": {
			"梓涵",
			[]string{
				"左手和弦转换很慢，要停下来找键。|左手和弦转换比较连贯了。|左手和弦转换已经很流畅，不用看键盘。",
				"视奏的时候每小节都要停。|简单的曲子视奏可以不停。|视奏很流畅，带升降号的谱子也能读。",
				"手指第一关节老是塌。|手指第一关节偶尔还会塌。|手指第一关节立得很稳。",
				"十六分音符弹得不均匀，容易赶。|十六分音符在六十的速度可以弹匀。|十六分音符在九十二的速度也很均匀。",
			},
			[]string{"12-15|今天她第一次上台演出，表现很镇定。", "03-23|梓涵通过了钢琴二级考级，成绩优秀。"},
			[]string{"作业：第12页每天五遍。", "下周请带节拍器。", "今天课堂气氛很好。", "作业是G大调音阶每天十分钟。",
				"下周一停课一次。", "今天有一点累。", "我们一起听了一段录音。"},
			[]string{
				"：左手和弦转换很慢，要停下来找键。", "：左手和弦转换已经很流畅，不用看键盘。", "：视奏很流畅",
				"2025年12月15日：今天她第一次上台演出，表现很镇定。", "2026年3月23日：梓涵通过了钢琴二级考级，成绩优秀。",
			},
			[]string{"作业", "节拍器", "停课", "第12页"},
		},
	} {
		in := feedback.SummaryInput{Report: true, Student: c.student, Lessons: year(c.stages, c.once, c.rest)}
		s, err := Local{}.Summarize(t.Context(), in)
		require.NoError(t, err)
		t.Logf("%s: %d words\n%s", name, countWords(s.Text), s.Text)
		for _, want := range c.has {
			require.Contains(t, s.Text, want)
		}
		for _, not := range c.hasNot {
			require.NotContains(t, s.Text, not)
		}
		require.Less(t, countWords(s.Text), 400)
		for p := range strings.SplitSeq(s.Text, "\n\n") {
			require.Regexp(t, `^(\d+ \w+ \d{4}: |\d{4}年\d+月\d+日：)`, p)
		}
	}
}

func TestReportsOfFewRecords(t *testing.T) {
	t.Parallel()
	report := func(texts ...string) string {
		in := feedback.SummaryInput{Report: true}
		for i, text := range texts {
			in.Lessons = append(in.Lessons,
				feedback.SummaryLesson{Text: text, Date: "2026-05-0" + string(rune('1'+i))})
		}
		s, err := Local{}.Summarize(t.Context(), in)
		require.NoError(t, err)
		return s.Text
	}
	for want, texts := range map[string][]string{
		"1 May: She painted a pond.":                             {"She painted a pond. Homework: draw a cat."},
		"1 May: Homework: draw a cat.":                           {"Homework: draw a cat."},
		"1 May: She painted a pond.\n3 May: She painted a lake.": {"She painted a pond.", "…", "She painted a lake."},
		"5月1日：她画了池塘。\n5月2日：她画了湖。":                                {"她画了池塘。", "她画了湖。"},
	} {
		require.Equal(t, want, report(texts...))
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Local{}.Summarize(ctx,
		feedback.SummaryInput{Report: true, Lessons: []feedback.SummaryLesson{{Text: "a"}}})
	require.ErrorIs(t, err, context.Canceled)
}
