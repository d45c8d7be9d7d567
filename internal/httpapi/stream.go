package httpapi

import (
	"errors"
	"net/http"
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Stream registers an operation whose handler reads the request itself: Huma
// reads a documented body whole, without limit. The operation appears in the
// document as given; op.Errors lists the statuses it can fail with, each
// documented as a [Problem]. The handler sets the deadline and limit of the
// body. It returns what to answer as JSON, or a nil body where it answered
// itself or there is nothing to say.
func Stream(api huma.API, op huma.Operation, handler func(ctx huma.Context) (status int, body any, err error)) {
	problem := &huma.MediaType{Schema: &huma.Schema{Ref: "#/components/schemas/Problem"}}
	api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for _, status := range op.Errors {
		op.Responses[strconv.Itoa(status)] = &huma.Response{
			Description: http.StatusText(status),
			Content:     map[string]*huma.MediaType{problemJSON: problem},
		}
	}
	if documenter, ok := api.(huma.OperationDocumenter); ok {
		documenter.DocumentOperation(&op) // a group: it knows the prefix
	} else {
		api.OpenAPI().AddOperation(&op)
	}
	serve := func(ctx huma.Context) {
		status, body, err := handler(ctx)
		if err != nil {
			var p *Problem
			if !errors.As(err, &p) {
				p = Error(http.StatusInternalServerError, codeOf(http.StatusInternalServerError), "something went wrong here; the log has it under the request id").WithCause(err)
			}
			for k, values := range p.headers {
				for _, v := range values {
					ctx.AppendHeader(k, v)
				}
			}
			status, body = p.Status, p
		}
		if body == nil {
			if status != 0 {
				ctx.SetStatus(status)
			}
			return
		}
		contentType := "application/json"
		if f, ok := body.(huma.ContentTypeFilter); ok {
			contentType = f.ContentType(contentType)
		}
		out, err := api.Transform(ctx, strconv.Itoa(status), body)
		if err != nil {
			noteError(ctx.Context(), err)
		}
		ctx.SetHeader("Content-Type", contentType)
		ctx.SetStatus(status)
		if err := api.Marshal(ctx.BodyWriter(), contentType, out); err != nil {
			noteError(ctx.Context(), err)
		}
	}
	api.Adapter().Handle(&op, api.Middlewares().Handler(op.Middlewares.Handler(serve)))
}
