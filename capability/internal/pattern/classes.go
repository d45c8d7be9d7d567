package pattern

import (
	"encoding/binary"
	"slices"
)

// step is one step of a pattern: it matches one letter, or any number of letters. The caller
// defines what a letter is: a character, or a label of a host.
type step struct {
	takes  func(letter int) bool // nil for every letter
	repeat bool
	skip   int // no letter: go on with the next step, or leave out so many
	cost   int // how much longer takes takes than for one letter
}

// class is an equivalence class of words that no pattern distinguishes. It contains one of the
// words and the patterns that match it.
type class struct {
	word    []int
	matches bits
}

// mostWork limits the search for classes, whose number can grow exponentially with the stars of the
// patterns: the steps that are entered and tried, and the words of the sets that are kept.
const mostWork = 5_000_000

// classes returns all classes of words over the letters 0 to letters-1, each with a shortest word.
// It explores the product automaton of all patterns breadth first. If follows is not nil, it
// reports whether a letter may follow another one, or may be the first if before is -1, and the
// empty word is left out. It returns false if the search exceeds its limit.
func classes(patterns [][]step, letters int, follows func(before, letter int) bool) ([]class, bool) {
	w := walk{ordered: follows != nil, seen: make(map[string]bool), found: make(map[string]bool)}
	var firsts []int32
	for _, p := range patterns {
		firsts = append(firsts, int32(len(w.steps)))
		w.steps = append(w.steps, p...)
		w.steps = append(w.steps, step{}) // the end
		w.ends = append(w.ends, int32(len(w.steps)-1))
	}
	w.entered = make([]int32, len(w.steps))
	w.round = 1
	var at []int32
	for _, first := range firsts {
		at = w.enter(at, first)
	}
	slices.Sort(at)
	w.visit(at, -1, -1)
	for from := 0; from < len(w.states); from++ {
		s := w.states[from]
		for letter := range letters {
			if follows == nil || follows(s.letter, letter) {
				w.visit(w.next(s.at, letter), from, letter)
			}
			if w.work > mostWork {
				return nil, false
			}
		}
	}
	return w.classes, true
}

// walk explores the states of the automaton breadth first.
type walk struct {
	steps       []step
	ends        []int32 // of the patterns in order
	ordered     bool
	entered     []int32 // by step: the round in which it was entered last
	round       int32
	work        int
	states      []state
	seen, found map[string]bool
	classes     []class
}

// state is the set of steps that the patterns can be at after a word.
type state struct {
	at     []int32 // steps in order, each once
	from   int     // the state before its last letter
	letter int
}

// enter adds a step and the steps that are reached from it without a letter, each once in a round.
func (w *walk) enter(at []int32, i int32) []int32 {
	for pending := []int32{i}; len(pending) > 0; {
		i, pending = pending[len(pending)-1], pending[:len(pending)-1]
		if w.entered[i] == w.round {
			continue
		}
		w.entered[i] = w.round
		w.work++
		s := &w.steps[i]
		if s.skip == 0 {
			at = append(at, i)
		}
		if s.skip > 0 {
			pending = append(pending, i+int32(s.skip))
		}
		if s.skip > 0 || s.repeat {
			pending = append(pending, i+1)
		}
	}
	return at
}

func (w *walk) next(at []int32, letter int) []int32 {
	var to []int32
	w.round++
	w.work += len(at)
	for _, i := range at {
		s := &w.steps[i]
		w.work += s.cost
		if _, end := slices.BinarySearch(w.ends, i); end || s.takes != nil && !s.takes(letter) {
			continue
		}
		if !s.repeat {
			i++
		}
		to = w.enter(to, i)
	}
	slices.Sort(to)
	return to
}

// visit records a state that was not seen before, and its class if that is new.
func (w *walk) visit(at []int32, from, letter int) {
	key := make([]byte, 0, 4*len(at)+4)
	for _, i := range at {
		key = binary.LittleEndian.AppendUint32(key, uint32(i))
	}
	if w.ordered {
		key = binary.LittleEndian.AppendUint32(key, uint32(letter))
	}
	if w.seen[string(key)] {
		return
	}
	w.seen[string(key)] = true
	w.states = append(w.states, state{at, from, letter})
	if w.ordered && from < 0 {
		return
	}
	matches := newBits(len(w.ends))
	w.work += len(matches)
	for _, i := range at {
		if pattern, end := slices.BinarySearch(w.ends, i); end {
			matches.set(pattern)
		}
	}
	if !w.found[matches.key()] {
		w.found[matches.key()] = true
		w.classes = append(w.classes, class{w.word(len(w.states) - 1), matches})
	}
}

func (w *walk) word(i int) []int {
	var word []int
	for ; w.states[i].from >= 0; i = w.states[i].from {
		word = append(word, w.states[i].letter)
	}
	slices.Reverse(word)
	return word
}

// bits is a set of small integers.
type bits []uint64

func newBits(n int) bits { return make(bits, (n+63)/64) }

// everything returns the set that contains all numbers.
func everything(n int) bits {
	b := newBits(n)
	for i := range b {
		b[i] = ^uint64(0)
	}
	return b
}

func (b bits) set(i int) { b[i/64] |= 1 << (i % 64) }

func (b bits) and(c bits) bits {
	both := make(bits, len(b))
	for i := range b {
		both[i] = b[i] & c[i]
	}
	return both
}

// within reports whether b is a subset of c.
func (b bits) within(c bits) bool {
	for i := range b {
		if b[i]&^c[i] != 0 {
			return false
		}
	}
	return true
}

func (b bits) key() string {
	var key []byte
	for _, x := range b {
		key = binary.LittleEndian.AppendUint64(key, x)
	}
	return string(key)
}
