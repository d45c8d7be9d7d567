package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"lessonkit.example/capability/internal/limit"
)

// gitObjects reads the objects of the Git repository that the working directory is in, by one
// process of git cat-file.
//
// The repository may come from anyone. Its configuration and its attributes may name programs, but
// cat-file runs none of them except to fetch what is missing. The environment forbids that, in one
// way that all versions of Git know and in another for newer ones. A folder of a repository that
// looks like a bare repository is not taken for one.
type gitObjects struct {
	ctx    context.Context // ends the process
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	said   head  // on standard error
	failed error // why the process has ended
}

// errNoObject is what read returns for an object that the repository lacks.
var errNoObject = errors.New("the repository has no such object, and none is fetched")

// openObjects starts the process, which is killed when the context is done, and returns the place
// of the working directory in the repository.
func openObjects(ctx context.Context) (g *gitObjects, prefix string, err error) {
	g = &gitObjects{ctx: ctx}
	printed, err := g.command("rev-parse", "--show-prefix").Output()
	if err != nil {
		return nil, "", g.failure(err)
	}
	g.cmd = g.command("cat-file", "--batch")
	if g.in, err = g.cmd.StdinPipe(); err != nil {
		return nil, "", err
	}
	out, err := g.cmd.StdoutPipe()
	if err != nil {
		return nil, "", err
	}
	g.out = bufio.NewReader(out)
	return g, strings.TrimSuffix(string(printed), "\n"), g.cmd.Start()
}

// command returns a command of Git that is killed when the context is done.
func (g *gitObjects) command(args ...string) *exec.Cmd {
	cmd := exec.CommandContext(g.ctx, "git", append([]string{"-c", "safe.bareRepository=explicit"}, args...)...)
	cmd.Env = append(os.Environ(), "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_NO_REPLACE_OBJECTS=1",
		"GIT_ALLOC_LIMIT="+strconv.Itoa(2*limit.Bytes))
	cmd.Stderr = &g.said
	cmd.WaitDelay = time.Second
	return cmd
}

// read returns the id and the content of an object. The name is a line that Git understands.
func (g *gitObjects) read(name, kind string) (id string, content []byte, err error) {
	if err := cmp.Or(g.failed, context.Cause(g.ctx)); err != nil {
		return "", nil, err
	}
	_, _ = io.WriteString(g.in, name+"\n") // if it fails, there is no answer
	answer, err := g.out.ReadString('\n')
	if err != nil {
		return "", nil, g.end(err)
	}
	if answer == name+" missing\n" {
		return "", nil, errNoObject
	}
	fields := strings.Fields(answer) // id, kind, size
	if len(fields) != 3 || fields[1] != kind {
		return "", nil, g.end(fmt.Errorf("the object is no %s: %q", kind, answer))
	}
	size, err := strconv.Atoi(fields[2])
	if err != nil || size > limit.Bytes {
		return "", nil, g.end(fmt.Errorf("it has %s bytes; at most %d are read", fields[2], limit.Bytes))
	}
	content = make([]byte, size+1) // with a line break
	if _, err := io.ReadFull(g.out, content); err != nil {
		return "", nil, g.end(err)
	}
	return fields[0], content[:size], nil
}

// end ends the process because of an error, which read returns from now on.
func (g *gitObjects) end(err error) error {
	g.close()
	if g.ctx.Err() != nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		err = g.failure(err)
	}
	g.failed = err
	return err
}

// failure returns the error of a process that has ended, with the first line that it has printed.
func (g *gitObjects) failure(err error) error {
	err = cmp.Or(context.Cause(g.ctx), err)
	if line, _, _ := strings.Cut(string(g.said), "\n"); line != "" {
		return fmt.Errorf("git: %w: %s", err, line)
	}
	return fmt.Errorf("git: %w", err)
}

// close ends the process.
func (g *gitObjects) close() {
	_ = g.cmd.Process.Kill() // it may have ended
	_ = g.cmd.Wait()
}

// head keeps the first bytes of what is written to it.
type head []byte

// Write implements [io.Writer].
func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), 1000-len(*h))]...)
	return len(p), nil
}
