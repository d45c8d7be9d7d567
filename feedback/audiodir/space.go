package audiodir

import (
	"context"
	"fmt"
	"path/filepath"

	"lessonkit.example/feedback/internal/diskspace"
	"lessonkit.example/feedback/internal/recording"
)

// Space is the state of the file system of a [Store], in bytes.
type Space struct {
	Free    int64 // for this process's user
	Total   int64 // 0 if unknown
	Reserve int64 // uploads are refused while Free is below it
}

// Full reports whether uploads are refused.
func (s Space) Full() bool { return s.Total > 0 && s.Free < s.Reserve }

// Space returns the state of the file system. On Windows it is unknown, and nothing is reserved.
// Errors: [feedback.ErrStorage], with the state if only recordings cannot be written.
func (s *Store) Space() (Space, error) {
	free, total, err := diskspace.Of(s.dir)
	if err != nil {
		return Space{}, storageError("read free space", err)
	}
	reserve := max(s.Reserve, 0)
	if s.Reserve == 0 {
		reserve = min(total/20, 1<<30)
	}
	space := Space{Free: free, Total: total, Reserve: reserve}
	if err := diskspace.CheckWritable(filepath.Join(s.dir, incoming)); err != nil {
		return space, storageError("write to "+incoming, err)
	}
	return space, nil
}

// CheckSpace fails with [feedback.ErrStorageFull] while there is less free space than the reserve,
// and with [feedback.ErrStorage] as Space does.
func (s *Store) CheckSpace(context.Context) error {
	space, err := s.Space()
	if err != nil {
		return err
	}
	if space.Full() {
		return recording.Full(fmt.Errorf("audiodir: %d bytes are free, and %d reserved", space.Free, space.Reserve))
	}
	return nil
}
