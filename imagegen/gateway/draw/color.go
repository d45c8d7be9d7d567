package draw

import (
	"image/color"
	"math"
	"math/rand/v2"
)

// lab is a colour in Oklab, where mixing two colours passes through no mud: l is lightness from 0 to 1, a and b are green to red
// and blue to yellow.
type lab struct{ l, a, b float64 }

// lch makes a colour from lightness, chroma and hue in turns.
func lch(l, c, hue float64) lab {
	sin, cos := math.Sincos(2 * math.Pi * hue)
	return lab{l, c * cos, c * sin}
}

func (c lab) hue() float64    { return math.Atan2(c.b, c.a) / (2 * math.Pi) }
func (c lab) chroma() float64 { return math.Hypot(c.a, c.b) }

func mix(c, d lab, t float64) lab {
	t = min(max(t, 0), 1)
	return lab{c.l + (d.l-c.l)*t, c.a + (d.a-c.a)*t, c.b + (d.b-c.b)*t}
}

// ramp mixes along a row of colours, t from 0 to 1.
func ramp(colors []lab, t float64) lab {
	t = min(max(t, 0), 1) * float64(len(colors)-1)
	i := min(int(t), len(colors)-2)
	return mix(colors[i], colors[i+1], smooth(t-float64(i)))
}

func smooth(t float64) float64 {
	t = min(max(t, 0), 1)
	return t * t * (3 - 2*t)
}

// fitted is the colour if sRGB has it, else one with just so much less chroma that it has: that keeps the hue and shows no steps.
func (c lab) fitted() lab {
	if c.shown() {
		return c
	}
	c.l = min(max(c.l, 0), 1)
	low, high := 0.0, 1.0
	for range 10 {
		t := (low + high) / 2
		if (lab{c.l, c.a * t, c.b * t}).shown() {
			low = t
		} else {
			high = t
		}
	}
	return lab{c.l, c.a * low, c.b * low}
}

// shown reports whether sRGB has the colour.
func (c lab) shown() bool {
	r, g, b := c.linear()
	return min(r, g, b) >= -0.0005 && max(r, g, b) <= 1.0005
}

// linear applies the matrices of Björn Ottosson's definition of Oklab.
func (c lab) linear() (r, g, b float64) {
	l := cube(c.l + 0.3963377774*c.a + 0.2158037573*c.b)
	m := cube(c.l - 0.1055613458*c.a - 0.0638541728*c.b)
	s := cube(c.l - 0.0894841775*c.a - 1.2914855480*c.b)
	return 4.0767416621*l - 3.3077115913*m + 0.2309699292*s,
		-1.2684380046*l + 2.6097574011*m - 0.3413193965*s,
		-0.0041960863*l - 0.7034186147*m + 1.7076147010*s
}

func fromColor(c color.Color) lab {
	r16, g16, b16, _ := c.RGBA()
	r, g, b := decode(r16), decode(g16), decode(b16)
	l := math.Cbrt(0.4122214708*r + 0.5363325363*g + 0.0514459929*b)
	m := math.Cbrt(0.2119034982*r + 0.6806995451*g + 0.1073969566*b)
	s := math.Cbrt(0.0883024619*r + 0.2817188376*g + 0.6299787005*b)
	return lab{0.2104542553*l + 0.7936177850*m - 0.0040720468*s,
		1.9779984951*l - 2.4285922050*m + 0.4505937099*s,
		0.0259040371*l + 0.7827717662*m - 0.8086757660*s}
}

func cube(x float64) float64 { return x * x * x }

// table maps the roots of linear values to bytes of sRGB; the root spreads the dark ones, where the curve is steep.
type table [4096]byte

func newTable() *table {
	var t table
	for i := range t {
		root := (float64(i) + 0.5) / float64(len(t))
		x := root * root
		if x <= 0.0031308 {
			x *= 12.92
		} else {
			x = 1.055*math.Pow(x, 1/2.4) - 0.055
		}
		t[i] = byte(x*255 + 0.5)
	}
	return &t
}

func (t *table) encode(x float64) byte {
	return t[min(int(math.Sqrt(max(x, 0))*float64(len(t))), len(t)-1)]
}

func decode(v uint32) float64 {
	x := float64(v) / 0xffff
	if x <= 0.04045 {
		return x / 12.92
	}
	return math.Pow((x+0.055)/1.055, 2.4)
}

// palette is a set of colours that go together: a main hue, its neighbours and something warm against it.
type palette struct {
	hue, accent float64
	night       bool
	chroma      float64
}

func newPalette(rng *rand.Rand, tint []lab) palette {
	hues := []float64{0.02, 0.06, 0.11, 0.44, 0.50, 0.56, 0.62, 0.68, 0.73, 0.79, 0.86, 0.94}
	p := palette{hue: hues[rng.IntN(len(hues))] + 0.02*(rng.Float64()-0.5), night: rng.IntN(3) == 0, chroma: 0.09 + 0.06*rng.Float64()}
	if len(tint) > 0 {
		t := tint[rng.IntN(len(tint))]
		p.hue, p.night = t.hue(), t.l < 0.35
		p.chroma = min(max(t.chroma()*1.3, 0.03), 0.16)
	}
	p.accent = p.hue + []float64{0.42, 0.5, 0.58, 0.33}[rng.IntN(4)]
	return p
}

// near is a colour whose hue is close to the main one.
func (p palette) near(l, chroma, shift float64) lab { return pleasant(l, p.chroma*chroma, p.hue+shift) }

// far is a colour against it.
func (p palette) far(l, chroma, shift float64) lab {
	return pleasant(l, p.chroma*chroma, p.accent+shift)
}

// pleasant moves the hue of a dark or middling yellow, which looks like mud, to brown or green.
func pleasant(l, chroma, hue float64) lab {
	hue -= math.Floor(hue)
	if l < 0.7 && hue > 0.17 && hue < 0.38 {
		if hue < 0.27 {
			hue = 0.16
		} else {
			hue = 0.41
		}
	}
	return lch(l, chroma, hue)
}
