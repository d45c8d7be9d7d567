package summary

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// figure is a number, a weekday or a month in a text.
type figure struct {
	value string // the same in digits, Chinese numerals and English words; a month is its number
	start int    // byte offset
	text  string
	vague bool // may mean something else, as in "one" and "a second"
}

var (
	englishDays   = strings.Fields("sunday monday tuesday wednesday thursday friday saturday")
	englishMonths = strings.Fields("January February March April May June July August September October " +
		"November December")

	// englishNumbers are the words for numbers up to 20 and for tens, and ordinals.
	englishNumbers = func() map[string]int {
		m := map[string]int{"twice": 2, "thirtieth": 30}
		for i, w := range strings.Fields("zero one two three four five six seven eight nine ten eleven twelve " +
			"thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty") {
			m[w] = i
		}
		for i, w := range strings.Fields("first second third fourth fifth sixth seventh eighth ninth tenth eleventh " +
			"twelfth thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth") {
			m[w] = i + 1
		}
		for i, w := range strings.Fields("thirty forty fifty sixty seventy eighty ninety hundred") {
			m[w] = 30 + 10*i
		}
		return m
	}()

	figurePattern = func() *regexp.Regexp {
		number := `(?:` + strings.Join(slices.Sorted(maps.Keys(englishNumbers)), "|") + `)`
		months := strings.Join(slices.DeleteFunc(slices.Clone(englishMonths), isVerb), "|")
		return regexp.MustCompile(`\d+(?:,\d{3})*` +
			`|(?:周|星期|礼拜)(六日|[一二三四五六日天])` +
			`|([零〇一二两三四五六七八九十百千万]+)` +
			`|(?i:\b(` + strings.Join(englishDays, "|") + `)s?\b)` +
			`|\b(March|May|(?i:` + months + `))\b` +
			`|(?i:\b(` + number + `(?:(?:[ -]| and )` + number + `)*)\b)`)
	}()
)

// figures returns the figures of a text. The parts of a date, a time and a decimal are figures of
// their own.
func figures(text string) []figure {
	var out []figure
	for _, m := range figurePattern.FindAllStringSubmatchIndex(text, -1) {
		f := figure{start: m[0], text: text[m[0]:m[1]]}
		group := func(i int) string {
			if m[2*i] < 0 {
				return ""
			}
			return text[m[2*i]:m[2*i+1]]
		}
		add := func(n int) { f.value = strconv.Itoa(n); out = append(out, f) }
		addDays := func(days string) {
			for _, d := range strings.Replace(days, "天", "日", 1) {
				f.value = weekdayValue(d)
				out = append(out, f)
			}
		}
		switch {
		case group(1) != "" && strings.HasSuffix(text[:m[0]], "每") && isTimes(text[m[1]:]): // 每周三次
			add(strings.Index("日一二三四五六", group(1)) / 3)
		case group(1) == "六日" && otherThanDay.MatchString(text[m[1]:]):
			addDays("六")
		case group(1) != "":
			addDays(group(1))
		case group(2) != "" && len(out) > 0 && f.start == out[len(out)-1].start+len(out[len(out)-1].text) &&
			areMoreDays(out[len(out)-1].value, group(2), text[m[1]:]):
			addDays(group(2))
		case group(2) != "":
			f.vague = strings.Trim(f.text, "一") == "" || f.text == "万一" || strings.HasPrefix(text[m[1]:], "分") &&
				!strings.HasPrefix(text[m[1]:], "分钟")
			for _, n := range chineseNumbers(f.text) {
				add(n)
			}
		case group(3) != "":
			f.value = "weekday " + strconv.Itoa(slices.Index(englishDays, strings.ToLower(group(3))))
			out = append(out, f)
		case group(4) != "":
			f.vague = isVerb(group(4))
			add(1 + slices.IndexFunc(englishMonths, func(m string) bool { return strings.EqualFold(m, group(4)) }))
		case group(5) != "":
			f.vague = slices.Contains([]string{"one", "first", "second"}, strings.ToLower(f.text))
			for _, n := range wordsToNumbers(f.text) {
				add(n)
			}
		default:
			f.value = strings.TrimLeft(strings.ReplaceAll(f.text, ",", ""), "0")
			out = append(out, f)
		}
	}
	return out
}

func weekdayValue(day rune) string {
	return "weekday " + strconv.Itoa(strings.IndexRune("日一二三四五六", day)/3)
}

// areMoreDays reports whether numerals after a weekday are later ones, as in 周一三五, and tell
// neither a time nor how many there are.
func areMoreDays(day, numerals, after string) bool {
	for _, r := range numerals {
		next := weekdayValue(r)
		if !strings.HasPrefix(day, "weekday ") || next <= day || !strings.ContainsRune(weekdays, r) {
			return false
		}
		day = next
	}
	return !counted.MatchString(after)
}

var counted = regexp.MustCompile(`^[点點时時号號日月年个個节節次分小遍页頁题題本人位张張块塊元岁组組首道篇段句行米圈]`)

// otherThanDay is what follows 日 where it is no Sunday: 周六日语课.
var otherThanDay = regexp.MustCompile(`^[语語文常期记記]`)

// isVerb reports whether a month is also a verb, without its capital letter.
func isVerb(month string) bool { return month == "March" || month == "May" }

// isTimes reports whether a text begins with how often something is done.
func isTimes(text string) bool {
	return slices.ContainsFunc([]string{"次", "回", "遍", "节课", "趟"}, func(s string) bool {
		return strings.HasPrefix(text, s)
	})
}

// chineseNumbers returns what a run of numerals means: one number, or some digits, such as 三四
// (three or four), of which four or more are a year. Units alone, as in 千万, are no number.
func chineseNumbers(run string) []int {
	const digits = "零一二三四五六七八九"
	run = strings.NewReplacer("〇", "零", "两", "二").Replace(run)
	total, section, digit, units := 0, 0, 0, false
	var all []int
	for _, r := range run {
		switch r {
		case '十', '百', '千':
			section += max(digit, 1) * map[rune]int{'十': 10, '百': 100, '千': 1000}[r]
			digit, units = 0, true
		case '万':
			total, section, digit, units = (section+digit)*10_000, 0, 0, true
		default:
			digit = strings.IndexRune(digits, r) / 3
			all = append(all, digit)
		}
	}
	switch {
	case units && len(all) == 0 && run != "十":
		return nil
	case units:
		return []int{total + section + digit}
	case len(all) < 4:
		return all
	}
	year := 0
	for _, d := range all[:min(len(all), 9)] {
		year = year*10 + d
	}
	return []int{year}
}

// wordsToNumbers returns the numbers of a run of English words: "twenty five" is one, "nine thirty"
// are two.
func wordsToNumbers(run string) []int {
	var all []int
	for _, w := range strings.FieldsFunc(strings.ToLower(run), func(r rune) bool { return r == ' ' || r == '-' }) {
		n, ok := englishNumbers[w]
		last := len(all) - 1
		switch {
		case !ok: // and
		case w == "hundred" && last >= 0 && all[last] < 10:
			all[last] *= 100
		case last >= 0 && n < 100 && all[last] >= 100 && all[last]%100 == 0,
			last >= 0 && n > 0 && n < 10 && all[last]%100 >= 20 && all[last]%10 == 0:
			all[last] += n
		default:
			all = append(all, n)
		}
	}
	return all
}

var (
	afternoon = regexp.MustCompile(`(?i)下午|晚上|傍晚|中午|\bp\.?m\b|afternoon|evening|tonight|noon`)
	half      = regexp.MustCompile(`(?i)半|\bhalf\b`)
	quarter   = regexp.MustCompile(`(?i)刻|\bquarter\b`)
	clock     = regexp.MustCompile(`^\s*[:：点點时時시]|^\.[0-5]\d\b|^h(?:\d\d)?\b`) // after an hour
)

// lacking returns the figures of a text whose values are not known.
func lacking(text string, known map[string]bool) []figure {
	bad := slices.DeleteFunc(figures(text), func(f figure) bool { return f.vague || known[f.value] })
	return slices.CompactFunc(bad, func(a, b figure) bool { return a.start == b.start }) // 三四 is two
}

// valuesIn returns the values of the figures that sources contain, in whatever form: 三点半 and
// "half past three" contain those of 15:30 too, if it is about an afternoon.
func valuesIn(sources string) map[string]bool {
	known := map[string]bool{"": true, "0": true} // as in 9:00
	add := func(pattern *regexp.Regexp, values ...string) {
		if pattern.MatchString(sources) {
			for _, v := range values {
				known[v] = true
			}
		}
	}
	add(half, "30")
	add(quarter, "15", "45")
	isAfternoon := afternoon.MatchString(sources)
	said := figures(sources)
	for i, f := range said {
		known[f.value] = true
		switch n, err := strconv.Atoi(f.value); {
		case err != nil:
		case n > 12 && n < 24 && (clock.MatchString(sources[f.start+len(f.text):]) ||
			i+1 < len(said) && said[i+1].start == f.start): // "sixteen thirty"
			known[strconv.Itoa(n-12)] = true
		case n > 0 && n < 12 && isAfternoon:
			known[strconv.Itoa(n+12)] = true
		}
	}
	return known
}
