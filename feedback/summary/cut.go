package summary

import (
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"lessonkit.example/feedback/internal/script"
)

// The lengths in words of the pieces of a long sentence.
const (
	minPiece    = 5
	targetPiece = 16
)

// The costs of a cut, to which the squares of the pieces' relative distances from the target length
// are added.
const (
	costComma = 0.0
	costPause = 0.1 // a space between two characters of an unspaced script
	costOpen  = 0.2 // before a word that starts a clause
	costMaybe = 0.7 // before a word that often starts one, or after a particle that often ends one
	costWord  = 1.5 // anywhere else
	costTorn  = 3.0 // between words that belong together
)

// openers are words that start a clause in a lesson, mayOpen words that often do.
var (
	openers = strings.Fields(`so then but because now okay next first second third when remember please today otherwise
		然后 接下来 那么 所以 但是 不过 可是 因为 现在 首先 最后 还有 另外 如果
		要是 今天 记住 第一 第二 第三 接着 下面 再来 同学们 其实 刚才 比如 好`)
	mayOpen = strings.Fields(`and if where why what who we you
		大家 这里 这个 那个 就是 我们 你们 他们 这样`)
)

// particles are characters that end a clause in spoken Chinese.
const particles = "吧呢吗啊呀哦嘛了"

// proclitics are words and characters with which no clause ends, enclitics those with which none
// starts.
var (
	proclitics = wordSet(`a an the of to for in on at by with from into and or if as than
		my your his her its our their this these very not only i we he she they it's is are was were be been
		can will would must should could may do does did don't has have had
		要请把被让给跟和与从在对向比用为是的得这那第很更最不没再
		先都也就才会能可想该因所如但一两三几每各个哪`)
	enclitics = wordSet(`的了着过得地们吗呢吧啊呀哦嘛里面边上下子儿头个些种次遍`)
)

// wordSet returns the tokens of a list of words.
func wordSet(text string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(text) {
		for _, t := range script.Tokenize(w) {
			m[w[t.Start:t.End]] = true
		}
	}
	return m
}

// cut returns a sentence as one unit or, if it is too long, as pieces with the least total cost.
func cut(s string, lesson int) []unit {
	tokens := script.Tokenize(s)
	if len(tokens) <= maxUnit {
		return []unit{{text: s, lesson: lesson, words: countWords(s)}}
	}
	cost := cutCosts(s, tokens)
	// best[i] is the least cost of cutting tokens[:i], from[i] the start of its last piece.
	best := make([]float64, len(tokens)+1)
	from := make([]int, len(tokens)+1)
	for i := 1; i <= len(tokens); i++ {
		best[i] = math.Inf(1)
		for j := max(0, i-maxUnit); j < i; j++ {
			off := float64(i-j-targetPiece) / targetPiece
			c := best[j] + cost[j] + off*off
			if i-j < minPiece {
				c += 2
			}
			if c < best[i] {
				best[i], from[i] = c, j
			}
		}
	}
	var bounds []int
	for i := len(tokens); i > 0; i = from[i] {
		bounds = append(bounds, from[i])
	}
	var units []unit
	end := len(s)
	for _, b := range bounds { // from the last piece to the first
		start := tokens[b].Start
		if b == 0 {
			start = 0
		} else {
			start = openStart(s, start)
		}
		text := strings.TrimSpace(s[start:end])
		before := strings.TrimRight(s[:start], " ")
		units = append(units, unit{text: text, lesson: lesson, words: countWords(text),
			gap: s[len(before):start], glued: b > 0})
		end = start
	}
	slices.Reverse(units)
	return units
}

// openStart moves start before the opening quotes and brackets of the word there.
func openStart(s string, start int) int {
	for start > 0 {
		r, n := utf8.DecodeLastRuneInString(s[:start])
		if !strings.ContainsRune("“‘「『（([【《", r) {
			break
		}
		start -= n
	}
	return start
}

// cutCosts returns for each token the cost of starting a piece there.
func cutCosts(s string, tokens []script.Token) []float64 {
	costs := make([]float64, len(tokens))
	pauses := spacesArePauses(tokens)
	word := func(i int) string { return strings.ToLower(s[tokens[i].Start:tokens[i].End]) }
	pairs := map[string]int{} // pairs that occur repeatedly probably are a word
	for i := 1; i < len(tokens); i++ {
		if tokens[i].Char && tokens[i-1].Char {
			pairs[word(i-1)+word(i)]++
		}
	}
	for i := 1; i < len(tokens); i++ {
		between := s[tokens[i-1].End:tokens[i].Start]
		char := tokens[i].Char && tokens[i-1].Char
		switch {
		case strings.ContainsAny(between, ",，;；:：—"):
			costs[i] = costComma
		case char && between != "" && pauses:
			costs[i] = costPause
		case proclitics[word(i-1)], tokens[i].Char && enclitics[word(i)]:
			costs[i] = costTorn
		case i > 1 && opens(s, tokens, i-2, openers) || opens(s, tokens, i-1, openers):
			costs[i] = costWord // not after "and then"
		case opens(s, tokens, i, openers):
			costs[i] = costOpen
		case opens(s, tokens, i, mayOpen), char && strings.Contains(particles, word(i-1)):
			costs[i] = costMaybe
		case char && pairs[word(i-1)+word(i)] > 1:
			costs[i] = costTorn
		default:
			costs[i] = costWord
		}
	}
	return costs
}

// opens reports whether one of words starts at tokens[i].
func opens(s string, tokens []script.Token, i int, words []string) bool {
	if !tokens[i].Char {
		word := strings.ToLower(s[tokens[i].Start:tokens[i].End])
		return slices.Contains(words, word)
	}
	rest := s[tokens[i].Start:]
	for _, w := range words {
		if !strings.HasPrefix(rest, w) {
			continue
		}
		if w != "好" || i == 0 {
			return true
		}
		// As a separate word, not as the end or the start of another one.
		last := s[tokens[i-1].Start:tokens[i-1].End]
		next, _ := utf8.DecodeRuneInString(rest[len(w):])
		return !strings.Contains("很更最不真正还只做你您就可常挺蛮较", last) &&
			!strings.ContainsRune("看听玩吃的了像几多处", next)
	}
	return false
}

// spacesArePauses reports whether spaces between characters are the speaker's pauses. Otherwise the
// transcriber writes one after every word, and they are close together.
func spacesArePauses(tokens []script.Token) bool {
	chars, spaces := 0, 1
	for i, t := range tokens {
		if !t.Char {
			continue
		}
		chars++
		if i > 0 && tokens[i-1].Char && tokens[i-1].End != t.Start {
			spaces++
		}
	}
	return chars >= 4*spaces
}
