package summary

import (
	"context"
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"lessonkit.example/feedback"
)

func summarize(t testing.TB, lessons ...string) string {
	s, err := Local{}.Summarize(context.Background(), feedback.SummaryInput{Lessons: lessonsOf(lessons...)})
	require.NoError(t, err)
	require.Equal(t, feedback.SummaryLocal, s.Source)
	return s.Text
}

func TestLocal(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"lines get marks and capitals", "today we draw an apple\ni mind the shadow on monday",
			"Today we draw an apple. I mind the shadow on Monday."},
		{"Chinese lines get marks", "今天画苹果\n注意投影", "今天画苹果。注意投影。"},
		{"pauses become commas", "今天我们画了一个苹果 然后画影子", "今天我们画了一个苹果，然后画影子。"},
		{"marks of the script", "今天画苹果,很好看! 你喜欢吗?", "今天画苹果，很好看！你喜欢吗？"},
		{"marks are kept", "We draw. Why? It is 3.5 m (or 4/5), and £5!",
			"We draw. Why? It is 3.5 m (or 4/5), and £5!"},
		{"fillers", "Um, we, uh, played, you know, the minuet.", "We played the minuet."},
		{"Chinese fillers", "嗯，今天呢，那个，我们学了音阶，呃，还有练习曲。", "今天，我们学了音阶，还有练习曲。"},
		{"words that are also fillers", "我喜欢那个曲子。最难的就是那个，不是这个。", "我喜欢那个曲子。最难的就是那个，不是这个。"},
		{"words that are also English fillers", "You know the song. It sounds like a bell. She did well.",
			"You know the song. It sounds like a bell. She did well."},
		{"stutters", "She she was, she was very very good at the the end.", "She was very very good at the end."},
		{"Chinese stutters", "左手，他他他左手的伴奏很好很好，慢慢地弹。", "左手，他左手的伴奏很好很好，慢慢地弹。"},
		{"words that repeat a syllable", "爸爸妈妈天天看看，正在在家学会会计。", "爸爸妈妈天天看看，正在在家学会会计。"},
		{"a false start", "She was the, she played it well.", "She played it well."},
		{"a day", "It is on Thursday, no, Friday.", "It is on Friday."},
		{"a day without marks", "星期四不对星期五演出", "星期五演出。"},
		{"a number", "Play page 12, sorry, page 14.", "Play page 14."},
		{"across sentences", "We saw 12 birds. No wait, 14 birds.", "We saw 14 birds."},
		{"only the start", "她弹了五遍，不对，六遍。", "她弹了六遍。"},
		{"the rest stays", "She plays it ten times, no, five.", "She plays it five times."},
		{"no repetition", "不要只动手腕，只动手腕线条会抖。Lift the bow, the bow is heavy.",
			"不要只动手腕，只动手腕线条会抖。Lift the bow, the bow is heavy."},
		{"a negation", "这里弹三拍，不是四拍。能吸的打勾，不能吸的打叉。", "这里弹三拍，不是四拍。能吸的打勾，不能吸的打叉。"},
		{"no correction", "Did he practise? No, he was ill. 手型不对，手腕要放松。",
			"Did he practise? No, he was ill. 手型不对，手腕要放松。"},
		{"what it is not, and is", "在二楼的203，不是三楼，二楼。", "在二楼的203，不是三楼，二楼。"},
		{"what it is not, said again", "我们用的油画棒，啊不是油画棒，丙烯颜料。", "我们用的丙烯颜料。"},
		{"a number after 不", "他弹了八十遍，不八十五遍。", "他弹了八十五遍。"},
		{"a number that is none", "我们说好了，不一样的地方再练。", "我们说好了，不一样的地方再练。"},
		{"a square", "He saw a fork with the knight on d5, no, on c7.", "He saw a fork with the knight on c7."},
		{"a possessive", "Saturday's match, sorry, Sunday's match is away.", "Sunday's match is away."},
		{"a person, without marks", "you can get them from lucy no from helen at the desk",
			"You can get them from helen at the desk."},
		{"what it is not, without marks", "we played something by haydn no not haydn mozart and it went well",
			"We played something by mozart and it went well."},
		{"a number said again and finished", "The fees go up to thirty, thirty, thirty-two pounds.",
			"The fees go up to thirty-two pounds."},
		{"a name said again", "Carla, uh, Carla served well.", "Carla served well."},
		{"a colour", "蓝色到紫色，不是，粉红色的过渡很自然。", "蓝色到粉红色的过渡很自然。"},
		{"a unit of its own", "左腿还差一拳，不，两指的距离。", "左腿还差两指的距离。"},
		{"an amount after a hesitation", "倒计时三十秒，呃，六十秒。", "倒计时六十秒。"},
		{"wrong ones are no correction", "对了十一道，错了四道。", "对了十一道，错了四道。"},
		{"no comma where a filler was",
			"poppy um was a bit scared and different um colours helped her a lot today i think so",
			"Poppy was a bit scared and different colours helped her a lot today I think so."},
		{"withdrawn", "She sang. He was lazy, scratch that. They danced.", "She sang. They danced."},
		{"the clause before is not written", "他学了音阶，他妈妈病了，这个不要写。", "他学了音阶。"},
		{"the sentence before is not written", "She sang. He cried. Don't write that.", "She sang."},
		{"what follows is not written", "Off the record, he cried all day. She sang.", "She sang."},
		{"an exercise is not to be written", "这个字不要写得太大。", "这个字不要写得太大。"},
		{"to others", "She sang. Sit down please, Tom, not you. 等一下我接个电话。", "She sang."},
		{"nothing else", "Okay.", "Okay."},
		{"to the recorder", "She sang. I think that's it. Okay, stop. 好，就这样，拜拜。", "She sang."},
		{"said twice", "Mind the shadow. We draw.\nmind the shadow!", "Mind the shadow. We draw."},
		{"the frame", "下节课改到周五。她唱了歌。回家每天练十遍。", "她唱了歌。\n\n回家每天练十遍。\n\n下节课改到周五。"},
		{"the English frame", "There is no lesson on Friday. For homework, page 3. She sang, and please bring a hat.",
			"She sang.\n\nFor homework, page 3.\n\nThere is no lesson on Friday. Please bring a hat."},
		{"past homework is no homework", "我们检查了上周的作业。She did her homework.", "我们检查了上周的作业。She did her homework."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, summarize(t, c.in))
		})
	}
}

func TestNotToBeWritten(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"withdrawn twice", "She sang. He cried in the hall, scratch that, don't put that in the note. They danced.",
			"She sang. They danced."},
		{"withdrawn twice, the other way round", "She sang. He cried. Don't write that, scratch that. They danced.",
			"She sang. They danced."},
		{"withdrawn twice in Chinese", "他学了音阶。他妈妈病了，刚才那句删掉，这个不要写。他很认真。", "他学了音阶。他很认真。"},
		{"a sentence of its own", "Her grandmother died. Obviously not for the report. We played two duets.",
			"We played two duets."},
		{"to be cut", "I had a headache. You can cut that. We read chapter four.", "We read chapter four."},
		{"without marks", "we did scales her mum is getting divorced don't write that he served really well after",
			"We did scales. He served really well after."},
		{"reported speech",
			"we played two pieces he told me his dad lost his job please don't put that in he played well",
			"We played two pieces. He played well."},
		{"a reason",
			"we worked on the backhand he cried because his cat died please don't write that it was a hard day",
			"We worked on the backhand. It was a hard day."},
		{"between us", "her mum told me they might move to france that's between us she did well", "She did well."},
		{"a line of its own", "we did scales and then she told me her dad lost his job\ndon't write that",
			"We did scales."},
		{"what follows without marks",
			"don't write this but i think her dad does her homework anyway we read page two",
			"We read page two."},
		{"beside an aside", "we talked\nhey guys keep it down please\noff the record her brother was distracting her",
			"We talked."},
		{"Chinese without marks", "今天练了音阶他爸妈最近在闹离婚这句不要写进去他练得很认真", "今天练了音阶。他练得很认真。"},
		{"Chinese reported speech", "孩子今天状态不太好他妈妈说他爸爸住院了这个你别写练习了第二首曲子",
			"孩子今天状态不太好。练习了第二首曲子。"},
		{"not to be told", "他今天哭了 别跟家长说 后来弹得很好", "后来弹得很好。"},
		{"not to be told, before", "这个不要告诉他妈妈 他今天哭了 后来弹得很好", "后来弹得很好。"},
		{"a hesitation before it", "we did the fill at seventy his dad's apparently selling the kit but uh don't " +
			"put that in there oh and reading is going well", "We did the fill at seventy. Reading is going well."},
		{"please, and why", "She sang. Her gran tells me there's been trouble at home. Oh, don't put that in, " +
			"please, that's private.", "She sang."},
		{"what is done instead", "She sang. Their mother still owes me. Ah, don't put that in, I will call her.",
			"She sang."},
		{"a topic before it", "他很认真。他爸上回那学费，得，这个您别往里写，我自个儿找他去。", "他很认真。"},
		{"an exercise", "please don't write it in pen\ndon't write too fast",
			"Please don't write it in pen. Don't write too fast."},
		{"a finger", "we talked about quavers and don't put that finger down too early",
			"We talked about quavers and don't put that finger down too early."},
		{"a Chinese exercise", "她写字的时候这个点不要写出格\n这个音不要写错", "她写字的时候这个点不要写出格。这个音不要写错。"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := feedback.SummaryInput{Lessons: []feedback.SummaryLesson{{Text: c.in}}}
			s, err := Local{}.Summarize(t.Context(), in)
			require.NoError(t, err)
			require.Equal(t, c.want, s.Text)
		})
	}
}

func TestInterruptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"before thanks", "She sang. Balls off that wall, please! Thank you. She danced.", "She sang. She danced."},
		{"before the note goes on", "他弹了琴。嘿，谁家狗啊？出去出去！我接着说，他很认真。", "他弹了琴。他很认真。"},
		{"pet names", "She sang. Sweetheart, shoes go on the rack. She danced.", "She sang. She danced."},
		{"a group", "She sang. No phones in the pool area, boys. She danced.", "She sang. She danced."},
		{"pet names without marks", "we sang two songs and then he drummed the beat on the big table " +
			"no buddy not those sticks the ones on the shelf yeah he asked for a song by the band he likes",
			"We sang two songs and then he drummed the beat on the big table. He asked for a song by the " +
				"band he likes."},
		{"a parent at the door", "他蹬腿有力多了。那位家长，这边不能拍照。换气还不太好。", "他蹬腿有力多了。换气还不太好。"},
		{"pauses", "他蹬腿有力多了 你先去换衣服 我马上来 换气还不太好", "他蹬腿有力多了，换气还不太好。"},
		{"thanks for a good lesson",
			"She sang well. Great work today! Thank you.", "She sang well. Great work today!"},
		{"an exercise",
			"Mind the shadow. Watch the beat. Thank you. She sang.", "Mind the shadow. Watch the beat. She sang."},
		{"asked of the family",
			"She sang. Please don't be late. Thank you. Please don't bring food, sorry, only water.",
			"She sang. Please don't be late. Please don't bring food only water."},
		{"to the family", "She sang. You can hear how she improved. He said sorry. We went on.",
			"She sang. You can hear how she improved. He said sorry. We went on."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, summarize(t, c.in))
		})
	}
}

func TestHomeworkOfSeveralLessonsComesOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, "She sang.\n\nShe danced.\n\nFor homework, page 3.",
		summarize(t, "She sang. For homework, page 3.", "For homework, page 3. She danced."))
}

func TestTranscriptsWithoutWordsAreAnError(t *testing.T) {
	t.Parallel()
	for _, in := range [][]string{nil, {""}, {" \n", "[Music]", "……"}} {
		_, err := Local{}.Summarize(t.Context(), feedback.SummaryInput{Lessons: lessonsOf(in...)})
		require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
	}
}

func TestCancelledContextEndsTheWork(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Local{}.Summarize(ctx, feedback.SummaryInput{Lessons: lessonsOf("some words")})
	require.ErrorIs(t, err, context.Canceled)
}

func TestLongLessonsLoseOnlyWhatIsNamed(t *testing.T) {
	t.Parallel()
	var lesson strings.Builder
	for i := range 100 {
		lesson.WriteString("We drew an apple and a p" + strings.Repeat("e", i%20+1) + "r of " +
			strings.Repeat("o", i/20+1) + ". ")
	}
	kept := []string{"On Friday she sang.", "It took 25 minutes.", "Homework is the blue book.", "Please bring a hat."}
	s, err := Local{}.Summarize(t.Context(), feedback.SummaryInput{
		Lessons: lessonsOf("She came. " + lesson.String() + strings.Join(kept, " ")),
	})
	require.NoError(t, err)
	require.LessOrEqual(t, countWords(s.Text), 600)
	require.Greater(t, countWords(s.Text), 550)
	require.True(t, strings.HasPrefix(s.Text, "She came."))
	for _, k := range kept {
		require.Contains(t, s.Text, k)
	}
	require.Equal(t, []feedback.SummaryWarning{feedback.WarningShortened}, s.WarningCodes)
	require.Contains(t, s.Warning, "were left out:\n- We drew an apple")
}

// digits returns the digits of s.
func digits(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsDigit(r) {
			return r
		}
		return -1
	}, s)
}

// FuzzLocal checks that a text has no digit that was not said, and that numbers alone are all kept.
func FuzzLocal(f *testing.F) {
	f.Add("um at 4, no, at 5: page 12 to 14")
	f.Add("嗯第3页，不对，第4页\n回家练10遍")
	f.Add("1, 2. 3 no 4\n五不对六。p.m. J. 3.5… “好。” [x")
	f.Fuzz(func(t *testing.T, in string) {
		text, left, err := Local{}.text(context.Background(), []string{in}, nil)
		if err != nil {
			return
		}
		require.Empty(t, left)
		if strings.Trim(in, "0123456789 ") == "" { // nothing corrects them
			require.Equal(t, digits(in), digits(text))
		}
		said := map[rune]int{}
		for _, r := range digits(in) {
			said[r]++
		}
		for _, r := range digits(text) {
			said[r]--
			require.GreaterOrEqual(t, said[r], 0, "%q is not in %q", r, in)
		}
	})
}

func TestHoursWithoutMarks(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"um we we played page 12 no page 14 you know and ", "我们我们练了十二遍不对十四遍然后",
		"page 12, no, ", "他说，这个不要写，"} {
		_, _, err := Local{}.text(t.Context(), []string{strings.Repeat(s, 50_000/len(s))}, nil)
		require.NoError(t, err)
	}
}
