package summary

import "strings"

// The lengths in words of what the model compares.
const (
	maxReparandum = 18 // what is corrected
	maxTerm       = 14 // what stands between that and the correction
)

// repairs returns the spans that may be corrected by what follows them, or are said again.
func (v *view) repairs() []span {
	var out []span
	n := len(v.words)
	seen := make([]int, n+1) // the last j+1 for which a span from i was added
	add := func(from, term, to int) {
		if seen[from] != to+1 && !v.inAmount(from) && (term < to || !v.countsOn(from, to)) {
			seen[from] = to + 1
			out = append(out, span{from: from, to: to, meant: v.isMeant(from, term, to),
				keys: v.repairFeatures(from, term, to)})
		}
	}
	for j := 1; j < n; j++ {
		for term := j - 1; term > max(0, j-maxTerm); term-- { // where words such as "no" begin
			if !v.beginsCue(term) {
				continue
			}
			last := term
			for last < j && v.classes[last]&learntCues != 0 {
				last++
			}
			if j > last+2 && v.words[j-1].end == inside && v.ids[j] != v.id(term-1) {
				continue
			}
			for i := term - 1; i >= max(0, term-maxReparandum); i-- {
				add(i, term, j)
			}
		}
		for i := j - 1; i >= max(0, j-maxReparandum); i-- {
			if v.alike(i, j) > 0 {
				add(i, v.termIn(i, j), j)
			}
		}
	}
	return out
}

// countsOn reports whether the number at i and that at j, which follows it without a word such as
// "no", are one or belong together: "forty five", "6 30", "line five twice", "two and four", "the
// 27th to the 31st".
func (v *view) countsOn(i, j int) bool {
	a, b := v.words[i], v.words[j]
	if a.kind != number || b.kind != number || a.low == b.low {
		return false
	}
	switch between := v.words[i+1 : j]; len(between) {
	case 0:
		return tens[a.low] && ones[b.low] || isHour(a.low) && isMinutes(b.low) || timesOrParts[b.low]
	case 1:
		return joinsNumbers[between[0].low]
	case 2:
		return between[0].low == "to" && between[1].low == "the"
	}
	return false
}

var (
	tens = wordSet(`twenty thirty forty fifty sixty seventy eighty ninety`)
	ones = wordSet(`one two three four five six seven eight nine first second third fourth fifth sixth seventh
		eighth ninth`)
	hours        = wordSet(`one two three four five six seven eight nine ten eleven twelve`)
	minutes      = wordSet(`ten fifteen twenty thirty forty fifty`)
	timesOrParts = wordSet(`once twice half quarter hundred`)
	joinsNumbers = wordSet(`and or to 和 或 到 至`)
)

func isHour(s string) bool { return hours[s] || len(s) <= 2 && isDigits(s) }

func isMinutes(s string) bool { return minutes[s] || len(s) == 2 && s < "60" && isDigits(s) }

func isDigits(s string) bool { return strings.Trim(s, "0123456789") == "" }

// inAmount reports whether words[i] goes on with a number or a time, of which the rest alone would
// say something else: of "1分零5，不对，58秒" "1分58秒" must not remain.
func (v *view) inAmount(i int) bool {
	if i == 0 || v.words[i-1].end != inside || v.words[i].kind != number {
		return false
	}
	before := v.words[i-1]
	return before.kind == number ||
		i > 1 && v.words[i-2].kind == number && v.words[i-2].end == inside && amountParts[before.low]
}

// amountParts stand between the numbers of an amount or a time.
var amountParts = wordSet(`past point pounds dollars 点 點 分 秒 小时 月 年 块 元 毛 米`)

// learntCues are words such as "no" of which the model has learnt.
var learntCues = classSet("cue")

// hesitates reports whether a hesitation begins at i.
func (v *view) hesitates(i int) bool { return v.classes[i]&hesitating != 0 }

var hesitating = classSet("hesitation")

// beginsCue reports whether words such as "no" and "I mean" begin at i.
func (v *view) beginsCue(i int) bool {
	return v.classes[i]&learntCues != 0 && (i == 0 || v.classes[i-1]&learntCues == 0 || v.words[i-1].end != inside)
}

// termIn returns where such words begin after i, or j.
func (v *view) termIn(i, j int) int {
	t := i + 1
	for t < j && !v.beginsCue(t) {
		t++
	}
	for t > i+1 && v.hesitates(t-1) {
		t--
	}
	return t
}

// alike returns how words may be forms of one: 4 the same, 3 begun, 2 of one kind, 1 of one class.
func (v *view) alike(i, j int) uint32 {
	if i < 0 || j >= len(v.words) {
		return 0
	}
	a, b := &v.words[i], &v.words[j]
	switch {
	case a.low == b.low:
		return 4
	case a.wide != b.wide:
		return 0
	case isForm(*a, *b), !a.wide && len(a.low) < len(b.low) && b.low[:len(a.low)] == a.low:
		return 3
	case a.kind == b.kind && a.kind != plain:
		return 2
	case v.classes[i]&v.classes[j]&fields != 0:
		return 1
	}
	return 0
}

// continues reports whether a phrase of a class goes on at i, so that nothing begins there.
func (v *view) continues(i int) bool { return v.set(i)>>goesOnBit == 1 }

func (v *view) suffixAt(i int) uint32 {
	if i >= len(v.words) {
		return 0
	}
	return suffix(v.words[i])
}

// isForm reports whether words are forms of one, as page and pages.
func isForm(a, b word) bool {
	return !a.wide && len(a.low) > 3 &&
		strings.TrimSuffix(a.low, "s") == strings.TrimSuffix(b.low, "s")
}

// fields are the classes of which one word may replace another.
var fields = classSet("kin colour side finger degree unit det prep be degreeword time")

// repairFeatures returns what is seen of words[from:term], which words[to:] may correct, with
// words[term:to] between them.
func (v *view) repairFeatures(from, term, to int) keys {
	k := make(keys, 0, 64)
	rep, gap := term-from, to-term
	kind := bit(gap > 0)<<1 | v.wide
	if gap > 0 && v.words[term-1].end != inside {
		kind |= 4
	}
	if gap > 0 && v.in(term, to)&learntCues == 0 {
		kind |= 8 // only a hesitation
	}
	pattern := uint32(0)
	for m := range 4 {
		a := uint32(5)
		if m < rep {
			a = v.alike(from+m, to+m)
		}
		pattern = pattern*6 + a
	}
	clauseEnd := v.clauseOf(to).to
	nextSize := clauseEnd - to
	first, second := v.alike(from, to), v.alike(from+1, to+1)
	if rep < 2 {
		second = 5
	}
	same := 0
	for same < rep && to+same < len(v.words) && v.words[from+same].low == v.words[to+same].low {
		same++
	}
	whole := bit(same == rep)
	last := v.ends(term)
	crossed, sentences := 0, 0
	for i := from; i < to; i++ {
		if v.words[i].end != inside {
			crossed++
		}
		if v.words[i].end >= sentence {
			sentences++
		}
	}
	typed, differ, found := uint32(0), false, 0
	for i := from; i < term; i++ {
		for j := to; j < min(len(v.words), to+rep+4); j++ {
			if v.words[i].low == v.words[j].low {
				found++
				break
			}
		}
		if a := v.words[i]; a.kind != plain {
			for j := to; j < min(len(v.words), to+4); j++ {
				if b := v.words[j]; b.kind == a.kind {
					typed = uint32(a.kind)
					differ = differ || a.low != b.low
				}
			}
		}
	}
	share := uint32(4 * found / rep)
	nearest := bit(true)
	for i := from + 1; i < term; i++ {
		if v.alike(i, to) >= max(first, 1) {
			nearest = 0
		}
	}
	b, c, d := v.id(from-1), v.id(from), v.id(term-1)
	e := v.id(to)
	k.add(200, kind)
	k.add(201, kind, bucket(rep))
	k.add(202, kind, bucket(gap))
	k.add(203, kind, first, second)
	k.add(204, kind, first, bucket(rep))
	k.add(205, kind, uint32(min(same, 5)), whole)
	k.add(206, kind, uint32(min(same, 3)), bucket(rep))
	k.add(207, kind, typed, bit(differ))
	k.add(208, kind, typed, bit(differ), bucket(rep))
	k.add(209, kind, share, bucket(rep))
	k.add(210, kind, uint32(min(crossed, 4)), uint32(min(sentences, 2)))
	k.add(211, kind, v.ends(from)/4)
	k.add(212, kind, last)
	k.add(213, kind, v.ends(to))
	k.add(214, kind, nearest, first)
	k.add(215, v.ends(from)/4, v.ends(to)/4, kind, bit(first == 4))
	k.add(216, kind, b, bit(first > 0))
	k.add(217, kind, d)
	k.add(218, kind, e)
	k.add(219, kind, c, first)
	k.add(220, d, e, kind)
	k.each(222, v.set(from-1), kind, bit(first > 0))
	k.each(223, v.set(term-1), kind)
	k.each(224, v.set(to), kind, bit(first > 0))
	k.each(225, v.set(from), kind, bit(first > 0))
	k.each(226, v.set(from)&v.set(to), kind)
	k.add(227, kind, first, v.ends(from)/4, uint32(min(sentences, 1)))
	k.add(260, pattern, kind)
	k.add(261, pattern/6, kind, nearest)
	k.add(262, pattern/36, kind, v.ends(from)/4, v.ends(to)/4)
	k.add(263, pattern/6, uint32(v.words[from].kind), uint32(v.words[to].kind), kind&1)
	k.add(264, pattern/36, c, e)
	k.add(265, b, c)
	k.add(266, c, e)
	k.add(274, suffix(v.words[from]), suffix(v.words[to]), kind&3)
	k.add(275, kind, bit(suffix(v.words[term-1]) == v.suffixAt(to+rep-1)), bucket(rep), bit(first > 0))
	k.add(267, kind, bit(v.continues(from)), bit(v.continues(to)), bit(first > 0))
	k.add(268, kind, bucket(rep), bucket(nextSize), v.ends(to)/4)
	k.add(269, kind, uint32(min(crossed, 4)), bit(first > 1), bit(second > 1), v.ends(to)/4)
	k.add(270, kind, v.alike(term-1, to+rep-1), bucket(rep), bit(first > 0))
	k.add(271, kind, v.alike(term-1, clauseEnd-1), bit(first > 0), v.ends(to)/4)
	k.each(272, v.set(from)&v.set(to)&fields, kind, second)
	k.add(273, uint32(v.words[from].kind), uint32(v.words[to].kind), kind, v.ends(to)/4, second)
	if gap == 0 {
		if rep <= 4 && whole == 1 {
			k.add(230, hashOf(textOf(v.words[from:term])))
			k.add(231, uint32(rep), last, v.wide)
			k.add(232, uint32(rep), last, v.ends(to+rep), v.wide)
			k.add(233, uint32(rep), last, c)
		}
		k.add(234, last, uint32(min(same, 4)), whole, v.wide)
		k.add(235, last, first, bucket(rep), v.wide)
		k.add(236, last, v.ends(from)/4, uint32(min(same, 3)), v.wide)
		k.add(237, last, v.ends(to+same)/4, uint32(min(same, 3)), whole)
		k.add(238, v.id(to+same), d, bit(same > 0))
		return k
	}
	text := hashOf(textOf(v.words[term:min(to, term+6)]))
	k.add(240, text)
	k.add(241, text, last/4, v.ends(to)/4)
	k.add(242, text, first)
	k.add(243, v.id(term), last/4, v.ends(to)/4)
	k.add(244, v.id(term), v.id(term+1), v.wide)
	k.add(245, v.id(to-1), v.ends(to)/4)
	k.add(246, v.id(to-1), v.id(to-2))
	for i := term; i < to; i++ {
		k.add(247, v.ids[i])
	}
	k.each(248, v.in(term, to), v.wide)
	inter := uint32(0)
	for i := term; i < to; i++ {
		inter += bit(v.words[i].end != inside)
	}
	k.add(249, kind, min(inter, 3), bucket(gap))
	k.add(250, kind, first, typed, bit(differ), v.ends(to)/4)
	k.add(251, kind, first, nearest, bucket(rep))
	k.add(252, kind, bit(v.alike(term-1, to) > 0), bucket(rep))
	k.add(253, kind, v.ends(from)/4, bucket(rep))
	k.add(254, kind, bit(v.id(from-1) == v.id(to-1)), bit(first > 0))
	return k
}
