package summary

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
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
		{"a long sentence between marks stays whole", "She sang the first song. So we recorded the Handel today and " +
			"when she listened back she could hear herself that the runs were going flat towards the end.",
			"She sang the first song. So we recorded the Handel today and when she listened back she could hear " +
				"herself that the runs were going flat towards the end."},
		{"pauses become commas", "今天我们画了一个苹果 然后画影子", "今天我们画了一个苹果，然后画影子。"},
		{"marks of the script", "今天画苹果,很好看! 你喜欢吗?", "今天画苹果，很好看！你喜欢吗？"},
		{"marks are kept", "We draw. Why? It is 3.5 m (or 4/5), and £5!",
			"We draw. Why? It is 3.5 m (or 4/5), and £5!"},
		{"words that end alike are no stutters", "比如如果他弹得快，手就紧。脚跟跟着脚尖走。", "比如如果他弹得快，手就紧。脚跟跟着脚尖走。"},
		{"a stutter", "如如果他弹得快，手就紧。", "如果他弹得快，手就紧。"},
		{"a hesitation before a date on which someone is away", "I'll be away next Friday, um, the 12th.",
			"I'll be away next Friday, the 12th."},
		{"an amount stays with what it belongs to",
			"For homework, scales. Ten minutes a day. Then sight reading. Ten minutes a day.",
			"For homework, scales. Ten minutes a day. Then sight reading. Ten minutes a day."},
		{"an amount said twice", "For homework, scales. Ten minutes a day. Ten minutes a day.",
			"For homework, scales. Ten minutes a day."},
		{"trouble of others takes nothing from a request",
			"Her parents are splitting up, keep that between us. Boys, stop fighting! We did bars 5 to 9.",
			"We did bars 5 to 9."},
		{"a request in traditional characters", "他爸爸失業了，這個不要告訴媽媽。音階彈得很好。", "音階彈得很好。"},
		{"a holiday", "the christmas concert is in monday's lesson", "The Christmas concert is in Monday's lesson."},
		{"no comma where a filler was", "Um, we, uh, played, you know, the minuet.", "We played the minuet."},
		{"a comma where a Chinese filler was", "嗯，今天呢，那个，我们学了音阶，呃，还有练习曲。", "今天，我们学了音阶，还有练习曲。"},
		{"a comma after a statement that ends with 的", "这是要判负的，嗯，算犯规，第二次判负。他弹的，嗯，第二首很好。",
			"这是要判负的，算犯规，第二次判负。他弹的第二首很好。"},
		{"a correction across sentences", "We saw 12 birds. No wait, 14 birds.", "We saw 14 birds."},
		{"a time is corrected whole", "The exam is at ten past two, no, twenty to three, at the chapel.",
			"The exam is at twenty to three, at the chapel."},
		{"a Chinese time is corrected whole", "五十米计时一分零五，不对，五十八秒，头一回进一分钟。",
			"五十米计时五十八秒，头一回进一分钟。"},
		{"what goes on after what is corrected stays",
			"She practises ten minutes every day, no, fifteen. Her left hand is late, sorry, her right hand.",
			"Her right hand is late.\n\nShe practises fifteen minutes every day."},
		{"it stays in Chinese", "她左手有点慢，不对，右手。材料费两百块钱，下周交，不对，三百。", "她右手有点慢。\n\n材料费三百块钱，下周交。"},
		{"it stays without marks",
			"she swam four lengths without stopping no five lengths", "She swam five lengths without stopping."},
		{"a repair ends with its clause", "The fee is 30 pounds for the term, sorry, 35, and the hall is open.",
			"The fee is 35 pounds for the term, and the hall is open."},
		{"what goes on is said again", "Learn eight bars by heart, no, twelve bars, by heart.",
			"Learn twelve bars, by heart."},
		{"of two the second is corrected", "Homework is exercises one to four, no, one to six. Use B and C, no, D.",
			"Homework is exercises one to six. Use B and D."},
		{"of an amount or date nothing stays",
			"We start at half past four, no, five. He came on Monday the 4th, sorry, Tuesday.",
			"We start at five. He came on Tuesday."},
		{"a part of a score is the first number", "He got eight out of ten, no, nine.", "He got nine out of ten."},
		{"what is negated is no correction", "左手不对，右手很好。第三题不对，第四题也不对。不是周三，是周四上课。",
			"左手不对，右手很好。第三题不对，第四题也不对。\n\n不是周三，是周四上课。"},
		{"what a time or a place is not is no correction",
			"晚上七点二十上课，不是七点半，因为后面还有一节。训练在二号馆，不是一号馆，一号馆有比赛。他考第一到第三单元，不是前四单元，第四单元没学。",
			"他考第一到第三单元，不是前四单元，第四单元没学。\n\n晚上七点二十上课，不是七点半，因为后面还有一节。训练在二号馆，不是一号馆，" +
				"一号馆有比赛。"},
		{"nor is one of two sides", "他只练左手，右手先放着。错题写在左边右边写原因。", "他只练左手，右手先放着。错题写在左边右边写原因。"},
		{"nor who is spoken of before", "请您不要在旁边催他，他一急就会乱。", "请您不要在旁边催他，他一急就会乱。"},
		{"a figure is corrected also where its clause goes on", "他弹得很好。周六上午九点，我说错了，是十点在少年宫集合。",
			"他弹得很好。\n\n周六上午十点在少年宫集合。"},
		{"none is no correction", "Two were ill on Monday, no lessons were on Tuesday. The bus waits for no one.",
			"Two were ill on Monday, no lessons were on Tuesday. The bus waits for no one."},
		{"numbers that belong together are not corrections",
			"call time is 6 30 at the gate, and she practises for forty five minutes",
			"Call time is 6 30 at the gate, and she practises for forty five minutes."},
		{"figures in a row stay", "she scored 7 12 7 12 and 0 000", "She scored 7 12 7 12 and 0 000."},
		{"the end of a range is not corrected without a word that says so",
			"作业是课本第四十六页，一到八题，不对，一到六题，七八题不用做。",
			"作业是课本第四十六页，一到六题，七八题不用做。"},
		{"what is only said in between stays",
			"The dress rehearsal is Saturday the nineteenth, no, the show is Saturday the nineteenth, the dress " +
				"rehearsal is Friday the eighteenth at five.",
			"The show is Saturday the nineteenth, the dress rehearsal is Friday the eighteenth at five."},
		{"a date is corrected whole",
			"We have the test on Thursday the third of December, no wait, that's Friday, Friday the fourth, at nine.",
			"We have the test on Friday the fourth of December, at nine."},
		{"sorry goes with the correction before it",
			"She knows the first thirty-two counts, no, the first forty-eight counts, sorry, and she only gets lost " +
				"at the end.",
			"She knows the first forty-eight counts, and she only gets lost at the end."},
		{"the nearest figure of a kind is corrected",
			"We did page two, three times slowly, no, four times, and once at speed.",
			"We did page two, four times slowly, and once at speed."},
		{"a month stays", "不要一口气练，歇一下。二月六号，不对，七号有一场音乐会。", "不要一口气练，歇一下。\n\n二月七号有一场音乐会。"},
		{"sentences are not joined",
			"Rest on the day before the concert. And the concert is on Sunday the fifth, no, the sixth, at three.",
			"Rest on the day before the concert. The concert is on Sunday the sixth, at three."},
		{"numbers of a list stay", "We began a fill, four on the snare, four on the small tom, four on the big one.",
			"We began a fill, four on the snare, four on the small tom, four on the big one."},
		{"what it is about stays", "The party is on the, it's on the bank holiday. He shook hands and lost six four.",
			"He shook hands and lost six four.\n\nThe party is on the bank holiday."},
		{"a student who does not like to write does not ask for anything",
			"他不太愿意写注释，他说他记得住。结尾她写了太多，我让她删掉了。",
			"他不太愿意写注释，他说他记得住。结尾她写了太多，我让她删掉了。"},
		{"what it was said by goes with it", "颜色用黑色，我记错了，是红色。", "颜色用红色。"},
		{"a word that continues goes where the next clause does", "学费一千二，麻烦十号之前交一下，还有，他最近总是迟到五分钟。",
			"还有，他最近总是迟到五分钟。\n\n学费一千二，麻烦十号之前交一下。"},
		{"hesitations go, if they are not spoken of",
			"We started with the scale, both hands together, and she's, uh, much more even. The word um is banned.",
			"We started with the scale, both hands together, and she's much more even. The word um is banned."},
		{"what opens and closes a note goes",
			"Hi, this is a note about today. Hello. We did twenty sums. Okay, that's all for today. Bye for now.",
			"We did twenty sums."},
		{"what opens and closes it goes in Chinese", "嗯，我来说说今天的课。我们做了二十道题，今天的课没了。今天就先说到这里吧。",
			"我们做了二十道题，今天的课没了。"},
		{"what says when it ends stays", "The concert was long. That was on Friday. That's all of page nine.",
			"The concert was long. That was on Friday. That's all of page nine."},
		{"a spoken time is one, and what is not yet so no correction",
			"the bus is at nine oh five and the fare is fourteen pounds sixty she's dry in the mornings not yet in " +
				"the afternoons so she'll need a packed lunch",
			"The bus is at nine oh five, and the fare is fourteen pounds sixty. She's dry in the mornings not yet " +
				"in the afternoons, so she'll need a packed lunch."},
		{"talk to others goes where there are no marks",
			"max's stool is too high so drop it two holes does anyone want this coffee no suit yourself concert is " +
				"the fourth of july",
			"Max's stool is too high so drop it two holes.\n\nConcert is the fourth of July."},
		{"also to a dog",
			"sorry the dog's got my sock drop it drop it good girl the hire is going up from nine pounds to eleven " +
				"a month from february",
			"The hire is going up from nine pounds to eleven a month from February."},
		{"also at the start", "oi leave the corner flags alone the semi-final's on the twenty eighth",
			"The semi-final's on the twenty eighth."},
		{"days stay together",
			"he wasn't happy with his portrait he binned it I've rescued it the hall's being decorated so on the " +
				"eighteenth and the twenty fifth we're in the library annexe and not on the first of march at all",
			"He wasn't happy with his portrait, he binned it, I've rescued it, the hall's being decorated, so on " +
				"the eighteenth and the twenty fifth, we're in the library annexe and not on the first of March " +
				"at all."},
		{"stutters go", "She she's late. 他他他的手腕放松了，然后然后在在第三小节抢拍，慢慢来，看看谱子。",
			"She's late. 他的手腕放松了，然后在第三小节抢拍，慢慢来，看看谱子。"},
		{"nothing ends within a number",
			"the mock test is on the twenty third of may and the fee for the booklet is fifteen pounds and a bit",
			"The mock test is on the twenty third of May, and the fee for the booklet is fifteen pounds, and a bit."},
		{"what is to be done after a request within a clause stays",
			"今天练了把杆。她的一位脚站得稳，我说得重了一点她就哭了，这句掐掉请今晚给她剪一下指甲。",
			"今天练了把杆。请今晚给她剪一下指甲。"},
		{"a request as it is said in Taiwan", "他拉了斷奏。他阿公滿身酒味，這個不要打進去。下次帶譜。", "他拉了斷奏。下次帶譜。"},
		{"what a parent is asked to do is no filler", "他拉了断奏回家每天睡前看绘本让他说三句话您记录下来",
			"他拉了断奏。\n\n回家每天睡前看绘本让他说三句话，您记录下来。"},
		{"a request may speak of what follows", "他明暗分得清楚。接下来这段不要给家长看，他没什么天赋，家长逼的。下次带围裙。",
			"他明暗分得清楚。下次带围裙。"},
		{"a sentence ends where words are not to be written",
			"we did scales her mum is getting divorced don't write that he served really well after",
			"We did scales. He served really well after."},
		{"a request takes no figures before it where there are no marks",
			"乐队夏令营是二十八号到三十号 订金五百 一号之前交 我觉得他是声部里最弱的 这话就咱们俩知道 还有请买活塞油",
			"乐队夏令营是二十八号到三十号，订金五百，一号之前交。还有请买活塞油。"},
		{"both at the start corrects nothing", "Um, both s and sh were good.", "Both s and sh were good."},
		{"an order goes with the clause that is not to be written",
			"She sang. Bring the medication that his doctor has prescribed. Don't write that down.", "She sang."},
		{"a request takes no price of something else before it where there are no marks",
			"boots are four pounds I told his mum about the row so leave that out next lesson is on monday",
			"Boots are four pounds. Next lesson is on Monday."},
		{"nor a price before a statement without marks that it is about",
			"badge is three pounds twenty I gave his mum my mobile and I shouldn't have so leave that out next " +
				"block is fifty eight pounds for ten",
			"Badge is three pounds twenty. Next block is fifty eight pounds for ten."},
		{"a notice in a sentence of its own is not between us, what follows it is",
			"We did scales. Remember the concert is on Saturday the fifth at three. Between you and me I think " +
				"she's tired. Next week's lesson moves to Sunday at nine thirty. His parents are divorcing. " +
				"Okay that's it.",
			"We did scales.\n\nRemember the concert is on Saturday the fifth at three. Next week's lesson moves to " +
				"Sunday at nine thirty."},
		{"of that sentence, too, no clause on something else",
			"We did scales. Remember the concert is on Saturday the fifth at three. Between you and me I think " +
				"she's tired. Next week's lesson moves to Sunday, his parents are divorcing.",
			"We did scales.\n\nRemember the concert is on Saturday the fifth at three. Next week's lesson moves to " +
				"Sunday."},
		{"nor one of how somebody is",
			"We did scales. Remember the concert is on Saturday the fifth at three. Between you and me I think " +
				"she's tired. Practice is too hard for Emma.",
			"We did scales.\n\nRemember the concert is on Saturday the fifth at three."},
		{"no word stays of the second sentence that is between us",
			"Remember the concert is on Saturday at three. Between you and me I think she's tired. Lessons are too " +
				"much for her.", "Remember the concert is on Saturday at three."},
		{"a sentence ends after a request where there are no marks",
			"the deposit is due on the first i'd say he's the weakest but that's between us and could you buy oil",
			"The deposit is due on the first. Could you buy oil."},
		{"a clause stays with the notice that speaks of it",
			"She played well. Her strap is gone, she needs a new one.",
			"She played well.\n\nHer strap is gone, she needs a new one."},
		{"when something is to be done stays with it",
			"She played well. Please have her skates sharpened, 7/16, before the test on the 19th.",
			"She played well.\n\nPlease have her skates sharpened, 7/16, before the test on the 19th."},
		{"what a note is of is no aside", "Judo, Adam. She throws well now.", "Judo, Adam. She throws well now."},
		{"whom it is of is no call", "嗯，小贝，游泳四级。她游了五趟。", "小贝，游泳四级。她游了五趟。"},
		{"a colon connects", "She played well. Theory test: book it for the middle of March.",
			"She played well.\n\nTheory test: book it for the middle of March."},
		{"what a note is of comes first", "周六上午的素描课，俊俊。罐子画完了。请穿旧衣服。", "周六上午的素描课，俊俊。罐子画完了。\n\n请穿旧衣服。"},
		{"a time is read on after a date", "His exam is Friday the 27th at two oh five at the church.",
			"His exam is Friday the 27th at two oh five at the church."},
		{"a year is read on", "She was born in nineteen forty-five, in Leeds.",
			"She was born in nineteen forty-five, in Leeds."},
		{"ones are no number", "He needs pyjamas, old ones, not a onesie. The badge is £3.50, cash only.",
			"He needs pyjamas, old ones, not a onesie. The badge is £3.50, cash only."},
		{"what is done then is no correction", "He stayed for nine minutes, then twelve, then nine again.",
			"He stayed for nine minutes, then twelve, then nine again."},
		{"an ordinal is corrected without marks",
			"the concert is on the fifteenth no sorry sixteenth at seven in the hall",
			"The concert is on the sixteenth at seven in the hall."},
		{"a day that it is not on corrects nothing", "The feis is on the 30th, not the 31st as it says on the poster.",
			"The feis is on the 30th, not the 31st as it says on the poster."},
		{"what is said again after not is corrected",
			"The match is Saturday the 8th, at the library, no, not the library, at the hall.",
			"The match is Saturday the 8th, at the hall."},
		{"what goes on after not is more than not", "It's on Tuesday, well, not Tuesday always, but mostly.",
			"It's on Tuesday, well, not Tuesday always, but mostly."},
		{"a time after a day is corrected alone", "The next lesson is the 16th, at four, no, quarter past four.",
			"The next lesson is the 16th, at quarter past four."},
		{"a price after a day, too",
			"There's a trip on the 22nd. It's £8, hang on, I've got the letter here, £9.50. It's £9.50.",
			"There's a trip on the 22nd. It's £9.50."},
		{"a noise corrects no day", "I'm away from the 12th, from the 12th to the 26th, so the next session's the " +
			"29th. Sorry, that was the buzzer.",
			"I'm away from the 12th to the 26th, so the next session's the 29th."},
		{"how often is said of each thing",
			"Every day first speed, four times, second speed, two times, third speed not.",
			"Every day first speed, four times, second speed, two times, third speed not."},
		{"numbers of two words are of a list, too",
			"she breathes in the middle of measure nine measure twenty two and measure thirty",
			"She breathes in the middle of measure nine measure twenty two and measure thirty."},
		{"what is not so corrects nothing",
			"The show's at 2 and 5. She's in the 2 o'clock, not the 5 o'clock. She did well.",
			"The show's at 2 and 5. She's in the 2 o'clock, not the 5 o'clock. She did well."},
		{"prices for whom stay", "the tickets are five pounds three pounds for children and free for under fives " +
			"they go on sale in the office on Friday",
			"The tickets are five pounds, three pounds for children, and free for " +
				"under fives. They go on sale in the office on Friday."},
		{"not to write at length asks for nothing",
			"I'm not going to write a long report this time, she's fine, she's happy. She's made a friend.",
			"I'm not going to write a long report this time, she's fine, she's happy. She's made a friend."},
		{"a request may be about what comes before", "We did scales. And that's for my eyes only. She sang well.",
			"She sang well."},
		{"a hesitation takes no word with it", "She keeps the bow on the right side, which, um, is the main thing.",
			"She keeps the bow on the right side, which is the main thing."},
		{"what needs no writing is homework, too", "他读得好。生字表这个不用写但要会认。练习册那个不用写下次课上一起做。",
			"他读得好。生字表这个不用写但要会认。\n\n练习册那个不用写下次课上一起做。"},
		{"what a teacher mends is no secret", "She played. The A string is flat, I'll sort that, so leave it.",
			"She played. The A string is flat."},
		{"a word between quotes is no hesitation", `He says "liang dian", not "er dian", very good.`,
			`He says "liang dian", not "er dian", very good.`},
		{"nothing else", "Okay.", "Okay."},
		{"said twice", "Mind the shadow. We draw.\nmind the shadow!", "Mind the shadow. We draw."},
		{"the frame", "下节课改到周五。她唱了歌。回家每天练十遍。", "她唱了歌。\n\n回家每天练十遍。\n\n下节课改到周五。"},
		{"when homework is due stays with it",
			"他唱了歌。作业是太极四章，让爸爸拍一段发群里，周日晚上8点前。5月2号升蓝带，考试费200。报名费200，周五前交。",
			"他唱了歌。\n\n作业是太极四章，让爸爸拍一段发群里，周日晚上8点前。\n\n5月2号升蓝带，考试费200。报名费200，周五前交。"},
		{"when it is due in a sentence of its own, too", "他唱了歌。作业有三样：抄词语两遍；口算一页；讲一个故事。下周一交。周三停课。",
			"他唱了歌。\n\n作业有三样：抄词语两遍；口算一页；讲一个故事。下周一交。\n\n周三停课。"},
		{"what counts things stays with them", "他唱了歌。第一，十二月二十号彩排，请带红绸、扇子、舞鞋，三样。",
			"他唱了歌。\n\n第一，十二月二十号彩排，请带红绸、扇子、舞鞋，三样。"},
		{"how it is not to be done stays with it, too", "作业是P1422，周五晚9点截止，别抄题解。周六停课。",
			"作业是P1422，周五晚9点截止，别抄题解。\n\n周六停课。"},
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

func TestHomeworkOfSeveralLessonsComesOnce(t *testing.T) {
	t.Parallel()
	require.Equal(t, "She sang.\n\nShe danced.\n\nFor homework, page 3.",
		summarize(t, "She sang. For homework, page 3.", "For homework, page 3. She danced."))
}

func TestTranscriptsWithoutWordsAreAnError(t *testing.T) {
	t.Parallel()
	chat, _ := newChat(t, ChatConfig{}) // nothing is sent
	for _, in := range [][]string{nil, {""}, {" \n", "[Music]", "……"}, {"♪"}} {
		for _, s := range []feedback.Summarizer{Local{}, chat} {
			for _, report := range []bool{false, true} {
				_, err := s.Summarize(t.Context(), feedback.SummaryInput{Lessons: lessonsOf(in...), Report: report})
				require.ErrorIs(t, err, feedback.ErrNothingTranscribed)
			}
		}
	}
}

func TestNothingIsWrittenOfWhatIsAllPrivate(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"Her mum lost her job. Don't write that.", "一月份学费可能要涨，还没定，先别说。"} {
		_, err := Local{}.Summarize(t.Context(), feedback.SummaryInput{Lessons: lessonsOf(s)})
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

// Names get their capital letters, but for those that are also other words.
func TestCapitalsOfNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ student, in, want string }{
		{"Anna and Ben", "today anna sang and ben's drum was loud", "Today Anna sang and Ben's drum was loud."},
		{"Pat O'Brien and Al D'Souza", "today o’brien’s drum and d'souza", "Today O'Brien's drum and D'Souza."},
		{"Pat O’Brien", "today o'brien's drum", "Today O’Brien's drum."},
		{"Will Turner", "today he will practise with turner", "Today he will practise with Turner."},
		{"He You", "today he drew what you see", "Today he drew what you see."},
		{"GROẞ", "today groß sang", "Today GROẞ sang."},
	} {
		s, err := Local{}.Summarize(t.Context(),
			feedback.SummaryInput{Student: c.student, Lessons: lessonsOf(c.in)})
		require.NoError(t, err)
		require.Equal(t, c.want, s.Text)
	}
}

// A request is about the sentence before it, also where a long lesson is divided.
func TestRequestsInLongLessons(t *testing.T) {
	t.Parallel()
	for _, sentences := range []int{497, 498, 499, 500} { // of four words
		in := strings.Repeat("We drew a pear. ", sentences) + "Her parents are splitting up. Keep that between us. "
		words, err := clean(t.Context(), in+strings.Repeat("We drew an apple. ", 10))
		require.NoError(t, err)
		require.NotContains(t, textOf(words), "splitting", sentences)
		require.Contains(t, textOf(words), "an apple", sentences)
	}
}

// A sentence that is longer than what is looked at as a whole is cut, also after a request or a
// number.
func TestWordsBeforeACut(t *testing.T) {
	t.Parallel()
	words := parse("她哭了，这句划掉，周五带琴谱。")[:7]
	drop := slices.Repeat([]reason{unsaid}, len(words))
	obey(newView(words), drop)
	require.Equal(t, slices.Repeat([]reason{unsaid}, len(words)), drop)
	require.NotPanics(t, func() { newView(parse("page five, six lines")[:3]).repairs() })
}

// Counting far takes no more time than other words: it once took hours. Nothing is lost where a
// long lesson is divided.
func TestLongCountsStay(t *testing.T) {
	t.Parallel()
	var in strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&in, "%d, ", i+1)
	}
	words, err := clean(t.Context(), in.String())
	require.NoError(t, err)
	require.Len(t, words, 5000)
	require.Equal(t, "5000", words[4999].text)
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
	require.Contains(t, s.Warning, "were left out (16):\n- We drew an apple")
}

func TestSentencesOfWhichTheModelIsUnsure(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ said, unsure string }{
		{"He sang well. The fee is thirty, the fee is forty pounds.", "The fee is thirty, the fee is forty pounds."},
		{"He has a cold, don't put that in, he was tired. He sang well.", "He was tired."},
		{"今天弹了第三页，第四页。他很认真。", "今天弹了第三页，第四页。"},
		{"他很认真。音乐会是周五，周六下午三点。", "音乐会是周六下午三点。"},
		{"He plays on Monday and Tuesday. Homework is ten minutes a day.", ""},
		{"The concert is on Thursday, no, Friday.", ""},
		{"今天弹了音阶。回家练习三遍。", ""},
	} {
		s, err := Local{}.Summarize(t.Context(), feedback.SummaryInput{Lessons: lessonsOf(c.said)})
		require.NoError(t, err)
		require.Equal(t, c.unsure, strings.Join(s.Unsure, "|"), c.said)
		require.Contains(t, s.Text, c.unsure)
	}
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
	f.Add("7 12 7 12 0 000")
	f.Add("The concert is on Tuesday, is it, is it Wednesday?")
	f.Add("1, 2. 3 no 4\n五不对六。p.m. J. 3.5… “好。” [x")
	f.Fuzz(func(t *testing.T, in string) {
		text, _, left, err := Local{}.text(context.Background(), []string{in}, nil)
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
		"page 12, no, ", "他来了。他说，这个不要写，"} {
		_, _, _, err := Local{}.text(t.Context(), []string{strings.Repeat(s, 50_000/len(s))}, nil)
		require.NoError(t, err)
	}
}

// TestTimeOfRepeatedWords compares with speech of the same size, as a machine may be slow or busy.
func TestTimeOfRepeatedWords(t *testing.T) { // not parallel: other tests would take their time
	const size = 15_000
	took := func(s string) time.Duration {
		least := time.Hour
		for range 2 {
			start := time.Now()
			_, _, _, err := Local{}.text(t.Context(), []string{s}, nil)
			require.NoError(t, err)
			least = min(least, time.Since(start))
		}
		return least
	}
	var speech strings.Builder
	for _, n := range notes(t, "notes") {
		speech.WriteString(strings.Join(n.lessons(), "\n"))
	}
	usual := took(strings.ToValidUTF8(speech.String()[:size], ""))
	for _, s := range []string{
		"好",                   // a clause without end: each word looked at all of it
		"不是",                  // of words such as "no"
		"one two three four ", // a list without end
	} {
		require.Less(t, took(strings.Repeat(s, size/len(s))), 8*usual, s)
	}
}
