package jobqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
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
	check := func(d *decoder[decodeArgs], text string) {
		var want decodeArgs
		wantErr := json.Unmarshal([]byte(text), &want)
		got, err := d.decode([]byte(text))
		require.Equal(t, wantErr, err, "%.50q", text)
		require.Equal(t, want, got, "%.50q", text)
	}
	for _, first := range texts {
		for _, second := range texts {
			var d decoder[decodeArgs]
			check(&d, first)
			check(&d, second)
			check(&d, texts[0])
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

func TestDecodedArgumentsStayAsTheyAre(t *testing.T) {
	t.Parallel()
	var d decoder[decodeArgs]
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			const format = `{"N": %[1]d, "List": [%[1]d], "Map": {"a": %[1]d}, "Any": [%[1]d], "Raw": [%[1]d]}`
			var all []decodeArgs
			for range 100 {
				args, err := d.decode(fmt.Appendf(nil, format, i))
				if err != nil {
					t.Error(err)
				}
				all = append(all, args)
			}
			want := decodeArgs{
				N: i, List: []int{i}, Map: map[string]*int{"a": &i}, Any: []any{float64(i)},
				Raw: json.RawMessage(fmt.Sprintf("[%d]", i)),
			}
			for _, args := range all {
				assert.Equal(t, want, args)
			}
		})
	}
	wg.Wait()
}

// The contexts of a handler that uses none are one allocation, and its job none.
//
//nolint:paralleltest // AllocsPerRun counts the allocations of all goroutines.
func TestShortAttemptAllocatesOnce(t *testing.T) {
	w := NewWorker(newModel(), WorkerConfig{})
	Handle(w, "work", func(context.Context, *Job, any) error { return nil })
	l := &lease{owner: w, ctx: context.Background()}
	job := Job{MaxAttempts: 1, Args: []byte("null")}
	a := &attempt{job: job, lease: l, handler: w.handlers["work"], ctx: lazyContext{parent: l.ctx}}
	require.LessOrEqual(t, testing.AllocsPerRun(100, func() { w.perform(a, time.Now()) }), 1.0)
}
