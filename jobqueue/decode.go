package jobqueue

import (
	"bytes"
	"encoding/json"
	"sync"
)

// decoder decodes arguments of type T like json.Unmarshal. It keeps its memory from one job to the
// next, which Unmarshal cannot. It is safe for concurrent use.
type decoder[T any] struct{ idle sync.Pool }

// decoding is the memory that one decode needs. Between two all input was read.
type decoding[T any] struct {
	input   bytes.Reader
	decoder *json.Decoder
	value   T
}

// keepDecoding is the length of arguments above which the memory is not kept.
const keepDecoding = 64 << 10

func (d *decoder[T]) decode(text []byte) (T, error) {
	var zero T
	x, _ := d.idle.Get().(*decoding[T])
	if x == nil {
		x = new(decoding[T])
		x.decoder = json.NewDecoder(&x.input)
	}
	x.input.Reset(text)
	end := x.decoder.InputOffset() + int64(len(text))
	if x.decoder.Decode(&x.value) != nil || x.decoder.InputOffset() != end {
		// After an error or before more input, such as spaces, x cannot be used again. The error of
		// Unmarshal does not depend on earlier input.
		value := zero
		err := json.Unmarshal(text, &value)
		return value, err
	}
	value := x.value
	if len(text) <= keepDecoding {
		x.value = zero
		d.idle.Put(x)
	}
	return value, nil
}
