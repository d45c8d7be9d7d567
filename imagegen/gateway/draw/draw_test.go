package draw_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/gateway/draw"
)

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
