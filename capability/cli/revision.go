package cli

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// revision writes the files of an application at a revision of the Git repository that the working
// directory is in to a new folder, and returns the folder that has the place of the working
// directory there. The caller removes the outer folder.
func revision(name string) (folder, outer string, err error) {
	commit, err := git("rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", "", fmt.Errorf("%s is neither a file or folder nor a revision of a Git repository here", name)
	}
	prefix, err := git("rev-parse", "--show-prefix")
	if err != nil {
		return "", "", err
	}
	outer, err = os.MkdirTemp("", "capability")
	if err != nil {
		return "", "", err
	}
	folder = filepath.Join(outer, filepath.FromSlash(strings.TrimSpace(prefix)))
	err = errors.Join(os.MkdirAll(folder, 0o700), extract(strings.TrimSpace(commit), outer))
	if err != nil {
		return "", "", errors.Join(err, os.RemoveAll(outer))
	}
	return folder, outer, nil
}

func git(args ...string) (string, error) {
	cmd := exec.Command("git", args...)
	var problem beginning
	cmd.Stderr = &problem
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(problem.text))
	}
	return string(out), nil
}

// beginning keeps the beginning of what is written to it.
type beginning struct{ text []byte }

func (b *beginning) Write(p []byte) (int, error) {
	const most = 4096
	b.text = append(b.text, p[:min(len(p), most-len(b.text))]...)
	return len(p), nil
}

// extract writes the regular files of a commit that a check may read into a folder.
func extract(commit, folder string) error {
	top, err := git("rev-parse", "--show-toplevel")
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(folder)
	if err != nil {
		return plainError(err)
	}
	defer root.Close()
	cmd := exec.Command("git", "-C", strings.TrimSpace(top), "archive", "--format=tar", commit)
	var problem beginning
	cmd.Stderr = &problem
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("git archive: %w", err)
	}
	err = unpack(tar.NewReader(out), root)
	_, drained := io.Copy(io.Discard, out)
	ended := cmd.Wait()
	if ended != nil {
		ended = fmt.Errorf("git archive: %w: %s", ended, bytes.TrimSpace(problem.text))
	}
	return errors.Join(err, drained, ended)
}

// mostSource limits how much of a revision is read, in bytes.
const mostSource = 64 << 20

func unpack(files *tar.Reader, root *os.Root) error {
	left := int64(mostSource)
	for {
		h, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("git archive: %w", err)
		}
		name := filepath.FromSlash(h.Name)
		if h.Typeflag != tar.TypeReg || !filepath.IsLocal(name) || h.Size > mostBytes ||
			!slices.Contains([]string{".json", ".json5", ".toml", ".lock", ".rs"}, filepath.Ext(name)) {
			continue
		}
		if left -= h.Size; left < 0 {
			return fmt.Errorf("the revision has more than %d bytes of files that are read", int64(mostSource))
		}
		if err := root.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return plainError(err)
		}
		text, err := io.ReadAll(files)
		if err == nil {
			err = root.WriteFile(name, text, 0o600)
		}
		if err != nil {
			return plainError(err)
		}
	}
}
