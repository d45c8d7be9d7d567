package feedbackhttp

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
)

// expectedWords are words that transcribers should expect.
type expectedWords struct {
	Words []string `json:"words" nullable:"false" maxItems:"200" example:"Siobhan,Nguyen" doc:"Most important first."`
}

func (s *server) registerWords(api huma.API) {
	const explained = "Names and terms to expect in the teacher's recordings, besides the student's name and the " +
		"subject, for recognisers that take such hints. "
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/words", OperationID: "get-words",
		Tags: []string{segmentsTag}, Summary: "Read the words to expect",
		Description: explained + "Those that the teacher has saved, and names that records have put in the place " +
			"of what sounds alike; the most recently used first.",
	}), func(ctx context.Context, _ *struct{}) (*output[expectedWords], error) {
		words, err := s.svc.Words(ctx, teacher(ctx))
		return &output[expectedWords]{expectedWords{append([]string{}, words...)}}, problem("query", err)
	})

	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodPut, Path: "/words", OperationID: "save-words",
		Tags: []string{segmentsTag}, Summary: "Save the words to expect",
		Description: explained + "The list replaces the saved one; repetitions are left out. When records add words " +
			"beyond 200, those go first that have not been used for longest.",
		Errors: jsonBody,
	}), func(ctx context.Context, in *struct{ Body expectedWords }) (*output[expectedWords], error) {
		words, err := s.svc.SaveWords(ctx, teacher(ctx), in.Body.Words)
		return &output[expectedWords]{expectedWords{words}}, problem("body", err)
	})
}
