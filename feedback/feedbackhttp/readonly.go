package feedbackhttp

import (
	"bytes"
	"encoding/json"
	"net/http"

	"lessonkit.example/internal/httpapi"
)

// checkReadOnly refuses fields of a body that are read-only and not those of the resource, which
// read returns as it is answered: a client may send back a resource as it has read it.
func checkReadOnly[T any](body any, read func() (T, error), fields ...string) error {
	sent := fieldsOf(body)
	var current map[string]json.RawMessage
	var changed []string
	for _, name := range fields {
		if sent[name] == nil {
			continue
		}
		if current == nil {
			resource, err := read()
			if err != nil {
				return problem("path", err)
			}
			current = fieldsOf(resource)
		}
		if !bytes.Equal(sent[name], current[name]) {
			changed = append(changed, name)
		}
	}
	if changed == nil {
		return nil
	}
	p := httpapi.Error(http.StatusUnprocessableEntity, "invalid_fields", "a read-only field is not the current one")
	for _, name := range changed {
		p.WithField("body."+name, "is read-only; leave it out, or send it as it was last read")
	}
	return p
}

func fieldsOf(body any) (fields map[string]json.RawMessage) {
	b, _ := json.Marshal(body) // it has been read from JSON, or is answered as JSON
	_ = json.Unmarshal(b, &fields)
	return fields
}
