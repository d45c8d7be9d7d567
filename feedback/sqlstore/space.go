package sqlstore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"lessonkit.example/feedback"
	"lessonkit.example/feedback/internal/diskspace"
	"lessonkit.example/internal/db"
)

// CheckSpace fails with [feedback.ErrStorageFull] while an SQLite file and its file system have
// less free space than the reserve. On PostgreSQL, whose space is elsewhere, it does nothing.
func (s *Store) CheckSpace(ctx context.Context) error {
	if s.db.Engine == db.Postgres || s.Reserve < 0 {
		return nil
	}
	err := s.checkFree(ctx)
	if errors.Is(err, feedback.ErrStorageFull) {
		_ = s.db.EraseLog(ctx) // which frees space; the next call tries again
		err = s.checkFree(ctx)
	}
	return wrap("check space", err)
}

// checkFree fails with [feedback.ErrStorageFull] if less than the reserve would be free if the
// write-ahead log was moved into the file. What was deleted is free space in the file, which does
// not shrink.
func (s *Store) checkFree(ctx context.Context) error {
	var path string
	var unused int64
	if err := s.db.QueryRowContext(ctx, `
		select (select file from pragma_database_list where name = 'main'), freelist_count * page_size
		from pragma_freelist_count, pragma_page_size`).Scan(&path, &unused); err != nil {
		return err
	}
	free, total, err := diskspace.Of(filepath.Dir(path))
	if err != nil {
		return fmt.Errorf("read free space: %w", err)
	}
	needed := s.Reserve
	if needed == 0 {
		needed = max(min(total/20, 1<<30), min(total/3, 64<<20))
	}
	if log, err := os.Stat(path + "-wal"); err == nil {
		needed += log.Size()
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if total == 0 || free+unused >= needed {
		return nil
	}
	return &feedback.Error{Kind: feedback.ErrStorageFull,
		Message: "the server has no space for more text at the moment; reading and deleting work",
		Err:     fmt.Errorf("%s: %d bytes are free, and %d needed", path, free+unused, needed)}
}
