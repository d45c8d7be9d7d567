package summary

import (
	"slices"
	"strings"
)

// correct applies the corrections whose words are all like some before them, so that what goes on
// after those stays: of "ten minutes every day, no, fifteen" not only "fifteen" does, but "fifteen
// minutes every day". It changes the order of words to that in which they are written, and drop
// with them.
func correct(words []word, drop []reason) {
	v := newView(words)
	var all []*repair
	for from := 0; from < len(words); from++ {
		to := from
		for to < len(words) && drop[to] == spoken {
			to++
		}
		if from == to {
			to = v.endOfCue(from)
		}
		if from < to && to < len(words) {
			if r := v.repairOf(from, to); r != nil {
				all = append(all, r)
			}
		}
		from = max(from, to-1)
	}
	next := len(words)
	for _, r := range slices.Backward(all) {
		if r.end <= next { // else it is corrected once more
			r.apply(words, drop)
			next = r.from
		}
	}
}

// endOfCue returns where words such as "no" end that begin at i, if they are set off or mean
// nothing else there, or i.
func (v *view) endOfCue(i int) int {
	if i == 0 || !v.beginsCue(i) {
		return i
	}
	end := i + 1
	for end < len(v.words) && v.words[end-1].end == inside && v.isCue(end) {
		end++
	}
	first := v.words[i].low
	setOff := v.words[i-1].end != inside && v.words[end-1].end != inside
	if setOff || corrects[first] || first == "no" && v.isExact(end) || first == "不" && v.words[end-1].low == "对" {
		return end
	}
	return i
}

// isExact reports whether words[i] is not what there may be none of: of "no three" and "no on
// Friday", but not of "no one" and "no scales".
func (v *view) isExact(i int) bool {
	if i >= len(v.words) {
		return false
	}
	low := v.words[i].low
	return v.words[i].kind != plain && !ambiguous[low] && !ordinals[low] ||
		v.has(v.classes[i], "det") || v.has(v.classes[i], "prep")
}

// corrects are the first of words that are followed by a correction without a comma between.
var corrects = wordSet("actually sorry wait i or 说")

// repair is words[to:end], which stand for words[from:rest]. Words such as "no" begin at term. What
// was left out from first to last stays, but for those.
type repair struct{ first, from, rest, term, to, end, last int }

// repairOf finds the repair after words[from:last], which are left out: it follows words such as
// "no", and its words are all like some before those. It returns nil if there is none.
func (v *view) repairOf(from, last int) (best *repair) {
	to := last
	for to > from+1 && !v.isCue(to-1) {
		to--
	}
	if to < last && v.clauses[v.clause[to]][1] <= last {
		return nil // more than words such as "no" stands between
	}
	term := to
	for term > 0 && v.isCue(term-1) {
		term--
	}
	if term == to {
		return nil
	}
	first := max(0, term-maxReparandum)
	for i := term - 1; i >= first; i-- {
		if v.isCue(i) && !negations[v.words[i].low] || i < term-1 && v.words[i].end >= sentence {
			first = i + 1
		}
	}
	end := v.clauses[v.clause[to]][1]
	n, most := end-to, uint32(0)
	for i := term - n; i >= first; i-- {
		score, same := v.likeness(i, to, n)
		if same {
			return nil
		}
		if score == 0 || score < most || score == most && i != from || v.inAmount(i) || !v.goesOn(i+n, term) ||
			i > 2 && v.words[i-2].low == "out" && v.words[i-1].low == "of" && v.words[i-3].kind == number {
			continue
		}
		most, best = score, &repair{max(min(from, term), first), i, v.endOfAmount(i+n, term), term, to, end, last}
	}
	return best
}

// goesOn reports whether words[i:end] go on with what is said before them. Of "five to nine" and
// "Monday or" the second is corrected; what follows a comma goes on if it tells of a time or an
// amount.
func (v *view) goesOn(i, end int) bool {
	if i < end && joinsNumbers[v.words[i].low] &&
		(i+1 == end || v.words[i+1].kind != plain || v.alike(i-1, i+1) > 0) {
		return false
	}
	for j := i - 1; j < end-1; j++ {
		if v.words[j].end != inside {
			return v.has(v.in(i, end), "time") || slices.ContainsFunc(v.words[i:end], func(w word) bool {
				return w.kind != plain && w.kind != name
			})
		}
	}
	return true
}

// isCue reports whether words[i] is one such as "no", or a hesitation.
func (v *view) isCue(i int) bool { return v.has(v.classes[i], "cue") || v.hesitates(i) }

// negations are also such words, but more often others.
var negations = wordSet("not rather 不 没 有 是 止")

// likeness returns how much n words from i and from j are alike, 0 if two of them are not or none
// stands for another, and whether they are the same.
func (v *view) likeness(i, j, n int) (all uint32, same bool) {
	same, stands := true, false
	for k := range n {
		one := v.alike(i+k, j+k)
		if one == 0 && areLetters(v.words[i+k], v.words[j+k]) {
			one = 2
		}
		if one == 0 {
			return 0, false
		}
		all += one
		same = same && one == 4
		stands = stands || one == 2 || one == 1 && v.classes[i+k]&v.classes[j+k]&replaced != 0
	}
	if !stands {
		return 0, same
	}
	return all, false
}

// replaced are the classes of words that stand for each other by themselves.
var replaced = classSet("kin colour side finger degree time")

// areLetters reports whether both words are letters, such as keys and groups.
func areLetters(a, b word) bool {
	isLetter := func(w word) bool { return len(w.low) == 1 && w.kind == plain && w.low != "i" }
	return isLetter(a) && isLetter(b)
}

// endOfAmount returns where the time, amount or date ends that is corrected up to i: of "half past
// four, no, five" nothing stays.
func (v *view) endOfAmount(i, limit int) int {
	switch last := v.words[i-1]; {
	case last.kind == number || amountParts[last.low]:
		for ; i < limit; i++ {
			w := v.words[i]
			if w.kind != number && !(amountParts[w.low] && i+1 < limit && v.words[i+1].kind == number) {
				break
			}
		}
	case last.kind == day:
		for j := i; j < limit; j++ {
			if w := v.words[j]; w.kind == month || ordinals[strings.TrimLeft(w.low, "0123456789")] {
				i = j + 1
			} else if w.low != "the" && w.low != "of" && w.kind != number {
				break
			}
		}
	}
	return i
}

// ordinals end the number of a day, or are one.
var ordinals = wordSet("st nd rd th first second third fourth fifth sixth seventh eighth ninth tenth 号 日")

// apply applies a repair to words and to why each is left out.
func (r *repair) apply(words []word, drop []reason) {
	mark(drop[r.first:r.last], kept)
	mark(drop[r.from:r.rest], spoken)
	mark(drop[r.term:r.to], spoken)
	switch {
	case r.rest == r.term:
	case r.end < len(words) && words[r.rest].low == words[r.end].low: // what goes on is said again
		mark(drop[r.rest:r.term], spoken)
	default:
		last, replaced, repaired := &words[r.term-1], &words[r.rest-1], &words[r.end-1]
		last.end, last.mark, repaired.end, repaired.mark = repaired.end, repaired.mark, replaced.end, replaced.mark
		swap(words[r.rest:r.end], r.term-r.rest)
		swap(drop[r.rest:r.end], r.term-r.rest)
	}
}

// swap puts the first n items of a list behind the others.
func swap[T any](list []T, n int) {
	copy(list, slices.Concat(list[n:], list[:n]))
}
