package feedbacktest_test

import (
	"fmt"

	"lessonkit.example/feedback/audiotype"
	"lessonkit.example/feedback/feedbacktest"
)

func ExampleMP3() {
	t, ok := audiotype.Detect(feedbacktest.MP3("a marker of the test's"))
	fmt.Println(t.ContentType, ok)
	// Output: audio/mpeg true
}
