package cli

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/words"
)

// revision is a commit of the Git repository that the working directory is in.
type revision struct {
	commit          string
	objects, format string // the folder of the repository's objects, and their format
	prefix          string // the place of the working directory in the repository
}

func revisionNamed(name string) (r revision, err error) {
	var here git
	r.commit, err = here.run("", "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return r, fmt.Errorf("%s is neither a file or folder nor a revision of a Git repository here", name)
	}
	about, err := here.run("", "rev-parse", "--path-format=absolute", "--git-path", "objects", "--show-object-format",
		"--show-prefix")
	lines := append(strings.Split(about, "\n"), "", "")
	r.objects, r.format, r.prefix = lines[0], lines[1], lines[2]
	return r, err
}

// revision writes the files of an application at a revision to a new folder, and returns the folder
// that has the place of the working directory there. The caller removes the outer folder.
func (c *command) revision(name string) (folder, outer string, err error) {
	r, err := revisionNamed(name)
	if err != nil {
		return "", "", err
	}
	outer, err = os.MkdirTemp("", "capability")
	if err != nil {
		return "", "", err
	}
	links, err := r.checkout(outer)
	if err != nil {
		return "", "", errors.Join(err, os.RemoveAll(outer))
	}
	if len(links) > 0 {
		c.note("links of the revision %s are not followed: %s", name, words.Some(links, 10))
	}
	return filepath.Join(outer, "files", filepath.FromSlash(r.prefix)), outer, nil
}

// checkout writes the files that a check may read to a folder files in a new folder, and returns
// the names of links that it leaves out.
//
// The repository may come from anyone: its configuration and its attributes may name programs that
// Git runs, and its links may lead anywhere. So the files are checked out by another repository,
// which is in the new folder. It has only the objects of the first one, and its own attributes turn
// off all filters and conversions.
func (r revision) checkout(outer string) (links []string, err error) {
	dir := filepath.Join(outer, ".git")
	g := git{outer, []string{"GIT_DIR=" + dir, "GIT_WORK_TREE=" + outer,
		"GIT_INDEX_FILE=" + filepath.Join(dir, "index"), "GIT_CONFIG_GLOBAL=" + os.DevNull, "GIT_CONFIG_NOSYSTEM=1"}}
	if _, err := g.run("", "init", "--quiet", "--template=", "--object-format="+r.format); err != nil {
		return nil, err
	}
	g.env = append(g.env, "GIT_OBJECT_DIRECTORY="+r.objects)
	if err := os.Mkdir(filepath.Join(dir, "info"), 0o700); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(dir, "info", "attributes"),
		[]byte("* -text -eol -ident -filter -working-tree-encoding\n"), 0o600); err != nil {
		return nil, err
	}
	files, links, err := r.list(g)
	if err != nil {
		return nil, err
	}
	if _, err := g.run("", "read-tree", r.commit); err != nil {
		return nil, err
	}
	if _, err := g.run(strings.Join(files, "\x00"), "checkout-index", "-z", "--stdin", "--prefix=files/"); err != nil {
		return nil, err
	}
	return links, os.MkdirAll(filepath.Join(outer, "files", filepath.FromSlash(r.prefix)), 0o700)
}

// git is how Git is run. The zero git runs it in the repository here, with the user's
// configuration.
type git struct {
	dir string
	env []string
}

// run runs Git and returns what it prints, without the last line break. Git does not fetch what the
// repository lacks.
func (g git) run(input string, args ...string) (string, error) {
	cmd := exec.Command("git", append([]string{"-c", "safe.bareRepository=explicit", "-c",
		"core.symlinks=false"}, args...)...)
	cmd.Dir = g.dir
	cmd.Env = slices.Concat(os.Environ(), []string{"GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1"}, g.env)
	cmd.Stdin = strings.NewReader(input)
	out, problem := limited{most: limit.Bytes}, limited{most: limit.Bytes}
	cmd.Stdout, cmd.Stderr = &out, &problem
	err := cmd.Run()
	switch {
	case out.full:
		return "", fmt.Errorf("git prints more than %d bytes; run diff in the folder of the application", limit.Bytes)
	case err != nil:
		return "", fmt.Errorf("git %s: %w: %s", args[0], err, bytes.TrimSpace(problem.text))
	}
	return strings.TrimSuffix(string(out.text), "\n"), nil
}

// limited keeps what is written to it, and fails if it is too much.
type limited struct {
	text []byte
	most int
	full bool
}

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if l.full = l.full || len(l.text)+len(p) > l.most; l.full {
		return 0, errors.New("too much")
	}
	l.text = append(l.text, p...)
	return len(p), nil
}

// list returns the names of the regular files that a check in the working directory may read, and
// those of links that it might follow, up to the limits.
func (r revision) list(g git) (files, links []string, err error) {
	folder := r.prefix
	// A check in a folder below capabilities is about the application above.
	if at := strings.LastIndex("/"+folder, "/capabilities/"); at >= 0 {
		folder = folder[:at]
	}
	args := []string{"ls-tree", "-r", "-z", "--full-tree", r.commit}
	if folder != "" {
		args = append(args, folder)
		for dir := path.Clean(folder); dir != "."; {
			dir = path.Dir(dir)
			args = append(args, path.Join(dir, "Cargo.lock"), path.Join(dir, "package.json"))
		}
	}
	listed, err := g.run("", args...)
	if err != nil {
		return nil, nil, err
	}
	objects := make(map[string]string)
	var others []string // files that count if there is no application
	application := false
	for entry := range strings.SplitSeq(listed, "\x00") {
		object, name, _ := strings.Cut(entry, "\t")
		fields := strings.Fields(object) // mode, type, object
		below := strings.TrimPrefix(name, folder)
		if len(fields) != 3 || fields[1] != "blob" || skippedFolder.MatchString(below) {
			continue
		}
		objects[name] = fields[2]
		ofApplication, capabilityFile := applicationFile.MatchString(below), capabilityFile.MatchString(below)
		switch {
		case fields[0] == "120000":
			base := path.Base(name)
			if ofApplication || capabilityFile || base == "capabilities" || base == "permissions" {
				links = append(links, name)
			}
		case ofApplication:
			files = append(files, name)
			application = application || decidingFile.MatchString(below)
		case capabilityFile:
			others = append(others, name)
		}
	}
	if !application {
		files = append(files, others...)
	}
	if len(files) > limit.Files {
		return nil, nil, fmt.Errorf("the revision has %d files that may be read; at most %d are; run diff in the "+
			"folder of the application", len(files), limit.Files)
	}
	var input strings.Builder
	for _, name := range files {
		input.WriteString(objects[name] + "\n")
	}
	sizes, err := g.run(input.String(), "cat-file", "--batch-check=%(objectsize)")
	if err != nil {
		return nil, nil, err
	}
	total := 0
	for line := range strings.Lines(sizes) {
		size, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return nil, nil, fmt.Errorf("the repository has not all files of the revision: %s", line)
		}
		total += size
	}
	if total > limit.Bytes {
		return nil, nil, fmt.Errorf("the files of the revision that may be read have %d bytes; at most %d are read; "+
			"run diff in the folder of the application", total, limit.Bytes)
	}
	return files, links, nil
}

var (
	skippedFolder  = regexp.MustCompile(`(^|/)(node_modules|target|\.[^/]*)/`)
	capabilityFile = regexp.MustCompile(`\.(json5?|toml)$`)
	// The files of an application, and those of them that make a folder one.
	applicationFile = regexp.MustCompile(decidingFile.String() + `|` +
		`(^|/)(permissions/.*\.(json5?|toml)|acl-manifests\.json|build\.rs|Cargo\.lock|package\.json)$`)
	decidingFile = regexp.MustCompile(
		`(^|/)(capabilities/.*\.(json5?|toml)|tauri\.([^/]+\.)?conf\.json5?|Tauri(\.[^/]+)?\.toml)$`)
)
