package jobqueue

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

type decodeArgs struct {
	N    int
	Text string
	List []int
	Map  map[string]*int
	Any  any
	Raw  json.RawMessage
}

// Arguments are decoded as json.Unmarshal does, whatever was decoded before with the same memory.
func TestDecoderIsLikeUnmarshal(t *testing.T) {
	t.Parallel()
	texts := []string{
		`{"N": 1, "Text": "a", "List": [1, 2, 3], "Map": {"a": 1}, "Any": {"b": [2]}, "Raw": {"c": 3}}`,
		`{"Text": "b", "List": [4], "Map": {"d": 4}, "Raw": [5]}`,
		`{}`, `null`, ` {"N": 6}`, "{\"N\": 7} \n", `{"N": 1e2}`, `{"N": "text"}`, `{"N": 8, "Text": 9}`,
		``, ` `, `{`, `{"N": 1`, `{"N": 1}}`, `{"N": 1} {"N": 2}`, `{"N": 1} x`, `[]`, `"text"`, `12`, `12 13`,
		`{"Text": "` + strings.Repeat("long ", keepDecoding) + `"}`,
	}
	for _, first := range texts {
		for _, second := range texts {
			var d decoder[decodeArgs]
			var all, wants []decodeArgs
			for _, text := range []string{first, second, texts[0]} {
				var want decodeArgs
				wantErr := json.Unmarshal([]byte(text), &want)
				got, err := d.decode([]byte(text))
				require.Equal(t, wantErr, err, "%.50q", text)
				all, wants = append(all, got), append(wants, want)
			}
			require.Equal(t, wants, all, "also the first, after the others: %.50q, %.50q", first, second)
		}
	}
	var numbers decoder[any]
	for _, text := range []string{"12", "3", "", "4 ", "-5", `"6"`} {
		var want any
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := numbers.decode([]byte(text))
		require.Equal(t, wantErr, err, "%q", text)
		require.Equal(t, want, got, "%q", text)
	}
}
