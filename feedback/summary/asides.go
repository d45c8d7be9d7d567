package summary

import (
	"slices"
	"strings"
)

// maxAside is the length in words of a sentence that is compared with phrases.
const maxAside = 24

// leaveOutAsides leaves out sentences that are only said to others, such as "Sam, close the door,
// please", to the recorder, or to oneself, where the model has left them.
func leaveOutAsides(words []word, drop []reason) {
	at, paused, busy := 0, false, false
	for _, s := range parts(words, sentence) {
		clauses, why := parts(s, clause), drop[at:at+len(s)]
		first := textOf(clauses[0])
		for len(clauses) > 1 && isCall(clauses[0]) {
			clauses = clauses[1:]
		}
		if n := len(clauses); n > 1 && isCall(clauses[n-1]) {
			clauses = clauses[:n-1]
		}
		said := textOf(slices.Concat(clauses...))
		switch {
		case len(s) > maxAside:
		case says(said, "toFamily"):
			keepSaid(s, why)
		case at == 0 && s[0].wide && len(s) < 10 && !says(said, asides...):
			keepNames(s, why)
		case says(said, asides...) || textOf(s) == "please" || busy && says(said, "callBack") ||
			(s[0].low == "oi" && s[len(s)-1].mark != "" || paused && says(first, "titled")) &&
				!slices.ContainsFunc(s, isFigure):
			mark(why, filler)
		}
		leaveOutInterruptions(s, why)
		paused = paused || says(first, "pauses")
		n := slices.IndexFunc(why, func(r reason) bool { return r != filler })
		if n > 0 && n < 4 && strings.HasSuffix(s[0].low, "'ve") && s[n-1].end == inside {
			mark(why[:n], kept) // "I've put her name down"
			n = 0
		}
		if paused && n > 0 && 2*n >= len(s) {
			replace(why, kept, filler) // of "hold on, no, the bus comes at six" not only the last two words stay
		}
		paused, busy = says(textOf(s), "pauses"), says(textOf(s), "busy")
		at += len(s)
	}
}

// endAsides ends sentences around what is only said to others in a text without marks.
func endAsides(words []word) {
	for i := range words {
		for n := min(maxEmbedded, len(words)-i); n > minAside && opensAside[words[i].low]; n-- {
			last := &words[i+n-1]
			if last.mark != "" || !says(textOf(words[i:i+n]), "embedded") {
				continue
			}
			if last.end = sentence; i > 0 {
				words[i-1].end = max(words[i-1].end, sentence)
			}
			break
		}
	}
}

var opensAside = wordSet("oi does drop can")

// maxEmbedded is the length in words of what may be said so to others.
const maxEmbedded = 9

// endRequestsWithin makes a sentence of a request in Chinese within a clause without marks, after
// which something to be done follows: 她哭了，这句掐掉请带琴谱.
func endRequestsWithin(words []word) {
	begins := func(w word) bool { return w.low == "这" || w.low == "那" }
	if !slices.ContainsFunc(words, begins) {
		return
	}
	v := newView(words)
	for i := 1; i < len(words); i++ {
		if !begins(words[i]) {
			continue
		}
		for n := min(maxHeads, len(words)-i-1); n > 3; n-- {
			last := &words[i+n-1]
			if last.end == inside && v.set(i+n)&dueNext != 0 && v.low(i+n) != "作" && // 不要写作业
				says(textOf(words[i:i+n]), "zhEmbedded") {
				last.end, words[i-1].end = sentence, max(words[i-1].end, clause)
				break
			}
		}
	}
}

// dueNext are the classes of words with which another statement begins.
var dueNext = classSet("duty time")

// keepNames keeps the clauses of a sentence in Chinese that seem to be names: 嗯，小贝，游泳四级。
func keepNames(words []word, why []reason) {
	v := newView(words)
	for _, c := range v.clauses {
		if n := c.to - c.from; n > 1 && n <= maxName && v.in(c.from, c.to)&saidToOthers == 0 && c.to < len(words) &&
			!slices.ContainsFunc(words[c.from:c.to], func(w word) bool { return proclitics[w.low] }) {
			replace(why[c.from:c.to], filler, kept)
		}
	}
}

// saidToOthers are the classes of words that are said to others, or mean nothing.
var saidToOthers = classSet("filler hesitation hear end lost thanks wait call house command ask you me kin")

// replace replaces one reason by another one.
func replace(why []reason, old, new reason) {
	for i := range why {
		if why[i] == old {
			why[i] = new
		}
	}
}

var asides = []string{"saidTo", "heard", "alone", "recorder", "zhSaidTo", "zhAlone", "zhRecorder"}

// leaveOutInterruptions does the same within a sentence, where words such as "hang on" come first.
func leaveOutInterruptions(words []word, drop []reason) {
	clauses := parts(words, clause)
	at := 0
	for i, c := range clauses {
		text, end := textOf(c), at+len(c)
		switch {
		case says(text, "callBack") && says(textOf(words[:at]), "busy"):
			replace(drop[at:end], kept, filler) // "no, I'm teaching, ring me at nine"
		case says(text, "midway", "zhMidway"):
			replace(drop[at:end], kept, filler)
		case says(text, "toFamily", "zhToFamily"):
			keepSaid(c, drop[at:end])
		}
		for j := i + 1; j <= min(i+3, len(clauses)); j++ {
			said := slices.Concat(clauses[i:j]...)
			if text := textOf(said); len(said) <= maxAside && says(text, "interrupts") && says(text, asides...) {
				replace(drop[at:at+len(said)], kept, filler)
				break
			}
		}
		at = end
	}
}

// keepSaid keeps words that the model takes for fillers, but for hesitations.
func keepSaid(words []word, why []reason) {
	for i, w := range words {
		if why[i] == filler && !hesitations[w.low] {
			why[i] = kept
		}
	}
}

// releaseHow keeps what the model has left out because of words such as "I'm not going to write a
// long report" and "don't put it in the oven", which ask for nothing.
func (o *obeyed) releaseHow() {
	for from := 0; from < len(o.drop); from++ {
		if o.drop[from] != unsaid {
			continue
		}
		to := from
		for to < len(o.drop) && o.drop[to] == unsaid {
			to++
		}
		v := newView(o.v.words[from:to])
		if v.in(0, to-from)&troubles == 0 && len(v.anchors()) == 1 && says(textOf(v.words), "tellsHow") {
			mark(o.drop[from:to], kept)
		}
		from = to
	}
}

// isCall reports whether a clause may only call somebody.
func isCall(clause []word) bool { return len(clause) == 1 || clause[0].wide && len(clause) <= 3 }

// withoutOpeningAndClosing leaves out the first and the last sentences if they only say that the
// note begins or ends.
func withoutOpeningAndClosing(words []word) []word {
	all := parts(words, sentence)
	for len(all) > 1 && says(textOf(all[0]), "opening", "zhOpening") {
		all = all[1:]
	}
	for len(all) > 1 && says(textOf(all[len(all)-1]), "closing", "zhClosing") {
		all = all[:len(all)-1]
	}
	return slices.Concat(all...)
}
