package draw

import (
	"math"
	"math/rand/v2"
)

// noise is smooth random variation over a plane: values on a grid with a smooth way from one to the next.
type noise struct{ table [512]float64 }

func newNoise(rng *rand.Rand) noise {
	var n noise
	for i := range 256 {
		n.table[i] = rng.Float64()
	}
	copy(n.table[256:], n.table[:256])
	return n
}

func (n *noise) at(x, y int) float64 {
	return n.table[(x&255+int(n.table[y&255]*255))&511]
}

// value is noise of wavelength 1, between 0 and 1.
func (n *noise) value(x, y float64) float64 {
	fx, fy := math.Floor(x), math.Floor(y)
	i, j := int(fx), int(fy)
	u, v := quintic(x-fx), quintic(y-fy)
	top := n.at(i, j) + (n.at(i+1, j)-n.at(i, j))*u
	bottom := n.at(i, j+1) + (n.at(i+1, j+1)-n.at(i, j+1))*u
	return top + (bottom-top)*v
}

// quintic has no kink in its slope, so gradients made of it show no grid.
func quintic(t float64) float64 { return t * t * t * (t*(t*6-15) + 10) }

// ridge is the height of a mountain ridge, between 0 and 1: large shapes, and smaller ones where it is high.
func (n *noise) ridge(x float64) float64 {
	big := n.value(x, 0.5)
	h := 0.62*big + 0.22*n.value(x*2.3+11, 9.5) + 0.10*n.value(x*5.1+5, 3.5)*(0.4+big)
	return h + 0.028*n.value(x*13+2, 6.5)*(0.3+big) + 0.012*n.value(x*31, 1.5)
}
