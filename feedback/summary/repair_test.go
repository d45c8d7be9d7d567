package summary

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCorrections holds what is corrected in speech, by how what is withdrawn and what replaces it
// are alike, with marks and without.
func TestCorrections(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"times with a preposition", "Be there at ten to eleven, no, ten past eleven, please.",
			"Be there at ten past eleven, please."},
		{"half and quarter", "The show starts at half past six, sorry, quarter past six.",
			"The show starts at quarter past six."},
		{"times without marks", "the show starts at half past six no quarter to seven in the hall",
			"The show starts at quarter to seven in the hall."},
		{"Chinese times", "周六上午九点半，不对，十点一刻在门口集合。", "周六上午十点一刻在门口集合。"},
		{"part of the day", "周六上午，说错了，下午三点演出。", "周六下午三点演出。"},
		{"how often", "Ten minutes of typing every day, well, no, three times a week.",
			"Ten minutes of typing three times a week."},
		{"how often, the other way", "He practises twice a week, sorry, every day, before school.",
			"He practises every day, before school."},
		{"how often without marks", "he should practise once a week no every day before school",
			"He should practise every day before school."},
		{"how often in Chinese", "音阶每周三次，不对，每天都要练。", "音阶每天都要练。"},
		{"how often in Chinese, a number more", "跳绳每天两百个，呃不，三百个，分三组。", "跳绳每天三百个，分三组。"},
		{"a remark on it", "Learn the words by next week, no, that's too soon, the end of the month.",
			"Learn the words by the end of the month."},
		{"whose it is", "She played the march, no, that was Tom, the waltz.", "She played the waltz."},
		{"a remark on a day", "The exam is on Monday, no, that's the other group, Tuesday at nine.",
			"The exam is on Tuesday at nine."},
		{"a Chinese remark", "费用是三百，不对，那是去年的，三百五。", "费用是三百五。"},
		{"a Chinese remark, of another", "周四，不对，那是小明的课，周五上课。", "周五上课。"},
		{"a mix-up", "Bring the red book, sorry, I'm mixing them up, the blue book.", "Bring the blue book."},
		{"a Chinese mix-up", "请带红色的本子，哎呀搞错了，蓝色的本子。", "请带蓝色的本子。"},
		{"sides", "The left hand, sorry, the right hand is too loud.", "The right hand is too loud."},
		{"sides without marks", "her left no right hand is too loud", "Her right hand is too loud."},
		{"Chinese sides", "她的左手，不对，右手太重了。", "她的右手太重了。"},
		{"a colour", "She used red, no, orange for the sky.", "She used orange for the sky."},
		{"a colour without marks", "bring the red no the blue folder on monday", "Bring the blue folder on Monday."},
		{"a relation", "Her mum, I mean her grandma, brought her.", "Her grandma, brought her."},
		{"a Chinese relation", "妈妈，不对，奶奶送他来的。", "奶奶送他来的。"},
		{"a thing", "She needs a new bridge, sorry, a new string.", "She needs a new string."},
		{"a thing after an article", "We read the poem, sorry, the story about a fox.",
			"We read the story about a fox."},
		{"a thing after a preposition", "We meet in the hall, I mean the church, at six.", "We meet in the church, at six."},
		{"a thing without its article", "We meet in the hall, no, wait, church at six.", "We meet in the church at six."},
		{"a Chinese thing", "请带一条毛巾，不对，抹布。", "请带一条抹布。"},
		{"a Chinese place", "能踢到胸口，不，头的位置。", "能踢到头的位置。"},
		{"a Chinese place, of another length", "我们在图书馆，哦不，文化宫集合。", "我们在文化宫集合。"},
		{"a Chinese place, corrected in full", "演出在大礼堂，不对不对，在小剧场，七点。", "演出在小剧场，七点。"},
		{"a verb", "She drew, sorry, painted a fox.", "She painted a fox."},
		{"an adjective", "The bow is too tight, no, too loose.", "The bow is too loose."},
		{"an adjective after is", "It was slower, I mean faster than last week.", "It was faster than last week."},
		{"a Chinese adjective", "速度太快了，不是，太慢了。", "速度太慢了。"},
		{"a name", "She played with Anna, sorry, with Hanna.", "She played with Hanna."},
		{"two names", "This is about Hugo and Clara, no, Hugo and Carla.", "This is about Hugo and Carla."},
		{"a date", "The test is on March 2nd, no, hang on, March 9th, at the library.",
			"The test is on March 9th, at the library."},
		{"a date for a day", "The test is on Sunday, actually, the ninth of March.", "The test is on the ninth of March."},
		{"a Chinese date for a day", "考试在下周日，不对，三月九号。", "考试在三月九号。"},
		{"a month", "考级在六月，不是，七月十二号。", "考级在七月十二号。"},
		{"a Chinese day", "准考证我明天，不对，后天发给您。", "准考证我后天发给您。"},
		{"which week", "考级是这周六，啊不，下周六下午两点。", "考级是下周六下午两点。"},
		{"which English week", "There is a test this Friday, no, next Friday.", "There is a test next Friday."},
		{"an amount", "The book costs twelve pounds, correction, fourteen pounds fifty.",
			"The book costs fourteen pounds fifty."},
		{"an amount of cents", "The ticket costs £4, make that £5.50, at the door.", "The ticket costs £5.50, at the door."},
		{"a Chinese amount", "材料费一百二，不对，一百五，下次交。", "材料费一百五，下次交。"},
		{"a page", "Homework is page 12 to 14, sorry, 15 to 17.", "Homework is page 15 to 17."},
		{"a Chinese page", "作业是第十二页到十四页，说错了，第十五页到十七页。", "作业是第十五页到十七页。"},
		{"a unit", "Practise for ten minutes, no, seconds, on each side.", "Practise for ten seconds, on each side."},
		{"a Chinese unit", "每天练三遍，不对，三十分钟。", "每天练三十分钟。"},
		{"a letter", "It starts on an A, no, a B flat.", "It starts on a B flat."},
		{"a key", "We did the scale of D major, sorry, D minor.", "We did the scale of D minor."},
		{"a Chinese key", "我们练了D大调，不对，G大调音阶。", "我们练了G大调音阶。"},
		{"a bar", "从第八小节，哎不对，第九小节开始。", "从第九小节开始。"},
		{"a clause", "He was late, no, he was early.", "He was early."},
		{"a longer clause", "The concert is at the school hall, no wait, it's at the town hall.",
			"The concert is at the town hall."},
		{"twice", "Bring two, no, three, sorry, four pencils.", "Bring four pencils."},
		{"twice in Chinese", "带两支，不对，三支，哎不，四支铅笔。", "带四支铅笔。"},
		{"a preposition said again", "She did it for two, for two of my students.", "She did it for two of my students."},
		{"a number said again", "三指，三指还是偏低。", "三指还是偏低。"},
		{"what is replaced", "Not Thursday, Friday is the lesson.", "Not Thursday, Friday is the lesson."},
		{"a refusal", "He wanted to stop and I said no, not today.", "He wanted to stop and I said no, not today."},
		{"sorry to hear", "She was ill, sorry to hear that.", "She was ill, sorry to hear that."},
		{"a statement after no", "He can rest, no, he does not have to count.",
			"He can rest, no, he does not have to count."},
		{"what is wrong", "节奏不对，要数拍子。他弹错了，重新来。", "节奏不对，要数拍子。他弹错了，重新来。"},
		{"what it is for", "She wants to wait, actually she has to.", "She wants to wait, actually she has to."},
		{"what is not", "用二指，不是一指。我们在二号场，不在一号场。", "用二指，不是一指。我们在二号场，不在一号场。"},
		{"no pens", "Bring a pencil, no pens, and a hat.", "Bring a pencil, no pens, and a hat."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, strings.ReplaceAll(summarize(t, c.in), "\n\n", " "))
		})
	}
}
