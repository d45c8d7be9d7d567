package httpapi

import (
	"errors"
	"fmt"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"
)

// strictJSON decodes JSON by RFC 7493: text that is not valid Unicode and duplicate names are
// errors, where encoding/json would silently change or drop what was sent. Names are matched by
// case, which Huma's own validation does not do.
var strictJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		err := json.Unmarshal(data, v, json.RejectUnknownMembers(true))
		var fault *json.SemanticError
		switch {
		case !errors.As(err, &fault):
			return err
		case errors.Is(err, json.ErrUnknownName):
			return fmt.Errorf("unexpected property %q", fault.JSONPointer)
		case fault.Err != nil:
			return fmt.Errorf("the value of %q is not valid: %w", fault.JSONPointer, fault.Err)
		}
		return fmt.Errorf("the value of %q is of the wrong type", fault.JSONPointer) // without our Go type
	},
}
