package imagegen

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestCropIsTheLargestOfItsRatio(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		r := rapid.SampledFrom(Ratios()).Draw(t, "ratio")
		w, h := rapid.IntRange(1, 20_000).Draw(t, "w"), rapid.IntRange(1, 20_000).Draw(t, "h")
		x, y, cw, ch := r.Crop(w, h)
		require.True(t, x >= 0 && y >= 0 && cw > 0 && ch > 0 && x+cw <= w && y+ch <= h)
		require.True(t, cw == w || ch == h, "one side stays")
		a, b, _ := r.sides()
		if cw > 1 && ch > 1 { // within the half pixel that rounding costs
			require.LessOrEqual(t, max(cw*b-ch*a, ch*a-cw*b), max(a, b))
		}
	})
}

func TestMatches(t *testing.T) {
	t.Parallel()
	require.True(t, Ratio("16:9").Matches(1920, 1090))
	require.False(t, Ratio("16:9").Matches(1920, 1110))
}

func TestNearestRatio(t *testing.T) {
	t.Parallel()
	for _, r := range Ratios() {
		w, h, _ := r.sides()
		for _, scale := range []int{1, 7, 1000} {
			require.Equal(t, r, NearestRatio(w*scale, h*scale))
		}
	}
	for size, want := range map[[2]int]Ratio{
		{1792, 1024}: "16:9", {1024, 1792}: "9:16", {100_000, 1}: "21:9", {1, 100_000}: "9:21",
		{0, 5}: "1:1", {5, -1}: "1:1",
	} {
		require.Equal(t, want, NearestRatio(size[0], size[1]), size)
	}
}
