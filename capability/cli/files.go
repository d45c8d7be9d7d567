package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/limit"
)

// A repository may come from anyone: its links may lead to other files of the user, and its files
// may be devices or have any size. So files are read and written only inside the folder that was
// named on the command line or the application in question, only regular ones, and up to a limit.

// disk is the file system of the computer, by absolute names without the first slash. It opens a
// file through the outermost folder that is allowed and contains it: one that was named on the
// command line, or the application of a file that was. Another file, such as one in the folder
// above an application, is opened through its own folder. No link is followed out of either.
type disk struct {
	folders []string
}

func (d *disk) allow(folder string) {
	if folder = absolute(folder); !slices.Contains(d.folders, folder) {
		d.folders = append(d.folders, folder)
	}
}

// root opens the folder that a file is opened through, and returns the name of the file in it.
func (d *disk) root(file string) (*os.Root, string, error) {
	folder, name := filepath.Split(file)
	for _, allowed := range d.folders {
		below, err := filepath.Rel(allowed, file)
		if err == nil && filepath.IsLocal(below) && len(below) > len(name) || below == "." {
			folder, name = allowed, below
		}
	}
	root, err := os.OpenRoot(folder)
	return root, cmp.Or(name, "."), err
}

// Open implements [fs.FS].
func (d *disk) Open(name string) (fs.File, error) {
	root, file, err := d.root(systemName(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.Open(file)
	if err != nil {
		return nil, rootError(root, err)
	}
	return f, nil
}

// Stat implements [fs.StatFS]. It does not open the file.
func (d *disk) Stat(name string) (fs.FileInfo, error) {
	root, file, err := d.root(systemName(name))
	if err != nil {
		return nil, err
	}
	defer root.Close()
	info, err := root.Stat(file)
	return info, rootError(root, err)
}

// rootError says of a link that it leads out of a folder, as no error of package os is for that.
func rootError(root *os.Root, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) && in.Err.Error() == "path escapes from parent" {
		return &fs.PathError{Op: in.Op, Path: in.Path,
			Err: fmt.Errorf("is a link that leads out of %s; name a folder that contains both", root.Name())}
	}
	return err
}

// read returns the content of a regular file.
func (d *disk) read(name string) ([]byte, error) {
	r := limit.Reader{FS: d, Name: shownName}
	return r.Read(nameOnDisk(name), limit.Bytes)
}

// readFlag reads a file that a flag names, which may be a link to anywhere.
func readFlag(name string) ([]byte, error) {
	file, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, plainError(name, err)
	}
	return new(disk).read(file)
}

// rewrite replaces the content of a file atomically. The new file has a name that did not exist
// before, so that nothing else is written through it; a link to the file stays a link.
func (d *disk) rewrite(name, text string) error {
	root, file, err := d.root(absolute(name))
	if err != nil {
		return plainError(name, err)
	}
	defer root.Close()
	info, err := root.Stat(file)
	if err != nil {
		return plainError(name, rootError(root, err))
	}
	for {
		target, err := root.Readlink(file)
		if err != nil {
			break // not a link
		}
		folder, _ := filepath.Split(file)
		file = folder + target // not cleaned: ".." is that of where the folder leads
	}
	folder, base := filepath.Split(file)
	temporary := fmt.Sprintf("%s.%s.%x.tmp", folder, base, rand.Uint64())
	f, err := root.OpenFile(temporary, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return plainError(name, rootError(root, err))
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close())
	if err == nil {
		err = root.Rename(temporary, file)
	}
	if err != nil {
		return errors.Join(plainError(name, err), root.Remove(temporary))
	}
	return nil
}

// plainError names the file of an error, without the system call.
func plainError(name string, err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return fmt.Errorf("%s: %w", name, in.Err)
	}
	return err
}

// nameOnDisk returns the name that a file of the system has in a disk, systemName the opposite.
func nameOnDisk(file string) string {
	return cmp.Or(strings.TrimLeft(filepath.ToSlash(absolute(file)), "/"), ".")
}

func systemName(name string) string {
	switch {
	case name == ".":
		return string(filepath.Separator)
	case runtime.GOOS != "windows":
		return "/" + name
	case filepath.VolumeName(name) == "":
		return `\\` + filepath.FromSlash(name)
	}
	return filepath.FromSlash(name)
}

// shownName returns the name that a file of a disk has in diagnostics.
func shownName(name string) string { return filepath.ToSlash(shorten(systemName(name))) }

func absolute(name string) string {
	file, err := filepath.Abs(name)
	if err != nil {
		return name
	}
	return file
}

// shorten returns the name of a file relative to the working directory if the file is in or near
// it.
func shorten(file string) string {
	if !filepath.IsAbs(file) {
		return file
	}
	relative, err := filepath.Rel(absolute("."), file)
	if err != nil || strings.HasPrefix(relative, filepath.Join("..", "..", "..")) {
		return file
	}
	return relative
}

func exists(name string) bool {
	_, err := os.Lstat(name)
	return err == nil
}
