package summary

import "math"

// Settings of the choice.
const (
	// shortness is the power of a unit's length by which its worth is divided: 1
	// would count worth per word and fill the summary with scraps, 0 would fill it
	// with the longest sentences.
	shortness = 0.5

	// repeated is the share of a unit's features in the summary from which on it
	// counts as the same thing said again.
	repeated = 0.75

	// scrap is the share of the best unit's worth below which a unit is not even
	// taken to fill what room is left, unless the teacher marked it as mattering.
	scrap = 0.1
)

// chooser puts a summary together: again and again it takes the unit that is
// worth most. That is the weight of the features it has and no chosen unit has,
// times its own rank and manner; a feature weighs as much as the ranks of the
// units that use it.
type chooser struct {
	units   []unit
	vecs    [][]entry
	factor  []float64 // of each unit: rank, manner and length
	weight  []float64 // of each feature
	covered []float64 // how much of each feature the summary has
	bound   []float64 // no unit is worth more than this: worth only ever falls
	scrap   []bool
	taken   []bool
	any     bool
	room    int // words
}

// choose marks the units of a summary of at most limit words, or the best one
// alone when none is that short. Each lesson gives its best unit first where
// there is room.
func choose(units []unit, vecs [][]entry, scores []float64, features, limit int) []bool {
	c := &chooser{
		units: units, vecs: vecs, room: limit,
		factor:  make([]float64, len(units)),
		weight:  make([]float64, features),
		covered: make([]float64, features),
		bound:   make([]float64, len(units)),
		scrap:   make([]bool, len(units)),
		taken:   make([]bool, len(units)),
	}
	for i, v := range vecs {
		for _, e := range v {
			c.weight[e.id] += e.weight * scores[i]
		}
	}
	floor := 0.0
	for i, v := range vecs {
		c.factor[i] = scores[i] * manner(units[i].text) / math.Pow(float64(max(1, units[i].words)), shortness)
		c.bound[i] = c.gain(v) * c.factor[i]
		floor = max(floor, scrap*c.bound[i])
	}
	for i := range units {
		c.scrap[i] = c.bound[i] < floor && !hasCue(units[i].text)
	}
	for from := 0; from < len(units); {
		to := from + 1
		for to < len(units) && units[to].lesson == units[from].lesson {
			to++
		}
		c.takeBest(from, to, true)
		from = to
	}
	for c.takeBest(0, len(units), false) {
	}
	if !c.any {
		c.room = math.MaxInt
		c.takeBest(0, len(units), true)
	}
	return c.taken
}

// takeBest takes the worthiest unit that fits of those from from up to to, the
// first of equals, a scrap only where scraps are wanted. It reports whether
// there was one.
func (c *chooser) takeBest(from, to int, scraps bool) bool {
	at, top := -1, 0.0
	if !c.any {
		top = -1 // the first may even be worthless
	}
	for i := from; i < to; i++ {
		if c.taken[i] || c.scrap[i] && !scraps || c.units[i].words > c.room || c.bound[i] <= top {
			continue
		}
		c.bound[i] = c.gain(c.vecs[i]) * c.factor[i]
		if c.bound[i] > top {
			at, top = i, c.bound[i]
		}
	}
	if at < 0 {
		return false
	}
	c.taken[at], c.any = true, true
	c.room -= c.units[at].words
	for _, e := range c.vecs[at] {
		c.covered[e.id] = max(c.covered[e.id], e.weight)
	}
	return true
}

// gain is the weight of what v adds to what is covered, zero for a repetition.
func (c *chooser) gain(v []entry) float64 {
	sum, same, all := 0.0, 0.0, 0.0
	for _, e := range v {
		have := min(c.covered[e.id], e.weight)
		all += e.count
		if have > 0 {
			same += e.count
		}
		sum += (e.weight - have) * c.weight[e.id]
	}
	if same >= repeated*all {
		return 0
	}
	return sum
}
