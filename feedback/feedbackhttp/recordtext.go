package feedbackhttp

import (
	"bufio"
	"context"
	"fmt"
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"lessonkit.example/feedback/feedbackhttp/internal/wire"
	"lessonkit.example/internal/httpapi"
)

func (s *server) registerRecordText(api huma.API) {
	text := &huma.MediaType{Schema: &huma.Schema{Type: "string"}}
	huma.Register(api, s.operation(huma.Operation{
		Method: http.MethodGet, Path: "/feedback-records/{record_id}/text", OperationID: "get-record-text",
		Metadata: lasting,
		Tags:     []string{recordsTag}, Summary: "Download a feedback record as a text",
		Description: "With the student, the date and, if it comes from a voice session, what was said in its " +
			"lessons, as the teacher has corrected it.",
		Errors: []int{http.StatusNotFound},
		Responses: map[string]*huma.Response{"200": {
			Description: "The text, in UTF-8",
			Headers: map[string]*huma.Param{
				"Content-Disposition": textHeader("By RFC 6266."), "Cache-Control": textHeader("no-store"),
			},
			Content: map[string]*huma.MediaType{"text/plain": text, "text/markdown": text},
		}},
	}), func(ctx context.Context, in *struct {
		ID     wire.ID `path:"record_id"`
		Format string  `query:"format" enum:"txt,md" default:"txt" doc:"Plain text or Markdown."`
	}) (*huma.StreamResponse, error) {
		markdown := in.Format == "md"
		record, parts, err := s.svc.RecordText(ctx, teacher(ctx), in.ID.UUID, markdown)
		if err != nil {
			return nil, problem("path", err)
		}
		return &huma.StreamResponse{Body: func(ctx huma.Context) {
			kind := "plain"
			if markdown {
				kind = "markdown"
			}
			ctx.SetHeader("Content-Type", "text/"+kind+"; charset=utf-8")
			ctx.SetHeader("Content-Disposition",
				fmt.Sprintf("attachment; filename=%q", "feedback-"+record.Date+"."+in.Format))
			ctx.SetHeader("Cache-Control", "no-store")
			out := bufio.NewWriter(ctx.BodyWriter())
			for part, err := range parts {
				if err != nil {
					httpapi.Cut(fmt.Errorf("text of a record: %w", err))
				}
				if _, err := out.WriteString(part); err != nil {
					return // the client has gone away
				}
			}
			_ = out.Flush()
		}}, nil
	})
}
