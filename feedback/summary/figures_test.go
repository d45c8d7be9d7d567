package summary

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestFiguresOfAnAnswerAreHeldAgainstTheSources(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, source, answer string
		want                 []string
	}{
		{"digits for words", "bars nine to twenty five, a hundred and ten beats, on the third line",
			"Bars 9 to 25, 110 beats, 3rd line.", nil},
		{"words for digits", "11 bars, 40 times, 2 pages", "Eleven bars, forty times, two pages.", nil},
		{"Chinese numerals", "练二十五分钟，一百二十拍，第八课，三四遍，两页，二零二六年", "25分钟，120拍，第8课，3到4遍，2页，2026年", nil},
		{"from digits", "25分钟，3.5页", "二十五分钟，三点五页", nil},
		{"times", "下周四下午三点半，晚上七点一刻", "周四15:30，19:15。", nil},
		{"half past", "on Friday at half past three in the afternoon", "Friday, 3:30 (15:30).", nil},
		{"the twenty-four hours", "15:30 on Mondays", "Monday at 3:30 pm", nil},
		{"they have other marks, too", "15點, 16.30, 17h, 18 点, 19시, twenty fifteen",
			"3 pm, 4, 5, 6, 7, 8:15", nil},
		{"a decimal is no hour", "15.3 pages", "3 of 15", nil},
		{"dates", "on the fifth of December", "5 December; 12月5日", nil},
		{"months as recognisers write them", "on the fifth of december", "5 December", nil},
		{"several weekdays", "周一三五和周六日", "周一、周三、周五，周六、周日。", nil},
		{"they are no numbers", "周一、周三、周五", "周一三五", nil},
		{"a time after a weekday", "周三四点，周二四节课", "周三4点，周二4节课", nil},
		{"groups are no weekdays", "每天100一组，周一三组，周六日语课", "每天100一组，周一3组，周六", nil},
		{"a language is no weekday", "周六日语课", "周日", []string{"周日"}},
		{"another of several weekdays", "周一三五", "周一二五", []string{"二五"}},
		{"times a week", "每周三次", "每周3次", nil},
		{"words that are no figures", "练琴", "十分认真，千万别急，一起唱，一一做到。", nil},
		{"English words that are none", "she plays", "At first she may march, wait a second, one by one.", nil},
		{"no time", "bars 9 to 16", "bars 9 to 16, 4 times", []string{"4"}},
		{"another number", "bars 9 to 24", "Bars 9 to 25.\nGood: twelve.",
			[]string{"25", "twelve"}},
		{"another weekday", "星期四，不，星期五", "周六上课", []string{"周六"}},
		{"another month", "on 5 December", "on 5 November", []string{"November"}},
		{"another Chinese number", "练三十分钟", "练二十分钟", []string{"二十"}},
		{"two numbers of a run are named once", "练几遍", "练三四遍，nine thirty", []string{"三四", "nine thirty"}},
		{"one", "one page, first of all", "1 page", nil},
		{"no one", "some pages at nine", "1 page at 9:00", []string{"1"}},
		{"thousands", "1200 yuan", "1,200 and 1,300 yuan", []string{"1,300"}},
	} {
		var got []string
		for _, f := range lacking(c.answer, valuesIn(c.source)) {
			got = append(got, f.text)
		}
		require.Equal(t, c.want, got, c.name)
	}
}
