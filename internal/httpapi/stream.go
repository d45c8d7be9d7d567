package httpapi

import (
	"reflect"
	"strconv"

	"github.com/danielgtaylor/huma/v2"
)

// Stream registers an operation whose handler reads the request body itself: Huma reads a
// documented body into memory, without limit. The operation is documented as given, with each of
// op.Errors as a [Problem]. The handler sets the deadline and the limit of the body. It returns the
// value to send as JSON, or a nil body if it has answered itself.
func Stream(api huma.API, op huma.Operation, handler func(ctx huma.Context) (status int, body any, err error)) {
	api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	if op.Responses == nil {
		op.Responses = map[string]*huma.Response{}
	}
	for _, status := range op.Errors {
		op.Responses[strconv.Itoa(status)] = problemResponse(status)
	}
	if documenter, ok := api.(huma.OperationDocumenter); ok {
		documenter.DocumentOperation(&op) // a group, which adds its prefix
	} else {
		api.OpenAPI().AddOperation(&op)
	}
	serve := func(ctx huma.Context) {
		status, body, err := handler(ctx)
		switch {
		case err != nil:
			Refuse(api, ctx, err)
		case body != nil:
			write(api, ctx, status, body)
		}
	}
	api.Adapter().Handle(&op, api.Middlewares().Handler(op.Middlewares.Handler(serve)))
}
