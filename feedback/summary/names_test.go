package summary

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"lessonkit.example/feedback/internal/script"
)

func TestNamesAreHidden(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in, want string
		list           []string
	}{
		{"whole and by parts", "Ana Field drew. Well done ana, said Mr Field's pupil.",
			"[NAME_1_1] drew. Well done [NAME_1_2], said Mr [NAME_1_3]'s pupil.", []string{"Ana Field"}},
		{"long names in parts", "阿卜杜热合曼弹得好，สมชาย 弹得好", "[NAME_1_2]弹得好，[NAME_2_2] 弹得好",
			[]string{"阿卜杜热合曼·买买提", "สมชาย ใจดี"}},
		{"not inside words", "Al also calls all", "[NAME_1_1] also calls all", []string{"Al"}},
		{"a name that is a word keeps its case", "Will will draw, may I? May may.",
			"[NAME_1_1] will draw, may I? [NAME_2_1] may.", []string{"Will", "May"}},
		{"Chinese given and short names", "王小明画得好，小明，明明，小明 同学", "[NAME_1_1]画得好，[NAME_1_2]，[NAME_1_3]，[NAME_1_2] 同学",
			[]string{"王小明"}},
		{"a family name with a title", "李老师说李子很甜", "[NAME_1_2]说李子很甜", []string{"李梅"}},
		{"a family name of two characters", "欧阳老师教若兰", "[NAME_1_2]教[NAME_1_3]", []string{"欧阳若兰"}},
		{"the usual family names of two characters", "欧阳同学画得好，欧阳来了，诸葛老师也说", "[NAME_1_2]画得好，[NAME_1_3]来了，[NAME_2_2]也说",
			[]string{"欧阳明", "诸葛亮"}},
		{"not every family name is one of two characters", "王同学来了，王小同学也来了", "[NAME_1_2]来了，王小同学也来了", []string{"王小明"}},
		{"a family name with 小 or 老", "小王和老王来了，小欧阳也来了", "[NAME_1_2]和[NAME_1_3]来了，[NAME_2_2]也来了",
			[]string{"王小明", "欧阳明"}},
		{"common words are not names", "老师说一小时画小马", "老师说一小时画小马", []string{"师明亮", "时光光", "马大力"}},
		{"a part before a word that begins like the other", "Emma likes it, Emma Li likes it",
			"[NAME_1_2] likes it, [NAME_1_1] likes it", []string{"Emma Li"}},
		{"a whole name is its own, also if it is a form of another", "王女士说小明练了", "[NAME_2_1]说[NAME_1_2]练了",
			[]string{"王小明", "王女士"}},
		{"a parent is not the student", "王妈妈说小明练了", "[NAME_2_1]说[NAME_1_2]练了", []string{"王小明", ""}},
		{"the other parent is another person", "王爸爸和王妈妈说小明练了", "[NAME_3_1]和[NAME_2_1]说[NAME_1_2]练了",
			[]string{"王小明", "王妈妈"}},
		{"traditional titles", "王媽媽說，王老師和媽媽來了，王同學，王爸爸", "[NAME_2_1]說，[NAME_1_2]和媽媽來了，[NAME_1_3]，[NAME_3_1]",
			[]string{"王小明", "王媽媽"}},
		{"any apostrophe", "O'Brien and O’Brien drew", "[NAME_1_2] and [NAME_1_1] drew", []string{"O’Brien"}},
		{"a Korean name takes particles", "김민수는 민수가 김민수네 수민이", "[NAME_1_1]는 [NAME_2_1]가 [NAME_1_1]네 수민이",
			[]string{"김민수", "민수"}},
		{"a Korean name also as part of a word", "지원이 지원하다, 고지원", "[NAME_1_1]이 [NAME_1_1]하다, 고지원", []string{"지원"}},
		{"in another Unicode form", "Jos\u00e9 draws", "[NAME_1_1] draws", []string{"Jose\u0301"}},
		{"spaces between characters", "王 小 明 来 了", "[NAME_1_2] 来 了", []string{"王小明"}},
		{"a class is hidden whole only", "Monday Art Class meets on Monday for art",
			"[NAME_1_1] meets on Monday for art", []string{"Monday Art Class"}},
		{"accents that are not written", "Jose plays this from bar one at Home. Nunez's",
			"[NAME_1_2] plays this from [NAME_2_2] one at Home. [NAME_1_3]'s", []string{"José Núñez", "Thị Bär"}},
		{"letters without accents of their own", "Soren saw Duc Weiss and Lukasz",
			"[NAME_3_2] saw [NAME_1_2] and [NAME_2_2]", []string{"Đức Weiß", "Łukasz", "Søren"}},
		{"no plural of a word", "Songs: two songs on pages 3 to 5", "[NAME_1_2]s: two songs on pages 3 to 5",
			[]string{"Song Page"}},
		{"hyphens of short parts are no spaces", "so I was in a room, So-I, so‑i, Ina",
			"so I was in a room, [NAME_1_1], [NAME_1_2], [NAME_2_2]", []string{"So-I", "In-A"}},
		{"nor is a class without its whole name", "Year 5 in year-5 Art, Year-5 Art",
			"Year 5 in [NAME_1_2], [NAME_1_1]", []string{"Year-5 Art"}},
		{"a hyphen or apostrophe that is not written, and a genitive", "Annemarie, ONeills Bogen, Anne-Marie Oneill's",
			"[NAME_1_2], [NAME_1_3]s Bogen, [NAME_1_4]'s", []string{"Anne-Marie O'Neill"}},
		{"characters of regular expressions", "a.b(c reads", "[NAME_1_1] reads", []string{"a.b(c"}},
		{"text that looks like a token", "[NAME_1_1] and Ana", "[NAME_1_1] and [NAMEX_1_1]",
			[]string{"Ana"}},
		{"no names", "Ana draws", "Ana draws", []string{"", " "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNames(c.list, []string{c.in}, nil)
			hidden := n.hide(c.in)
			require.Equal(t, c.want, hidden)
			back, known := n.restore(hidden)
			require.True(t, known)
			require.Equal(t, c.in, back)
		})
	}
}

func TestChangedTokensAreRestored(t *testing.T) {
	t.Parallel()
	n := newNames([]string{"Ana Field"}, nil, nil)
	n.hide("Ana Field and Ana")
	for in, want := range map[string]string{
		"【NAME_1_2】画": "Ana画", "[ name_1_2 ]!": "Ana!", "NAME_1_1 drew": "Ana Field drew",
		"[NAME_1]": "Ana Field", "[NAME‑1‑2]": "Ana",
		"[NAME_1_9]": "Ana Field", "(see [NAME_1_1])": "(see Ana Field)",
		"write your name 1 time": "write your name 1 time",
	} {
		got, known := n.restore(in)
		require.True(t, known)
		require.Equal(t, want, got)
	}
	got, known := n.restore("[NAME_7_1] sang")
	require.False(t, known)
	require.Equal(t, "[NAME_7_1] sang", got)
}

// TestNamesAreRestored checks for any text and names that no whole name is sent and that the text
// is restored.
func TestNamesAreRestored(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		pool := []string{"Ana", "Li", "Wu Bo", "王小明", "欧阳若兰", "Will Long", "d'Arc", "Zoë", "Weiß", "O(b", "李"}
		list := rapid.SliceOfN(rapid.SampledFrom(pool), 0, 4).Draw(t, "names")
		parts := rapid.SliceOf(rapid.OneOf(rapid.SampledFrom(pool),
			rapid.SampledFrom([]string{" ", "。", "draws", "小明", "画", "[", "]", "NAME_1_1", "1"}),
			rapid.String())).Draw(t, "text")
		text := strings.ToValidUTF8(strings.Join(parts, ""), "")
		n := newNames(list, []string{text}, nil)
		hidden := n.hide(text)
		back, known := n.restore(hidden)
		if !known || back != text && len(n.misheard) == 0 {
			t.Fatalf("%q came back from %q as %q", text, hidden, back)
		}
		for _, name := range list {
			if len(name) > 3 && script.IsUnspaced([]rune(name)[0]) && strings.Contains(hidden, name) {
				t.Fatalf("%q is in %q", name, hidden)
			}
		}
	})
}

func TestMisheardNames(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{"王雨桐", "雨彤和与童来了，与同学一起", "雨桐和与童来了，与同学一起"}, // 与同学: with classmates
		{"王雨桐", "汪语彤，语彤同学，王女士", "王雨桐，雨桐同学，王女士"},
		{"王芳", "黄芳、汪芳和王方", "黄芳、王芳和王芳"},
		{"李梓涵", "子涵比紫晗认真", "梓涵比紫晗认真"},
		{"李梓涵", "好，紫晗比紫晗认真", "好，梓涵比梓涵认真"},
		{"Katherine Long", "we saw Catherine. Cather in the hall", "we saw Katherine. Cather in the hall"},
		{"Katherine", "today catherine played", "today Katherine played"},
		{"Emma", "I am, um, Imma and Amy at home", "I am, um, Emma and Amy at home"},
		{"Mia", "In May my Mya said Maya", "In May my Mia said Maya"},
		{"Léa", "It is Lea's bow, lea", "It is Léa's bow, Léa"},
		{"Becca", "Becca's Bach, and Bekka's", "Becca's Bach, and Becca's"},
	} {
		n := newNames([]string{c.name}, []string{c.in}, []string{"Maya", "Amy"})
		got, known := n.restore(n.hide(c.in))
		require.True(t, known)
		require.Equal(t, c.want, got)
	}
}
