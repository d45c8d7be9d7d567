package draw_test

import (
	"bytes"
	"fmt"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway/draw"
)

func TestPicturesHaveTheRequestedRatio(t *testing.T) {
	t.Parallel()
	for _, ratio := range imagegen.Ratios() {
		images := imagegen.Memory()
		r, err := draw.Generator{LongEdge: 320}.Generate(t.Context(), &imagegen.Request{Prompt: "x", Size: ratio},
			images)
		require.NoError(t, err)
		c, err := png.DecodeConfig(bytes.NewReader(images.Get(0)))
		require.NoError(t, err)
		require.True(t, ratio.Matches(c.Width, c.Height), "%s: %dx%d", ratio, c.Width, c.Height)
		require.Equal(t, 320, max(c.Width, c.Height))
		require.Equal(t, int64(len(images.Get(0))), r.Images[0].Size)
	}
}

func TestTheSameRequestGivesTheSamePixels(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	g := draw.Generator{LongEdge: 96}
	for _, prompt := range []string{"a red fox", "a blue fox", "", "城市"} {
		request := &imagegen.Request{Prompt: prompt, N: 3, Size: "16:9"}
		once, again := imagegen.Memory(), imagegen.Memory()
		for _, images := range []*imagegen.Buffers{once, again} {
			_, err := g.Generate(t.Context(), request, images)
			require.NoError(t, err)
		}
		for i := range 3 {
			a := once.Get(i)
			require.Equal(t, a, again.Get(i))
			require.NotContains(t, seen, string(a), "as that of %s", seen[string(a)])
			seen[string(a)] = fmt.Sprint(prompt, i)
		}
	}
}
