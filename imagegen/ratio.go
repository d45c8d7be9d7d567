package imagegen

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Ratio is the aspect ratio of an image, width to height, as the service writes it: "16:9". If
// empty, the service chooses. The service treats it as a wish: the image may have another ratio, so
// check [Info] or crop with package fit.
type Ratio string

const ratioTolerance = 0.01

// Ratios returns the 13 ratios of the interface, in its order.
func Ratios() []Ratio {
	return []Ratio{"1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3", "5:4", "4:5", "2:1", "1:2", "21:9", "9:21"}
}

// ParseRatio returns s as a Ratio if it is one of [Ratios]. Its error lists them.
func ParseRatio(s string) (Ratio, error) {
	if !slices.Contains(Ratios(), Ratio(s)) {
		return "", fmt.Errorf("unsupported size %q: use one of %s", s, strings.Trim(fmt.Sprint(Ratios()), "[]"))
	}
	return Ratio(s), nil
}

// NearestRatio returns the one of [Ratios] that differs least from an image of w by h pixels, by
// factor: 1:1 if w or h is not positive.
func NearestRatio(w, h int) (nearest Ratio) {
	if w <= 0 || h <= 0 {
		return "1:1"
	}
	least := math.Inf(1)
	for _, r := range Ratios() {
		a, b, _ := r.sides()
		if d := math.Abs(math.Log(float64(w) / float64(h) * float64(b) / float64(a))); d < least {
			nearest, least = r, d
		}
	}
	return nearest
}

// sides returns the two numbers of r; ok is false unless r is two positive numbers around a colon.
func (r Ratio) sides() (a, b int, ok bool) {
	left, right, found := strings.Cut(string(r), ":")
	a, errA := strconv.Atoi(left)
	b, errB := strconv.Atoi(right)
	const limit = 1 << 15 // keeps the products below within an int
	return a, b, found && errA == nil && errB == nil && a > 0 && b > 0 && a < limit && b < limit
}

// Crop returns the largest centered rectangle of ratio r in an image of w by h pixels: its top left
// corner and its size. An empty or malformed Ratio returns the whole image.
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

// Matches reports whether an image of w by h pixels has ratio r within 1 %. The empty Ratio matches
// every image.
func (r Ratio) Matches(w, h int) bool {
	if r == "" {
		return true
	}
	a, b, ok := r.sides()
	if !ok || w <= 0 || h <= 0 {
		return false
	}
	have, want := float64(w)*float64(b), float64(h)*float64(a)
	return have >= want*(1-ratioTolerance) && have <= want*(1+ratioTolerance)
}
