package summary

import "math"

const (
	// lengthPower is the power of a unit's length by which its value is divided: 1 would value
	// units per word and fill the summary with fragments, 0 would fill it with the longest
	// sentences.
	lengthPower = 0.5

	// repetition is the share of a unit's features that the summary must have for the unit to
	// count as a repetition.
	repetition = 0.75

	// fragment is the share of the best unit's value below which a unit is not even selected to
	// fill the rest of the summary, unless it contains a cue.
	fragment = 0.1
)

// chooser selects units greedily by value: the weight of the features that the unit has and the
// summary has not yet, multiplied by the unit's rank and manner. The weight of a feature is the sum
// of the ranks of the units that contain it.
type chooser struct {
	units    []unit
	vecs     [][]entry
	factor   []float64 // of each unit: rank, manner and length
	weight   []float64 // of each feature
	covered  []float64 // how much of each feature the summary has
	fragment []bool    // of each unit
	taken    []bool
	any      bool
	left     int // in words
}

// choose reports which units belong to a summary of at most limit words; if none is that short, to
// one of the best unit alone. Each lesson contributes its best unit first, if it fits.
func choose(units []unit, vecs [][]entry, scores []float64, features, limit int) []bool {
	c := &chooser{
		units: units, vecs: vecs, left: limit,
		factor:   make([]float64, len(units)),
		weight:   make([]float64, features),
		covered:  make([]float64, features),
		fragment: make([]bool, len(units)),
		taken:    make([]bool, len(units)),
	}
	for i, v := range vecs {
		for _, e := range v {
			c.weight[e.id] += e.weight * scores[i]
		}
	}
	best := 0.0
	for i := range units {
		c.factor[i] = scores[i] * manner(units[i].text) / math.Pow(float64(max(1, units[i].words)), lengthPower)
		best = max(best, c.value(i))
	}
	for i := range units {
		c.fragment[i] = c.value(i) < fragment*best && !hasCue(units[i].text)
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
		c.left = math.MaxInt
		c.takeBest(0, len(units), true)
	}
	return c.taken
}

// takeBest takes the first of the most valuable units in a range that fit, and reports whether
// there is one. The very first unit may be without value.
func (c *chooser) takeBest(from, to int, fragments bool) bool {
	at, top := -1, 0.0
	if !c.any {
		top = -1
	}
	for i := from; i < to; i++ {
		if c.taken[i] || c.fragment[i] && !fragments || c.units[i].words > c.left {
			continue
		}
		if v := c.value(i); v > top {
			at, top = i, v
		}
	}
	if at < 0 {
		return false
	}
	c.taken[at], c.any = true, true
	c.left -= c.units[at].words
	for _, e := range c.vecs[at] {
		c.covered[e.id] = max(c.covered[e.id], e.weight)
	}
	return true
}

// value returns the value that a unit adds to the summary, 0 for a repetition.
func (c *chooser) value(i int) float64 {
	sum, same, all := 0.0, 0.0, 0.0
	for _, e := range c.vecs[i] {
		have := min(c.covered[e.id], e.weight)
		all += e.count
		if have > 0 {
			same += e.count
		}
		sum += (e.weight - have) * c.weight[e.id]
	}
	if same >= repetition*all {
		return 0
	}
	return sum * c.factor[i]
}
