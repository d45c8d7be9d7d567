package summary_test

import (
	"context"
	"fmt"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

func ExampleExtractive() {
	s, err := summary.Extractive{MaxWords: 30}.Summarize(context.Background(), feedback.SummaryInput{
		Transcripts: []string{`okay sit down please
is the window open
remember to hold the bow parallel to the bridge
a crooked bow gives a scratchy sound
who wants some water
homework is long bows in front of the mirror`},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(s.Text)
	// Output:
	// remember to hold the bow parallel to the bridge. a crooked bow gives a scratchy sound. homework is long bows in front of the mirror.
}
