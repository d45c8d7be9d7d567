package audios3

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"sync"

	"github.com/minio/minio-go/v7"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/recording"
)

// Open implements [feedback.AudioStore]. Reading ends with an error when ctx does.
func (s *Store) Open(ctx context.Context, key string) (feedback.AudioFile, error) {
	if !recording.IsKey(key) {
		return nil, feedback.NotFound("recording")
	}
	f := &file{ctx: ctx, store: s, key: key}
	if err := f.request(); err != nil {
		return nil, err
	}
	return f, nil
}

// file implements [feedback.AudioFile]. The next Read after a Seek, or after a connection was lost,
// requests the rest.
type file struct {
	ctx   context.Context
	store *Store
	key   string
	size  int64

	mu     sync.Mutex
	offset int64         // of the next Read
	body   io.ReadCloser // nil if there is no request; else it is at bodyAt
	bodyAt int64

	sum     string    // with which the object was stored; "" if it was copied there by others
	hash    hash.Hash // of what was read from the start on
	hashed  int64     // how much that is
	damaged error     // once all of it was read
}

// sumMetadata is the name of an object's metadata with its SHA-256, as HTTP headers are written.
const sumMetadata = "Sha256"

func (f *file) Size() int64 { return f.size }

// request requests the object from offset on.
func (f *file) request() error {
	var options minio.GetObjectOptions
	if f.offset > 0 {
		if err := options.SetRange(f.offset, 0); err != nil { // 0: to the end
			return storageError("open", err)
		}
	}
	body, object, _, err := f.store.client.GetObject(f.ctx, f.store.bucket, f.store.prefix+f.key, options)
	if err != nil && isMissing(err) {
		return feedback.NotFound("recording")
	}
	if err != nil {
		return storageError("open", err)
	}
	if f.offset == 0 {
		f.size, f.sum = object.Size, object.UserMetadata[sumMetadata]
	}
	f.body, f.bodyAt = body, f.offset
	return nil
}

func (f *file) Read(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.read(p)
}

// ReadAt implements io.ReaderAt, so that transcribers can find out how long a recording is. It
// requests the rest from the offset on, unless it continues where the last read ended.
func (f *file) ReadAt(p []byte, offset int64) (n int, err error) {
	if offset < 0 {
		return 0, fmt.Errorf("audios3: read at %d", offset)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	next := f.offset
	defer func() { f.offset = next }()
	f.offset = offset
	for n < len(p) && err == nil {
		var more int
		more, err = f.read(p[n:])
		n += more
	}
	return n, err
}

func (f *file) read(p []byte) (int, error) {
	for try := 1; ; try++ {
		n, err := f.readOnce(p)
		if n > 0 || len(p) == 0 {
			return n, nil
		}
		var known *feedback.Error // the client has repeated the request
		if err == io.EOF || errors.As(err, &known) {
			return 0, err
		}
		if f.ctx.Err() != nil || try == tries {
			return 0, storageError("read", err)
		}
	}
}

func (f *file) readOnce(p []byte) (int, error) {
	if f.damaged != nil {
		return 0, f.damaged
	}
	if f.offset >= f.size {
		return 0, io.EOF
	}
	if f.body != nil && f.bodyAt != f.offset {
		f.closeBody()
	}
	if f.body == nil {
		if err := f.request(); err != nil {
			return 0, err
		}
	}
	n, err := f.body.Read(p)
	if f.verify(p[:n]); f.damaged != nil {
		return 0, f.damaged
	}
	f.offset += int64(n)
	f.bodyAt += int64(n)
	if err == io.EOF && f.offset < f.size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil {
		f.closeBody()
	}
	return n, err
}

// verify hashes p, which was read at the offset, if it continues what was read from the start on.
// Before the end is returned, the sum of all is compared.
func (f *file) verify(p []byte) {
	if f.offset == 0 {
		f.hash, f.hashed = sha256.New(), 0
	}
	if f.offset != f.hashed || f.sum == "" {
		return
	}
	f.hash.Write(p)
	f.hashed += int64(len(p))
	if f.hashed == f.size && hex.EncodeToString(f.hash.Sum(nil)) != f.sum {
		f.damaged = storageError("read", errors.New("the object is not what was stored: its SHA-256 is another"))
	}
}

func (f *file) closeBody() {
	f.body.Close()
	f.body = nil
}

// Seek implements io.Seeker. It makes no request.
func (f *file) Seek(offset int64, whence int) (int64, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	switch whence {
	case io.SeekCurrent:
		offset += f.offset
	case io.SeekEnd:
		offset += f.size
	}
	if offset < 0 || whence < io.SeekStart || whence > io.SeekEnd {
		return 0, fmt.Errorf("audios3: seek to %d, whence %d", offset, whence)
	}
	f.offset = offset
	return offset, nil
}

func (f *file) Close() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.body != nil {
		f.closeBody()
	}
	return nil
}
