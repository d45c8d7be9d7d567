package cli

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"lessonkit.example/capability/internal/words"
)

// revision makes a new folder with the names of the files of an application at a revision of the
// Git repository that the working directory is in, and returns the folder that has the place of the
// working directory there. What a file contains is fetched when the file is opened. The caller
// removes the outer folder.
func (c *command) revision(name string) (folder, outer string, err error) {
	commit, err := gitLine("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("%s is neither a file or folder nor a revision of a Git repository here", name)
	}
	prefix, err := gitLine("rev-parse", "--show-prefix")
	if err != nil {
		return "", "", err
	}
	blobs, links, err := blobsOf(commit, prefix)
	if err != nil {
		return "", "", err
	}
	if len(links) > 0 {
		c.note("links of the revision %s are not followed: %s", name, words.Some(links, 10))
	}
	outer, err = os.MkdirTemp("", "capability")
	if err != nil {
		return "", "", err
	}
	if folder, err = c.disk.place(blobs, outer, prefix); err != nil {
		return "", "", errors.Join(err, os.RemoveAll(outer))
	}
	return folder, outer, nil
}

// git runs Git, and read on what it prints.
func git(read func(io.Reader) error, args ...string) error {
	cmd := exec.Command("git", args...)
	var problem beginning
	cmd.Stderr = &problem
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git %s: %w", args[0], err)
	}
	err = read(out)
	_, drained := io.Copy(io.Discard, out)
	ended := cmd.Wait()
	if ended != nil {
		ended = fmt.Errorf("git %s: %w: %s", args[0], ended, bytes.TrimSpace(problem.text))
	}
	return errors.Join(err, drained, ended)
}

// gitLine returns the line that Git prints.
func gitLine(args ...string) (string, error) {
	var line []byte
	err := git(func(out io.Reader) (err error) {
		line, err = io.ReadAll(out)
		return err
	}, args...)
	return strings.TrimSuffix(string(line), "\n"), err
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 4096
	b.text = append(b.text, p[:min(len(p), most-len(b.text))]...)
	return len(p), nil
}

// mostNames limits the files of a revision that may be read.
const mostNames = 100_000

// blobsOf returns the object names of the regular files of a commit that a check in a folder of it
// may read, by their paths, and the paths of links that it might follow. Git's archive would leave
// out those with the attribute export-ignore.
func blobsOf(commit, folder string) (blobs map[string]string, links []string, err error) {
	// A check in a folder below capabilities is about the application above.
	if at := strings.LastIndex("/"+folder, "/capabilities/"); at >= 0 {
		folder = folder[:at]
	}
	blobs = make(map[string]string)
	err = git(func(out io.Reader) error {
		lines := bufio.NewScanner(out)
		lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
			if at := bytes.IndexByte(data, 0); at >= 0 {
				return at + 1, data[:at], nil
			}
			return 0, nil, nil
		})
		for lines.Scan() {
			object, name, _ := strings.Cut(lines.Text(), "\t")
			fields := strings.Fields(object) // mode, type, name
			switch {
			case len(fields) != 3 || fields[1] != "blob":
			case fields[0] != "120000" && mayBeRead(name, folder):
				blobs[name] = fields[2]
			case fields[0] == "120000" && (mayBeRead(name, folder) ||
				slices.Contains([]string{"capabilities", "permissions"}, path.Base(name))):
				links = append(links, name)
			}
			if len(blobs)+len(links) > mostNames {
				return fmt.Errorf("the revision has more than %d files that may be read; run diff in the folder of "+
					"the application", mostNames)
			}
		}
		return lines.Err()
	}, "ls-tree", "-r", "-z", "--full-tree", commit)
	return blobs, links, err
}

// mayBeRead reports whether a check in a folder may read a file.
func mayBeRead(name, folder string) bool {
	dir, base := path.Split(name)
	if base == "Cargo.lock" || base == "package.json" {
		return strings.HasPrefix(dir, folder) || strings.HasPrefix(folder, dir)
	}
	below, ok := strings.CutPrefix(dir, folder)
	return ok && (base == "build.rs" || slices.Contains([]string{".json", ".json5", ".toml"}, path.Ext(base))) &&
		!slices.ContainsFunc(strings.Split(below, "/"), func(element string) bool {
			return element == "node_modules" || element == "target" || strings.HasPrefix(element, ".")
		})
}

// place makes empty files for the blobs of a revision in a new folder, to be filled when they are
// opened, and returns the folder in it that has a path.
func (d *disk) place(blobs map[string]string, outer, prefix string) (string, error) {
	outer, err := filepath.EvalSymlinks(outer)
	if err != nil {
		return "", plainError(err)
	}
	root, err := os.OpenRoot(outer)
	if err != nil {
		return "", plainError(err)
	}
	defer root.Close()
	if d.blobs == nil {
		d.blobs = make(map[string]string)
	}
	for name, blob := range blobs {
		name = filepath.FromSlash(name)
		if !filepath.IsLocal(name) {
			continue
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return "", plainError(err)
		}
		if err := root.WriteFile(name, nil, 0o600); err != nil {
			return "", plainError(err)
		}
		d.blobs[filepath.Join(outer, name)] = blob
	}
	folder := filepath.Join(outer, filepath.FromSlash(prefix))
	return folder, os.MkdirAll(folder, 0o700)
}

// fill writes what a file of a revision contains into it, unless that was done. Of a file that is
// too large it writes one byte more than is read.
func (d *disk) fill(file string) error {
	blob, ok := d.blobs[file]
	if !ok {
		return nil
	}
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_TRUNC, 0)
	if err != nil {
		return err
	}
	err = git(func(out io.Reader) error {
		_, err := io.Copy(f, io.LimitReader(out, mostBytes+1))
		return err
	}, "cat-file", "blob", blob)
	if err = errors.Join(err, f.Close()); err == nil {
		delete(d.blobs, file)
	}
	return err
}
