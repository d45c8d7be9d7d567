package imagegen

import (
	"bytes"
	"errors"
	"io"
	"os"
)

const spoolMemory = 8 << 20

// spool reads r to its end, so that its size is known and it can be read again.
func spool(r io.Reader) (source, error) {
	var head bytes.Buffer
	n, err := io.CopyN(&head, r, spoolMemory+1)
	if err != nil && err != io.EOF {
		return source{}, err
	}
	if n <= spoolMemory {
		data := head.Bytes()
		return source{size: n, open: func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }}, nil
	}
	f, err := os.CreateTemp("", "imagegen-ref-*")
	if err != nil {
		return source{}, err
	}
	free := func() { f.Close(); os.Remove(f.Name()) }
	size, err := io.Copy(f, io.MultiReader(&head, r))
	if err != nil {
		free()
		return source{}, errors.Join(errors.New("spool reference"), err)
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(io.NewSectionReader(f, 0, size)), nil }
	return source{size: size, open: open, free: free}, nil
}
