package harness

import (
	"bytes"
	"io"
	"testing"
)

func TestCheckFailsOutOfBounds(t *testing.T) {
	for _, c := range []struct {
		row  Row
		fail bool
	}{
		{Row{Name: "rate", Ours: []float64{30, 10}, Peer: []float64{10, 10}, Must: 2}, false},
		{Row{Name: "rate", Ours: []float64{19, 19}, Peer: []float64{10, 10}, Must: 2}, true},
		{Row{Name: "bytes", Ours: []float64{5}, Must: 4, Better: Lower}, true},
		{Row{Name: "bytes", Ours: []float64{4}, Must: 4, Better: Lower}, false},
	} {
		h, err := New("x", []string{"-check"})
		if err != nil {
			t.Fatal(err)
		}
		h.Add(c.row)
		var out bytes.Buffer
		if err := h.Finish(&out); (err != nil) != c.fail {
			t.Errorf("%+v: %v\n%s", c.row, err, out.String())
		}
	}
}

func TestAlternateChangesTheOrder(t *testing.T) {
	h := &Harness{Pairs: 3, Log: io.Discard}
	order := ""
	side := func(s string, v float64) func() float64 {
		return func() float64 { order += s; return v }
	}
	h.Alternate(Row{Name: "n"}, side("a", 6), side("b", 2))
	if order != "abbaab" {
		t.Errorf("order %q", order)
	}
	if r := h.rows[0].result(); r != 3 {
		t.Errorf("ratio %v", r)
	}
}
