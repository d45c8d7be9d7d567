// Package httpapi is the common part of HTTP interfaces: a Huma API with our settings (each of
// Huma's surprises has a test in this package), errors as RFC 9457 problem documents, and the
// handler around a server's mux ([Wrap]).
package httpapi

import (
	"cmp"
	"fmt"
	"net/http"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/danielgtaylor/huma/v2/validation"
)

// Options are the APIOptions of package feedbackhttp, which describes them.
type Options struct {
	Title, Version, Description string
	BasePath                    string
}

// New is the NewAPI of package feedbackhttp, which describes it. Errors are answered as a
// [Problem]; [Wrap] logs the unexpected ones.
func New(mux *http.ServeMux, o Options) huma.API {
	config := huma.DefaultConfig(o.Title, o.Version)
	config.Info.Description = o.Description
	config.OpenAPIPath = ""  // ours keeps the order of the operations
	config.DocsPath = ""     // its page needs a CDN
	config.SchemasPath = ""  // with CreateHooks:
	config.CreateHooks = nil // no $schema links in answers
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	config.Servers = []*huma.Server{{URL: cmp.Or(o.BasePath, "/")}}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"bearer": {
			Type: "http", Scheme: "bearer", Description: "A session token, as sign-in returns it.",
		},
	}
	// Huma's own errors appear as ours in the document and in answers.
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	config.Transformers = []huma.Transformer{toProblem}
	config.Components.Schemas.Schema(reflect.TypeFor[Problem](), true, "")
	doc := &document{oapi: config.OpenAPI}
	config.OnAddOperation = append(config.OnAddOperation, doc.complete)
	mux.HandleFunc("GET /openapi.json", doc.handler())
	return humago.New(mux, config)
}

// toProblem converts Huma's errors to problems and logs the causes.
func toProblem(ctx huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *Problem:
		return forRequest(ctx.Context(), e), nil
	case *huma.ErrorModel:
		p := Error(e.Status, codeOf(e.Status), e.Detail)
		if e.Status >= http.StatusInternalServerError {
			if len(e.Errors) == 0 {
				noteError(ctx.Context(), e)
			}
			// Huma includes the text of the error that a handler returned.
			for _, d := range e.Errors {
				noteError(ctx.Context(), d)
			}
			p.Detail = internalDetail
			return forRequest(ctx.Context(), p), nil
		}
		for i, d := range e.Errors {
			if i == maxFields {
				p.WithField("", fmt.Sprintf("and %d more", len(e.Errors)-maxFields))
				break
			}
			if d != nil { // without d.Value, which is what the client sent
				p.WithField(cut(d.Location), cut(d.Message))
				p.Errors[len(p.Errors)-1].classify()
			}
		}
		return forRequest(ctx.Context(), p), nil
	}
	return v, nil
}

// classify sets the code of those of Huma's messages that people meet.
func (e *FieldError) classify() {
	for format, code := range map[string]string{
		validation.MsgExpectedMaxLength: "too_long", validation.MsgExpectedMaxItems: "too_many",
	} {
		if n, _ := fmt.Sscanf(e.Message, format, &e.Limit); n == 1 {
			e.Code = code
		}
	}
}

const (
	maxFields = 20  // invalid fields that an answer lists
	maxEcho   = 200 // bytes of a location or a message, which contain names that a client sent
)

func cut(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "…"
}
