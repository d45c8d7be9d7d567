package imagegen

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Dir returns a Sink that stores images as files in dir, which must exist. pattern is the file
// name, in which {i} becomes the number of the image, from 1, and {ext} the extension for its type,
// with the dot. An empty pattern means "image-{i}{ext}".
//
// An image is written to a temporary file in dir, synced, and renamed on Commit; just before, an
// empty file reserves its final name. An existing file is never overwritten: -2, -3 and so on is
// added before the extension. Dir may be used by several calls at once, also of several processes.
func Dir(dir, pattern string) Sink {
	if pattern == "" {
		pattern = "image-{i}{ext}"
	}
	return dirSink{dir, pattern}
}

type dirSink struct{ dir, pattern string }

// Prepare checks the pattern, and that dir accepts a file with a long name of it, and a megabyte
// for each image: once the images are paid it would be too late.
func (s dirSink) Prepare(_ context.Context, n int) error {
	if s.pattern == "." || s.pattern == ".." || strings.ContainsAny(s.pattern, "/\\\x00") {
		return fmt.Errorf("file name pattern %q is not a plain file name", s.pattern)
	}
	b, err := s.open(".-99" + s.name(Info{Index: 999, Ext: ".webp"}))
	if err != nil {
		return err
	}
	block := make([]byte, 256<<10)
	_, _ = rand.Read(block) // some file systems have room for any number of zeros
	for range 4 * min(max(n, 1), 16) {
		if _, err = b.Write(block); err != nil {
			return errors.Join(err, b.Abort())
		}
	}
	if err = errors.Join(b.Sync(), b.Truncate(0)); err != nil { // what a kill leaves then takes no room
		return errors.Join(err, b.Abort())
	}
	if err = b.Commit(); err != nil {
		return err
	}
	return os.Remove(b.path)
}

func (s dirSink) Open(_ context.Context, info Info) (Blob, error) {
	b, err := s.open(s.name(info))
	if err != nil {
		return nil, err
	}
	return b, nil
}

func (s dirSink) open(name string) (*dirBlob, error) {
	f, err := os.CreateTemp(s.dir, ".imagegen-*.part")
	if err != nil {
		return nil, err
	}
	return &dirBlob{File: f, dir: s.dir, name: name}, nil
}

func (s dirSink) name(info Info) string {
	return strings.NewReplacer("{i}", strconv.Itoa(info.Index+1), "{ext}", info.Ext).Replace(s.pattern)
}

type dirBlob struct {
	*os.File
	dir, name, path string
}

func (b *dirBlob) Commit() error {
	err := b.File.Sync()
	if closed := b.File.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = b.place()
	}
	if err != nil {
		err = errors.Join(err, os.Remove(b.File.Name()))
	}
	return err
}

// place renames the temporary file to the first free name.
func (b *dirBlob) place() error {
	ext := filepath.Ext(b.name)
	for i := 1; ; i++ {
		name := b.name
		if i > 1 {
			name = fmt.Sprintf("%s-%d%s", strings.TrimSuffix(b.name, ext), i, ext)
		}
		b.path = filepath.Join(b.dir, name)
		reserved, err := os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o666)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return err
		}
		if info, err := reserved.Stat(); err == nil { // the mode that the umask leaves
			_ = os.Chmod(b.File.Name(), info.Mode()) // FAT may fail, which is no reason to lose an image
		}
		reserved.Close()
		if err := os.Rename(b.File.Name(), b.path); err != nil {
			return errors.Join(err, os.Remove(b.path))
		}
		return nil
	}
}

func (b *dirBlob) Abort() error {
	return errors.Join(b.File.Close(), os.Remove(b.File.Name()))
}

func (b *dirBlob) Describe(info *Info) { info.Path = b.path }
