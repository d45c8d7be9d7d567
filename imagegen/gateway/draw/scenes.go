package draw

import (
	"math"
	"math/rand/v2"
)

// hills is a landscape: a sky with a sun or moon, and ridges that fade into the distance.
func hills(rng *rand.Rand, p palette, aspect float64) shader {
	sky := []lab{p.near(0.55, 1.2, -0.06), p.near(0.72, 0.9, 0), p.far(0.86, 0.8, -0.03), p.far(0.93, 0.5, 0.03)}
	disc := p.far(0.97, 0.45, 0.04)
	if p.night {
		sky = []lab{p.near(0.17, 0.5, -0.05), p.near(0.27, 0.7, 0), p.near(0.42, 0.9, 0.05), p.far(0.62, 0.7, 0)}
		disc = p.far(0.95, 0.15, 0)
	}
	horizon := 0.50 + 0.14*rng.Float64()
	sunX, sunY := aspect*(0.2+0.6*rng.Float64()), horizon*(0.35+0.45*rng.Float64())
	sunR := 0.055 + 0.05*rng.Float64()
	type star struct{ x, y, r float64 }
	var stars []star
	if p.night {
		for range int(90 * aspect) {
			stars = append(stars, star{rng.Float64() * aspect, rng.Float64() * horizon * 0.95, 0.0006 + 0.0012*math.Pow(rng.Float64(), 3)})
		}
	}
	const ridges = 6
	type ridge struct {
		noise           noise
		base, rise, wav float64
		top, foot       lab
	}
	var layers []ridge
	for i := range ridges {
		t := float64(i) / (ridges - 1)
		far, near := sky[2], p.near(0.24, 0.7, -0.04)
		if p.night {
			far, near = sky[2], p.near(0.10, 0.35, -0.04)
		}
		c := mix(far, near, 0.25+0.75*math.Pow(t, 0.85))
		foot := mix(c, sky[2], 0.42*(1-0.75*t)) // mist gathers at the foot of each ridge
		layers = append(layers, ridge{newNoise(rng), horizon + 0.12 + (1.0-horizon)*math.Pow(t, 1.2)*0.92, 0.36 - 0.14*t, 1.5 + 1.3*(1-t), c, foot})
	}
	return func(x, y, pixel float64) lab {
		c := ramp(sky, y/horizon*0.98)
		for _, s := range stars {
			if math.Abs(x-s.x) < 0.004 && math.Abs(y-s.y) < 0.004 {
				c.l += 0.6 * (1 - smooth((math.Hypot(x-s.x, y-s.y)-s.r)/(1.5*pixel)))
			}
		}
		d := math.Hypot(x-sunX, y-sunY)
		c = mix(c, disc, 0.55*math.Exp(-d*d/(sunR*sunR*9))+0.25*math.Exp(-d/(sunR*5)))
		c = mix(c, disc, 1-smooth((d-sunR)/(2*pixel)+0.5))
		for _, r := range layers {
			edge := r.base - r.rise*r.noise.ridge(x*r.wav)
			if cover := smooth((y-edge)/(1.5*pixel) + 0.5); cover > 0 {
				c = mix(c, mix(r.top, r.foot, (y-edge)/0.22), cover)
			}
		}
		return c
	}
}

// veils is an abstract: sheets of colour that lie over one another in long waves, each lit along its edge and shading the one
// behind it.
func veils(rng *rand.Rand, p palette, aspect float64) shader {
	row := []lab{p.far(0.95, 0.4, 0), p.far(0.86, 0.8, 0.03), p.near(0.78, 1.0, 0.08), p.near(0.62, 1.3, 0.03), p.near(0.46, 1.2, -0.03), p.near(0.30, 0.9, -0.08)}
	if p.night {
		row = []lab{p.near(0.16, 0.5, 0), p.near(0.27, 0.8, -0.04), p.near(0.42, 1.2, 0), p.near(0.58, 1.3, 0.05), p.far(0.72, 1.1, 0), p.far(0.86, 0.7, 0.04)}
	}
	type sheet struct {
		noise      noise
		base, tilt float64
		rise, wave float64
		body, edge lab
	}
	count := 5 + rng.IntN(4)
	tilt := 0.5 * (rng.Float64() - 0.5)
	var sheets []sheet
	for i := range count {
		t := (float64(i) + 1) / float64(count+1)
		c := ramp(row, 0.12+0.88*t)
		lit := mix(c, row[0], 0.30)
		if p.night {
			lit = mix(c, row[len(row)-1], 0.35)
		}
		sheets = append(sheets, sheet{newNoise(rng), -0.02 + 0.98*t, tilt + 0.12*(rng.Float64()-0.5), 0.30 + 0.14*rng.Float64(), 0.75 + 0.55*rng.Float64(), c, lit})
	}
	glowX, glowY := aspect*rng.Float64(), 0.1+0.4*rng.Float64()
	return func(x, y, pixel float64) lab {
		c := mix(row[0], row[1], y*1.3+0.25*(x/aspect-0.5))
		for i := range sheets {
			s := &sheets[i]
			edge := s.base + s.tilt*(x/aspect-0.5) + s.rise*(s.noise.value(x*s.wave, 0.5)*0.75+s.noise.value(x*s.wave*2.1+9, 4.5)*0.25-0.5)
			d := y - edge
			if d < 0 {
				c.l -= 0.07 * math.Exp(d/0.05) // the shadow on what lies behind
			}
			if cover := smooth(d/(1.5*pixel) + 0.5); cover > 0 {
				c = mix(c, mix(s.edge, s.body, 1-math.Exp(-max(d, 0)/0.10)), cover)
			}
		}
		c.l += 0.05 * math.Exp(-((x-glowX)*(x-glowX)+(y-glowY)*(y-glowY))/0.3)
		return c
	}
}

// mosaic is a pattern of tiles with quarter circles, rings, leaves and dots.
func mosaic(rng *rand.Rand, p palette, aspect float64) shader {
	ground := p.far(0.95, 0.18, 0)
	ink := []lab{p.near(0.33, 0.9, -0.04), p.near(0.58, 1.25, 0), p.near(0.80, 0.75, 0.05), p.far(0.68, 1.35, 0), p.far(0.85, 0.85, 0.05), ground}
	if p.night {
		ground = p.near(0.17, 0.45, 0)
		ink = []lab{p.near(0.30, 0.8, 0), p.near(0.50, 1.2, 0.03), p.near(0.78, 0.8, -0.04), p.far(0.72, 1.3, 0), p.far(0.88, 0.5, 0.04), ground}
	}
	rows := 4 + rng.IntN(3)
	cols := max(1, int(math.Round(float64(rows)*aspect)))
	type tile struct {
		kind, turn int
		back, fore lab
		extra      lab
	}
	tiles := make([]tile, rows*cols)
	for i := range tiles {
		back := rng.IntN(len(ink))
		fore := (back + 1 + rng.IntN(len(ink)-1)) % len(ink)
		tiles[i] = tile{rng.IntN(6), rng.IntN(4), ink[back], ink[fore], ink[rng.IntN(len(ink))]}
	}
	return func(x, y, pixel float64) lab {
		u, v := x/aspect*float64(cols), y*float64(rows)
		i, j := min(int(u), cols-1), min(int(v), rows-1)
		t := tiles[j*cols+i]
		u, v = u-float64(i), v-float64(j)
		for range t.turn {
			u, v = v, 1-u
		}
		soft := pixel * float64(rows) * 1.4
		in := func(d float64) float64 { return 1 - smooth(d/soft+0.5) } // coverage of what lies within distance d < 0
		c := t.back
		corner, centre := math.Hypot(u, v), math.Hypot(u-0.5, v-0.5)
		switch t.kind {
		case 0: // quarter circle
			c = mix(c, t.fore, in(corner-1))
			c = mix(c, t.extra, in(corner-0.5))
		case 1: // rings
			for k, r := range []float64{1, 0.75, 0.5, 0.25} {
				c = mix(c, []lab{t.fore, t.back}[k%2], in(corner-r))
			}
		case 2: // leaf
			c = mix(c, t.fore, in(math.Max(corner, math.Hypot(1-u, 1-v))-1))
		case 3: // disc
			c = mix(c, t.fore, in(centre-0.36))
			c = mix(c, t.extra, in(centre-0.14))
		case 4: // half
			c = mix(c, t.fore, in(math.Max(math.Hypot(u-0.5, v)-0.5, -v)))
			c = mix(c, t.extra, in(math.Max(math.Hypot(u-0.5, v-0.5)-0.5, 0.5-v)))
		default: // triangle
			c = mix(c, t.fore, in((u+v-1)/math.Sqrt2))
		}
		c.l += 0.012 * (0.5 - y) // light from above
		return c
	}
}
