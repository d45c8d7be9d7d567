// Package httpapi sets up HTTP interfaces alike: Huma once and for all (its
// surprises have a test each in this package), errors as RFC 9457 problem
// documents, and around the handlers what every server needs ([Wrap]).
package httpapi

import (
	"net/http"
	"reflect"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
)

// Options of [New].
type Options struct {
	// Title, Version and Description head the OpenAPI document.
	Title, Version, Description string

	// Servers are the base addresses named in the document, for handlers that
	// are mounted below a path. Defaults to none: paths are absolute.
	Servers []string

	// BearerScheme names the security scheme of operations that want a bearer
	// token. Defaults to "bearer".
	BearerScheme string

	// OpenAPIPath is where the document is served, without extension. Defaults
	// to "/openapi", so that the document is at /openapi.json.
	OpenAPIPath string
}

// New returns a Huma API on mux that serves its OpenAPI 3.1 document and
// answers every error as a [Problem]. What a caller sent is never echoed, and
// the text of an unexpected error is logged by [Wrap], never shown.
func New(mux *http.ServeMux, o Options) huma.API {
	config := huma.DefaultConfig(o.Title, o.Version)
	config.Info.Description = o.Description
	config.DocsPath = ""     // its page needs a CDN
	config.SchemasPath = ""  // with CreateHooks:
	config.CreateHooks = nil // no $schema links in answers
	config.RejectUnknownQueryParameters = true
	config.Formats = map[string]huma.Format{"application/json": strictJSON, "json": strictJSON}
	config.OpenAPIPath = "/openapi"
	if o.OpenAPIPath != "" {
		config.OpenAPIPath = o.OpenAPIPath
	}
	for _, url := range o.Servers {
		config.Servers = append(config.Servers, &huma.Server{URL: url})
	}
	config.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		bearerScheme(o): {Type: "http", Scheme: "bearer", Description: "A session token, as sign-in returns it."},
	}
	// Huma makes errors of its own type; the document and the answers speak of ours.
	config.Components.Schemas.RegisterTypeAlias(reflect.TypeFor[huma.ErrorModel](), reflect.TypeFor[Problem]())
	config.Transformers = []huma.Transformer{toProblem}
	return humago.New(mux, config)
}

func bearerScheme(o Options) string {
	if o.BearerScheme != "" {
		return o.BearerScheme
	}
	return "bearer"
}

// toProblem turns Huma's errors into problems and hands causes to the log.
func toProblem(ctx huma.Context, _ string, v any) (any, error) {
	switch e := v.(type) {
	case *Problem:
		if e.cause != nil {
			noteError(ctx.Context(), e.cause)
		}
		return e.forRequest(ctx.Context()), nil
	case *huma.ErrorModel:
		p := Error(e.Status, codeOf(e.Status), e.Detail)
		if e.Status >= http.StatusInternalServerError {
			// Here Huma puts the text of whatever a handler returned.
			for _, d := range e.Errors {
				noteError(ctx.Context(), d)
			}
			p.Detail = internalDetail
			return p.forRequest(ctx.Context()), nil
		}
		for _, d := range e.Errors {
			if d != nil { // d.Value, which holds what was sent, stays here
				p.WithField(d.Location, d.Message)
			}
		}
		return p.forRequest(ctx.Context()), nil
	}
	return v, nil
}
