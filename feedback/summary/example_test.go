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

func Example() {
	s, err := summary.Local{}.Summarize(context.Background(), feedback.SummaryInput{
		Lessons: []feedback.SummaryLesson{{Text: "Um, Emma's bow is, uh, much straighter now. Tom, sit down please! " +
			"The concert is on Thursday, no, on Friday. For next week, page 12. " +
			"She is, she is very proud. I think that's it."}},
	})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(s.Text)
	// Output:
	// Emma's bow is much straighter now. She is very proud.
	//
	// For next week, page 12.
	//
	// The concert is on Friday.
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
	summarizer := summary.Fallback(chat, summary.Local{}, nil)
	s, err := summarizer.Summarize(context.Background(), feedback.SummaryInput{
		Lessons: []feedback.SummaryLesson{{Text: "今天学画苹果\n注意投影"}},
	})
	fmt.Println(s.Text, s.Source, err)
	fmt.Println(s.Warning)
	// Output:
	// 今天学画苹果。注意投影。 local <nil>
	// The summary service could not be used; this text consists of the lesson's own sentences.
}
