package httpapi

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/danielgtaylor/huma/v2"
)

// document is the OpenAPI document of an API. Its paths are in the order in which the operations
// were added, which is the order that a reference page shows them in.
type document struct {
	oapi  *huma.OpenAPI
	paths []string
}

// commonHeaders are headers of every answer that [Wrap] sends, and of problems with some statuses.
var commonHeaders = map[string]string{
	"X-Request-Id":           "Identifies the request in the server's log: the client's own if it sent one.",
	"X-Content-Type-Options": "nosniff",
	"Cache-Control":          "no-store, unless the operation says otherwise.",
	"Retry-After":            "How many seconds to wait before sending the request again.",
	"WWW-Authenticate":       "How to authenticate: Bearer, with the error if a token was sent.",
}

// complete adds to an operation what it has in common with all others: the problems that [New] and
// [Wrap] can answer with, and headers. Problems without anything special become references to
// shared responses.
func (d *document) complete(_ *huma.OpenAPI, op *huma.Operation) {
	d.paths = append(d.paths, op.Path)
	always := []int{http.StatusBadRequest, http.StatusInternalServerError}
	if !op.SkipValidateParams {
		always = append(always, http.StatusUnprocessableEntity) // an unknown query parameter
	}
	for _, status := range always {
		if key := strconv.Itoa(status); op.Responses[key] == nil {
			op.Responses[key] = problemResponse(status)
		}
	}
	for key, r := range op.Responses {
		status, _ := strconv.Atoi(key)
		if isPlainProblem(status, r) {
			op.Responses[key] = d.share(status)
			continue
		}
		d.addHeaders(status, r)
	}
}

const problemRef = "#/components/schemas/Problem"

func problemResponse(status int) *huma.Response {
	return &huma.Response{
		Description: http.StatusText(status),
		Content:     map[string]*huma.MediaType{problemJSON: {Schema: &huma.Schema{Ref: problemRef}}},
	}
}

func isPlainProblem(status int, r *huma.Response) bool {
	m := r.Content[problemJSON]
	return m != nil && m.Schema.Ref == problemRef && len(r.Content) == 1 && len(r.Headers) == 0 &&
		r.Description == http.StatusText(status)
}

// share returns a reference to the response that all operations share.
func (d *document) share(status int) *huma.Response {
	components := d.oapi.Components
	if components.Responses == nil {
		components.Responses = map[string]*huma.Response{}
	}
	name := strings.ReplaceAll(http.StatusText(status), " ", "")
	if components.Responses[name] == nil {
		components.Responses[name] = problemResponse(status)
		d.addHeaders(status, components.Responses[name])
	}
	return &huma.Response{Ref: "#/components/responses/" + name}
}

func (d *document) addHeaders(status int, r *huma.Response) {
	names := []string{"X-Request-Id", "X-Content-Type-Options"}
	if len(r.Content) > 0 {
		names = append(names, "Cache-Control")
	}
	switch status {
	case http.StatusUnauthorized:
		names = append(names, "WWW-Authenticate")
	case http.StatusTooManyRequests, http.StatusServiceUnavailable, http.StatusInsufficientStorage:
		names = append(names, "Retry-After")
	}
	if d.oapi.Components.Headers == nil {
		d.oapi.Components.Headers = map[string]*huma.Header{}
	}
	if r.Headers == nil {
		r.Headers = map[string]*huma.Param{}
	}
	for _, name := range names {
		if r.Headers[name] != nil {
			continue
		}
		d.oapi.Components.Headers[name] = &huma.Header{
			Description: commonHeaders[name], Schema: &huma.Schema{Type: "string"},
		}
		r.Headers[name] = &huma.Param{Ref: "#/components/headers/" + name}
	}
}

// handler serves the document as it is at the first request.
func (d *document) handler() http.HandlerFunc {
	marshal := sync.OnceValues(d.marshal)
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := marshal()
		if err != nil {
			WriteError(w, r, Internal(err))
			return
		}
		w.Header().Set("Content-Type", "application/openapi+json")
		w.Header().Set("Cache-Control", "no-cache")
		w.Write(body)
	}
}

func (d *document) marshal() ([]byte, error) {
	plain, err := json.Marshal(d.oapi)
	if err != nil {
		return nil, err
	}
	decoder := json.NewDecoder(bytes.NewReader(plain))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = d.write(&out, "", v)
	return out.Bytes(), err
}

// write writes the value of the member name, with the members of each object ordered by rank and
// then by name.
func (d *document) write(out *bytes.Buffer, name string, v any) error {
	switch v := v.(type) {
	case map[string]any:
		keys := slices.SortedFunc(maps.Keys(v), func(a, b string) int {
			return cmp.Or(cmp.Compare(d.rank(name, a), d.rank(name, b)), cmp.Compare(a, b))
		})
		for i, key := range keys {
			out.WriteByte("{,"[min(i, 1)])
			out.WriteString(strconv.Quote(key) + ":")
			if err := d.write(out, key, v[key]); err != nil {
				return err
			}
		}
		if len(keys) == 0 {
			out.WriteByte('{')
		}
		out.WriteByte('}')
		return nil
	case []any:
		out.WriteByte('[')
		for i, item := range v {
			if i > 0 {
				out.WriteByte(',')
			}
			if err := d.write(out, "", item); err != nil {
				return err
			}
		}
		out.WriteByte(']')
		return nil
	}
	b, err := json.Marshal(v)
	out.Write(b)
	return err
}

// rank is the position of a member of an object: paths are in the order of registration, and a form
// is the first content of a request, which tools choose.
func (d *document) rank(object, member string) int {
	switch {
	case object == "paths":
		return slices.Index(d.paths, member)
	case object == "content" && member != "multipart/form-data":
		return 1
	}
	return 0
}
