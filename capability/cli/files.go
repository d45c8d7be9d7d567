package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// A repository may come from anyone: its links may lead to other files of the user, and its files
// may be devices or have any size. So files are read and written only inside the folder that was
// named on the command line or the application in question, only regular ones, and up to a limit.

// mostBytes limits the memory that a file takes; real files are far smaller.
const mostBytes = 32 << 20

// disk is the file system of the computer, by absolute names without the first slash. It opens
// files only in the folders that are allowed: those that were named on the command line, or the
// applications of files that were. Another file, such as one in the folder above an application, is
// opened if no link leads out of its own folder.
type disk struct {
	folders []string
	blobs   map[string]string // the object names of files of revisions that were not opened yet
}

func (d *disk) allow(folder string) {
	if folder = absolute(folder); !slices.Contains(d.folders, folder) {
		d.folders = append(d.folders, folder)
	}
}

// within returns the folder that nothing is read or written outside of if it is about a file: the
// outermost of those that contain it.
func (d *disk) within(file string) string {
	found := ""
	for _, folder := range d.folders {
		if below(folder, file) && (found == "" || below(folder, found)) {
			found = folder
		}
	}
	if found == "" {
		return filepath.Dir(file)
	}
	return found
}

// Open implements [fs.FS].
func (d *disk) Open(name string) (fs.File, error) {
	file := systemName(name)
	real, err := inside(file, d.within(file))
	if err != nil {
		return nil, err
	}
	if err := d.fill(real); err != nil {
		return nil, err
	}
	return os.Open(real)
}

// Stat implements [fs.StatFS]. It does not open the file.
func (d *disk) Stat(name string) (fs.FileInfo, error) {
	file := systemName(name)
	real, err := inside(file, d.within(file))
	if err != nil {
		return nil, err
	}
	return os.Stat(real)
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

// below reports whether a file is a folder or is in it, by their absolute names.
func below(folder, file string) bool {
	relative, err := filepath.Rel(folder, file)
	return err == nil && relative != ".." && !strings.HasPrefix(relative, ".."+string(filepath.Separator))
}

// inside returns the file to which a name leads, through links or not. It fails if the file is not
// in the folder within, unless that is "".
func inside(name, within string) (string, error) {
	file, err := filepath.EvalSymlinks(name)
	if err != nil || within == "" {
		return file, err
	}
	absolute, err := filepath.Abs(file)
	if err != nil {
		return "", err
	}
	folder, err := filepath.Abs(within)
	if err == nil {
		folder, err = filepath.EvalSymlinks(folder)
	}
	if err != nil {
		return "", err
	}
	if !below(folder, absolute) {
		return "", &fs.PathError{Op: "open", Path: name,
			Err: fmt.Errorf("leads out of %s, to %s; name a folder that contains both", within, absolute)}
	}
	return file, nil
}

// regular returns the regular file to which a name leads. It does not open the file: opening a pipe
// waits, and opening a device may have an effect.
func regular(name, within string) (string, fs.FileInfo, error) {
	file, err := inside(name, within)
	if err != nil {
		return "", nil, plainError(err)
	}
	info, err := os.Stat(file)
	switch {
	case err != nil:
		return "", nil, plainError(err)
	case !info.Mode().IsRegular():
		return "", nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > mostBytes:
		return "", nil, fmt.Errorf("%s has %d bytes; at most %d are read", name, info.Size(), mostBytes)
	}
	return file, info, nil
}

func readFile(name, within string) ([]byte, error) {
	file, _, err := regular(name, within)
	if err != nil {
		return nil, err
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, plainError(err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, mostBytes+1))
	if err == nil && len(text) > mostBytes {
		err = fmt.Errorf("%s has more than %d bytes", name, mostBytes)
	}
	return text, plainError(err)
}

// read reads a file that a flag names.
func read(name string, parse func([]byte, capability.Options) *capability.Document) (*capability.Document, error) {
	text, err := readFile(name, "")
	if err != nil {
		return nil, err
	}
	return parse(text, capability.Options{Name: filepath.ToSlash(name)}), nil
}

// rewrite replaces the content of a file atomically. The new file has a name that did not exist
// before, so that nothing else is written through it; a link to the file stays a link.
func rewrite(name, within, text string) error {
	file, info, err := regular(name, within)
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(file), "."+filepath.Base(file)+".*.tmp")
	if err != nil {
		return plainError(err)
	}
	_, err = f.WriteString(text)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), file)
	}
	if err != nil {
		return errors.Join(plainError(err), os.Remove(f.Name()))
	}
	return nil
}

// plainError leaves the name of the system call out of an error.
func plainError(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return fmt.Errorf("%s: %w", path.Path, path.Err)
	}
	return err
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// shorten returns the name of a file relative to the working directory if the file is in or near
// it.
func shorten(file string) string {
	if !filepath.IsAbs(file) {
		return file
	}
	dir, err := os.Getwd()
	if err != nil {
		return file
	}
	relative, err := filepath.Rel(dir, file)
	if err != nil || strings.HasPrefix(relative, filepath.Join("..", "..", "..")) {
		return file
	}
	return relative
}
