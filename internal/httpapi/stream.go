package httpapi

import (
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
			Refuse(api, ctx, err)
			return
		}
		if body == nil {
			if status != 0 {
				ctx.SetStatus(status)
			}
			return
		}
		write(api, ctx, status, body)
	}
	api.Adapter().Handle(&op, api.Middlewares().Handler(op.Middlewares.Handler(serve)))
}
