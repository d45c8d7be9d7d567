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
		if errors.Is(err, json.ErrUnknownName) && errors.As(err, &fault) {
			return fmt.Errorf("unexpected property %q", fault.JSONPointer)
		}
		return err
	},
}
