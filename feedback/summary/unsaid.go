package summary

import "strings"

// The lengths in words of what is not to be written, and how many starts and ends are compared.
const (
	minPrivate = 5  // beside the words that say so, for the model
	maxUnsaid  = 48 // on each side of them
	maxEnds    = 16
)

// unsaidSpans returns the spans that are perhaps not to be written, with the words that say so.
func (v *view) unsaidSpans() []span {
	var out []span
	seen := map[stretch]bool{}
	for _, a := range v.anchors() {
		p, q := a.from, a.to
		about := v.asksNothing(p, q)
		first := v.firstUnsaid(p)
		for _, i := range v.unsaidStarts(p) {
			for _, j := range v.unsaidEnds(q) {
				if p-i+j-q >= minPrivate && !seen[stretch{i, j}] {
					seen[stretch{i, j}] = true
					last := v.words[j-1]
					out = append(out, span{from: i, to: j, unsaid: true, keys: v.unsaidFeatures(i, p, q, j),
						meant: about || i < first ||
							last.end == inside && strings.HasSuffix(last.low, "'s") || // "last week's"
							v.has(v.classes[p], "retract") && v.hasSentence(i, p)})
				}
			}
		}
	}
	return out
}

// firstUnsaid returns the word before which nothing goes with a request at i, because that or its
// sentence says what is secret: 你别跟他妈妈说是小强推的, 私底下说一句.
func (v *view) firstUnsaid(i int) int {
	c := v.clauseOf(i)
	begin := v.clauses[v.sentences[v.sentence[v.clause[i]]].from] // of the sentence
	switch {
	case !v.words[i].wide:
	case v.says(c, "zhTells"):
		return c.from
	case v.says(begin, "whispers"):
		return begin.from
	}
	return 0
}

// asksNothing reports whether words[from:to] are no request, but tell of the lesson: what somebody
// said, how a character is written, as in 别写错, what may be left out of a composition, as in 可以删掉,
// or what the student does, as in 他不太愿意写 and 我让她删掉.
func (v *view) asksNothing(from, to int) bool {
	c, said := v.clauseOf(from), v.sentences[v.sentence[v.clause[from]]]
	return v.quoted[from] || v.low(to-1) == "写" && manners[v.low(to)] ||
		v.low(from+1) == "再" && v.low(to-1) == "写" && v.words[to-1].end == inside && !ofNote[v.low(to)] || // 别再写绿萝
		v.low(from-2) == "可" && v.low(from-1) == "以" ||
		from > 0 && v.words[from].wide && v.words[from-1].end == inside && students[v.words[from-1].low] &&
			!wishes[v.low(from+1)] ||
		doing[v.low(from-1)] && v.low(from) == "not" && strings.HasSuffix(v.low(to-1), "ing") || // "she's not putting"
		v.says(c, "zhAdvises") || v.says(stretch{v.clauses[said.from].from, v.clauses[said.to-1].to}, "toFamily")
}

var (
	students = wordSet("他 她")
	wishes   = wordSet("让 想 希 准 许 要")                 // after 不, of what is to be written
	manners  = wordSet("错 歪 反 得 太 满")                 // after 写
	ofNote   = wordSet("这 那 进 上 下 出 在 到 给 他 她 了 吧 啊") // after 别再写
	doing    = wordSet("he's she's they're is are was were")
)

var (
	negative, writing, saying = classSet("not"), classSet("write"), classSet("say")
	direct                    = classSet("secret retract")
	starters                  = classSet("they join me det kin duty hesitation")
)

// anchors returns the words that may say that something is not to be written.
func (v *view) anchors() (out []stretch) {
	n := len(v.words)
	for p := 0; p < n; p++ {
		q := p + 1
		switch {
		case v.classes[p]&direct != 0:
			for q < n && v.classes[q]&direct != 0 {
				q++
			}
		case v.classes[p]&negative != 0:
			for q < min(n, p+6) && v.classes[q]&writing == 0 && v.words[q-1].end == inside {
				q++
			}
			if q == min(n, p+6) || v.classes[q]&writing == 0 {
				continue
			}
			q++
		default:
			continue
		}
		out = append(out, stretch{p, q})
		p = q - 1
	}
	return out
}

func (v *view) unsaidStarts(p int) []int {
	var out []int
	for i := p; i >= max(0, p-maxUnsaid) && len(out) < maxEnds; i-- {
		if i == 0 || v.words[i-1].end != inside || p-i < 26 && v.mayStart(i) {
			out = append(out, i)
		}
	}
	return out
}

func (v *view) unsaidEnds(q int) []int {
	var out []int
	for j := q; j <= min(len(v.words), q+maxUnsaid) && len(out) < maxEnds; j++ {
		if j == len(v.words) || v.words[j-1].end != inside || j-q < 26 && v.mayStart(j) {
			out = append(out, j)
		}
	}
	return out
}

// mayStart reports whether a statement may start at i within a long clause.
func (v *view) mayStart(i int) bool {
	c := v.clauseOf(i)
	return c.to-c.from > 5 && v.classes[i]&starters != 0
}

// unsaidFeatures returns what is seen of words[from:to] with words[p:q] that say that they are not
// to be written.
func (v *view) unsaidFeatures(from, p, q, to int) keys {
	k := make(keys, 0, 96)
	n := len(v.words)
	clausesIn := func(a, b int) (count, ends uint32) {
		for i := a; i < b; i++ {
			if v.words[i].end != inside {
				count++
			}
			if v.words[i].end >= sentence {
				ends++
			}
		}
		return min(count, 5), min(ends, 3)
	}
	before, sBefore := clausesIn(from, p)
	after, sAfter := clausesIn(q, to)
	pre, post := v.in(from, p), v.in(q, to)
	start, end := v.ends(from)/4, v.ends(to)/4
	k.add(300, v.wide)
	k.add(301, before, after)
	k.add(302, sBefore, sAfter, v.wide)
	k.add(303, start, end, v.wide)
	k.add(304, bucket(p-from), bucket(to-q), v.wide)
	k.add(305, bit(pre&troubles != 0), bit(post&troubles != 0), v.wide)
	k.add(306, v.id(from))
	k.add(307, v.id(from), v.id(from+1))
	k.add(308, v.id(to))
	k.add(309, v.id(to), v.id(to+1))
	k.add(310, v.id(to-1), end)
	k.add(311, v.id(from-1), start)
	k.add(312, before, sBefore, bit(from == 0))
	k.add(313, after, sAfter, bit(to == n))
	k.add(314, v.id(p), before, after)
	k.add(315, v.id(p), v.id(p+1), v.id(q-1))
	k.add(316, hashOf(textOf(v.words[p:min(q, p+8)])))
	k.add(317, v.id(p-1), v.id(p))
	k.add(318, v.id(q), bucket(to-q))
	k.add(319, v.id(q), v.id(q+1), bit(to > q))
	k.each(320, v.classes[p], before, after)
	k.each(321, v.in(p-8, p), bit(before > 0), bit(after > 1))
	k.each(322, v.set(from), start)
	k.each(323, v.set(to), end)
	k.each(324, v.in(to, to+8), v.wide)
	k.each(325, v.in(from-8, from), v.wide)
	k.each(326, pre, v.wide)
	k.each(327, post, v.wide)
	k.add(328, v.shape(pre)&7, v.wide)
	k.add(329, v.shape(post)&15, v.wide)
	for i := max(from, p-8); i < p; i++ {
		k.add(330, v.ids[i])
	}
	for i := p; i < min(q+4, to); i++ {
		k.add(331, v.ids[i])
		k.add(332, v.ids[i], v.id(i+1))
	}
	for i := from; i < min(to, from+40); i++ {
		if i < p || i >= q {
			k.add(333, v.ids[i])
		}
	}
	starts := func(a, b int) (count uint32) {
		for i := a + 1; i < b; i++ {
			if v.words[i-1].end != inside || v.mayStart(i) {
				count++
			}
		}
		return min(count, 6)
	}
	k.add(337, starts(from, p), v.wide, start)
	k.add(338, starts(q, to), v.wide, end)
	k.each(339, v.set(from), start, bit(from < p && pre&saying != 0))
	k.each(340, v.set(from-1), start)
	k.each(341, v.set(from+1), start, bit(from < p))
	k.each(342, v.set(to), end, bit(to > q))
	k.each(343, v.set(to+1), end, bit(to > q))
	k.add(344, bit(v.set(from-1)&saying != 0), start)
	// what stays on both sides
	k.add(334, bit(v.in(from-14, from)&troubles != 0), bit(v.in(to, to+14)&troubles != 0))
	k.add(335, bit(from > 0 && v.words[from-1].end < sentence && before > 0), v.wide)
	k.add(336, bit(to < n && end < uint32(sentence)), bit(after > 0), v.wide)
	return k
}

// endRequests ends a sentence after words such as "that's between us" where no mark does and
// another statement begins.
func endRequests(words []word) {
	v := newView(words)
	for i := 1; i+1 < len(words); i++ {
		if !v.has(v.classes[i], "secret") || words[i].mark != "" || !afterRequests[words[i+1].low] {
			continue
		}
		from := i
		for from > 0 && words[from-1].end == inside && v.has(v.classes[from-1], "secret") {
			from--
		}
		if low := v.low(from - 1); low == "that's" || low == "it's" || low == "stays" {
			words[i].end = sentence
		}
	}
}

var afterRequests = wordSet("and but so now next homework today he she they we i could can")
