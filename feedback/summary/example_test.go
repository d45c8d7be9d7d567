package summary_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/summary"
)

func ExampleExtractive() {
	s, err := summary.Extractive{MaxWords: 20}.Summarize(context.Background(), feedback.SummaryInput{
		Lessons: []feedback.SummaryLesson{{Text: `okay sit down please
is the window open
hold the bow parallel to the bridge
a crooked bow gives a scratchy sound
who wants some water
homework is long bows in front of the mirror`}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Text)
	// Output: hold the bow parallel to the bridge. homework is long bows in front of the mirror.
}

func ExampleFallback() {
	endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "no such model", http.StatusNotFound)
	}))
	defer endpoint.Close()
	chat, err := summary.NewChat(summary.ChatConfig{URL: endpoint.URL + "/v1", APIKey: "secret", Model: "small"})
	if err != nil {
		log.Fatal(err)
	}
	summarizer := summary.Fallback(chat, summary.Extractive{}, nil)
	s, err := summarizer.Summarize(context.Background(), feedback.SummaryInput{
		Lessons: []feedback.SummaryLesson{{Text: "今天学画苹果\n注意投影"}},
	})
	fmt.Println(s.Text, s.Source, err)
	fmt.Println(s.Warning)
	// Output:
	// 今天学画苹果。注意投影。 local <nil>
	// The summary service could not be used; this text consists of the lesson's own sentences.
}
