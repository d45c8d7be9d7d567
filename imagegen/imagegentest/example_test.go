package imagegentest_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/imagegentest"
)

// In a synctest bubble a task of two minutes takes no time. The fake checks every rule of the
// interface.
func Example() {
	_ = func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			fake := imagegentest.New(t, imagegentest.Options{Mode: imagegentest.Async, Duration: 2 * time.Minute})
			fake.Script(imagegentest.Polls(500, 404, 0)) // three polls fail
			_, err := fake.Client(nil).Generate(t.Context(), &imagegen.Request{Prompt: "a red fox"}, imagegen.Memory())
			require.NoError(t, err)
			require.Equal(t, 1, fake.Counts().Generations)
		})
	}
}
