package feedbackhttp

import (
	"net/http"
	"time"

	"lessonkit.example/internal/httpapi"
)

// readOnlyFields compares the read-only fields of a request with what the service has: a client may
// send back a resource as it has read it.
type readOnlyFields struct{ changed []string }

func (f *readOnlyFields) compare(name string, sent *string, current string) {
	if sent != nil && *sent != current {
		f.changed = append(f.changed, name)
	}
}

func (f *readOnlyFields) compareTime(name string, sent *string, current time.Time) {
	f.compare(name, sent, current.Format(time.RFC3339Nano)) // as encoding/json has written it
}

func (f *readOnlyFields) problem() error {
	if len(f.changed) == 0 {
		return nil
	}
	p := httpapi.Error(http.StatusUnprocessableEntity, "invalid_fields", "a read-only field is not the current one")
	for _, name := range f.changed {
		p.WithField("body."+name, "is read-only; leave it out, or send it as it was last read")
	}
	return p
}
