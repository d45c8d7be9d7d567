package imagegen

import (
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
)

// Ratio is the aspect ratio of an image, width to height, as the service writes it: "16:9". The empty Ratio leaves the choice
// to the service. The service takes it as a wish: what comes back may have another ratio, so check [Info] or crop with package fit.
type Ratio string

// The 13 ratios the interface allows.
const (
	Square        Ratio = "1:1"
	Wide16x9      Ratio = "16:9"
	Tall9x16      Ratio = "9:16"
	Wide4x3       Ratio = "4:3"
	Tall3x4       Ratio = "3:4"
	Wide3x2       Ratio = "3:2"
	Tall2x3       Ratio = "2:3"
	Wide5x4       Ratio = "5:4"
	Tall4x5       Ratio = "4:5"
	Wide2x1       Ratio = "2:1"
	Tall1x2       Ratio = "1:2"
	UltraWide21x9 Ratio = "21:9"
	UltraTall9x21 Ratio = "9:21"
)

const ratioTolerance = 0.01

// Ratios yields the 13 ratios the interface allows, in its order.
func Ratios() iter.Seq[Ratio] {
	return slices.Values([]Ratio{Square, Wide16x9, Tall9x16, Wide4x3, Tall3x4, Wide3x2, Tall2x3, Wide5x4, Tall4x5, Wide2x1, Tall1x2,
		UltraWide21x9, UltraTall9x21})
}

// ParseRatio returns the ratio s names, or an error that lists the allowed ones. The empty string is refused.
func ParseRatio(s string) (Ratio, error) {
	var all []string
	for r := range Ratios() {
		if s == string(r) {
			return r, nil
		}
		all = append(all, string(r))
	}
	return "", fmt.Errorf("size %q: want one of %s", s, strings.Join(all, " "))
}

// sides returns the two numbers of r; ok is false when r is not two positive numbers with a colon between them.
func (r Ratio) sides() (a, b int, ok bool) {
	left, right, found := strings.Cut(string(r), ":")
	a, errA := strconv.Atoi(left)
	b, errB := strconv.Atoi(right)
	const most = 1 << 15 // keeps the products below within an int
	return a, b, found && errA == nil && errB == nil && a > 0 && b > 0 && a < most && b < most
}

// Crop returns the largest rectangle of ratio r in the middle of an image of w by h pixels: the top left corner and the size.
// A Ratio that is empty or malformed gives the whole image back.
func (r Ratio) Crop(w, h int) (x, y, cw, ch int) {
	a, b, ok := r.sides()
	if !ok || w <= 0 || h <= 0 {
		return 0, 0, w, h
	}
	cw, ch = w, h
	if w*b > h*a {
		cw = max(1, (h*a*2+b)/(2*b))
	} else {
		ch = max(1, (w*b*2+a)/(2*a))
	}
	return (w - cw) / 2, (h - ch) / 2, cw, ch
}

// Matches reports whether an image of w by h pixels has ratio r, give or take tolerance (0.01 is one per cent; 0 or less means
// that one per cent). The empty Ratio matches everything.
func (r Ratio) Matches(w, h int, tolerance float64) bool {
	if r == "" {
		return true
	}
	a, b, ok := r.sides()
	if !ok || w <= 0 || h <= 0 {
		return false
	}
	if tolerance <= 0 {
		tolerance = ratioTolerance
	}
	have, want := float64(w)*float64(b), float64(h)*float64(a)
	return have >= want*(1-tolerance) && have <= want*(1+tolerance)
}

// Float returns width divided by height, 0 for a malformed Ratio.
func (r Ratio) Float() float64 {
	a, b, ok := r.sides()
	if !ok {
		return 0
	}
	return float64(a) / float64(b)
}
