package httpapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// strictJSON is Huma's JSON without encoding/json's leniency: text that is not
// Unicode would be stored with other characters than were sent, and of two
// members of one name the first would be lost without a word. Names are those
// of the schema to the letter, in snake_case.
var strictJSON = huma.Format{
	Marshal: huma.DefaultJSONFormat.Marshal,
	Unmarshal: func(data []byte, v any) error {
		// Huma decodes a body twice, first into an any.
		raw, first := v.(*any)
		if !first {
			return json.Unmarshal(data, v)
		}
		if err := checkJSON(data); err != nil {
			return err
		}
		if err := json.Unmarshal(data, raw); err != nil {
			return err
		}
		markOdd(*raw)
		return nil
	},
}

var (
	errNotUTF8   = errors.New("the body is not UTF-8")
	errSurrogate = errors.New("a string holds half of a surrogate pair")
)

// oddName begins a name that no schema has. Huma would take it for one that it
// resembles but for the case, unless a variable of the whole process says otherwise.
const oddName = "\x00"

// markOdd marks the names in v that are not in snake_case.
func markOdd(v any) {
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			markOdd(item)
		}
	case map[string]any:
		for _, name := range slices.Collect(maps.Keys(v)) {
			member := v[name]
			markOdd(member)
			if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
				delete(v, name)
				v[oddName+name] = member
			}
		}
	}
}

// checkJSON finds what json.Unmarshal passes over. Errors of syntax it leaves
// to that.
func checkJSON(data []byte) error {
	if !utf8.Valid(data) {
		return errNotUTF8
	}
	// The decoder puts U+FFFD where an escape is half a pair.
	escapes := bytes.Contains(data, []byte(`\u`)) && !bytes.ContainsRune(data, utf8.RuneError) &&
		!bytes.Contains(bytes.ToLower(data), []byte(`\ufffd`))

	var open []*object // one for each object or array around the token; nil for an array
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	for {
		token, err := d.Token()
		if err != nil { // the end, or a mistake
			return nil
		}
		text, isText := token.(string)
		if isText && escapes && strings.ContainsRune(text, utf8.RuneError) {
			return errSurrogate
		}
		var in *object
		if len(open) > 0 {
			in = open[len(open)-1]
		}
		switch token {
		case json.Delim('{'):
			in.value()
			open = append(open, &object{names: map[string]bool{}})
			continue
		case json.Delim('['):
			in.value()
			open = append(open, nil)
			continue
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
			continue
		}
		if in == nil || in.named {
			in.value()
			continue
		}
		if in.names[text] {
			return fmt.Errorf("an object has two members named %q", text)
		}
		in.names[text], in.named = true, true
	}
}

// object is what is known of an object that is being read.
type object struct {
	names map[string]bool
	named bool // a name was read, its value comes next
}

func (o *object) value() {
	if o != nil {
		o.named = false
	}
}
