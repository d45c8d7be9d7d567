package gateway

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"

	"lessonkit.example/imagegen"
)

var (
	errFull  = errors.New("the storage of the gateway is full")
	errShare = errors.New("the caller's reference images take too much of the gateway's storage")
)

// storage counts stored bytes, so that they stay below a limit. References may take half of it, and
// those of one caller a quarter. Images make room for themselves: see room.
type storage struct {
	limit int64

	mu    sync.Mutex
	refs  map[string]int64 // bytes of references, by caller
	used  map[string]int64 // bytes in all, by caller
	ended []endedTask      // oldest first
}

// endedTask is a task that may be deleted.
type endedTask struct {
	id, caller string
	bytes      int64
}

func newStorage(limit int64) *storage {
	return &storage{limit: limit, refs: map[string]int64{}, used: map[string]int64{}}
}

func sum(all map[string]int64) (total int64) {
	for _, n := range all {
		total += n
	}
	return total
}

// add counts n more bytes of a caller, or fewer if n is negative.
func (s *storage) add(caller string, isReference bool, n int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.used[caller] += n
	if isReference {
		s.refs[caller] += n
	}
}

// shareOfReferences returns how many bytes the references of one caller may take.
func (s *storage) shareOfReferences() int64 { return s.limit / 4 }

// reserve counts n more bytes if they are within the limit. Otherwise it returns errShare or
// errFull, or the task to be deleted first: the oldest one of the caller that uses most.
func (s *storage) reserve(caller string, isReference bool, n int64) (remove string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if isReference {
		switch {
		case s.refs[caller]+n > s.shareOfReferences():
			return "", errShare
		case sum(s.refs)+n > s.limit/2:
			return "", errFull
		}
	}
	if sum(s.used)+n <= s.limit {
		s.used[caller] += n
		if isReference {
			s.refs[caller] += n
		}
		return "", nil
	}
	oldest := -1
	for i, t := range s.ended {
		if t.bytes > 0 && (oldest < 0 || s.used[t.caller] > s.used[s.ended[oldest].caller]) {
			oldest = i
		}
	}
	if oldest < 0 {
		return "", errFull
	}
	remove = s.ended[oldest].id
	s.ended = slices.Delete(s.ended, oldest, oldest+1)
	return remove, nil
}

// end records that a task has ended and may be deleted.
func (s *storage) end(t Task) {
	s.forget(t.ID)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = append(s.ended, endedTask{t.ID, t.Caller, bytesOf(t.Images)})
}

// forget removes a task from those that may be deleted, and reports whether it was among them: one
// that is not is being deleted, or was started again.
func (s *storage) forget(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := len(s.ended)
	s.ended = slices.DeleteFunc(s.ended, func(t endedTask) bool { return t.id == id })
	return len(s.ended) < before
}

func bytesOf(blobs []Blob) (total int64) {
	for _, b := range blobs {
		total += b.Size
	}
	return total
}

// room makes room for n more bytes, if necessary by deleting tasks that have ended, and counts
// them.
func (g *Gateway) room(ctx context.Context, caller string, isReference bool, n int64) error {
	ctx = context.WithoutCancel(ctx) // a caller who leaves must not stop a deletion halfway
	for {
		remove, err := g.storage.reserve(caller, isReference, n)
		if remove == "" {
			return err
		}
		t, err := g.c.Store.Task(ctx, remove)
		if err != nil {
			g.c.Logger.Error("load task", "task", remove, "error", err)
			continue
		}
		g.c.Logger.Warn("deleting a task before its retention has passed, to make room", "task", remove)
		g.deleteTask(ctx, t)
	}
}

// deleteTask deletes a task that storage has forgotten, with its images.
func (g *Gateway) deleteTask(ctx context.Context, t Task) {
	g.deleteBlobs(ctx, t.Caller, t.Images)
	if err := g.c.Store.DeleteTask(ctx, t.ID); err != nil {
		g.c.Logger.Error("delete task", "task", t.ID, "error", err)
	}
}

// deleteBlobs deletes references or images of a caller.
func (g *Gateway) deleteBlobs(ctx context.Context, caller string, blobs []Blob) {
	for _, b := range blobs {
		if b.Name == "" {
			continue
		}
		if err := g.c.Store.DeleteBlob(ctx, b.Name); err != nil {
			g.c.Logger.Error("delete stored bytes", "blob", b.Name, "error", err)
			continue
		}
		g.storage.add(caller, strings.HasPrefix(b.Name, refPrefix), -b.Size)
	}
}

// countedBlob counts the bytes that are written to a Blob. Those of a Blob that is not committed
// are not counted.
type countedBlob struct {
	imagegen.Blob
	g           *Gateway
	ctx         context.Context
	caller      string
	isReference bool
	size        int64
}

func (g *Gateway) createBlob(ctx context.Context, caller, name string) (*countedBlob, error) {
	b, err := g.c.Store.CreateBlob(ctx, name)
	if err != nil {
		return nil, err
	}
	isReference := strings.HasPrefix(name, refPrefix)
	return &countedBlob{Blob: b, g: g, ctx: ctx, caller: caller, isReference: isReference}, nil
}

// Write implements io.Writer.
func (b *countedBlob) Write(p []byte) (int, error) {
	if err := b.g.room(b.ctx, b.caller, b.isReference, int64(len(p))); err != nil {
		return 0, err
	}
	b.size += int64(len(p))
	return b.Blob.Write(p)
}

// Commit implements [imagegen.Blob].
func (b *countedBlob) Commit() error {
	err := b.Blob.Commit()
	if err != nil {
		b.release()
	}
	return err
}

// Abort implements [imagegen.Blob].
func (b *countedBlob) Abort() error {
	b.release()
	return b.Blob.Abort()
}

func (b *countedBlob) release() { b.g.storage.add(b.caller, b.isReference, -b.size) }
