package calls

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/script"
)

// Frontend is what the scripts and pages of an application call. It is immutable and safe for
// concurrent use.
type Frontend struct {
	// Files are the scripts, components and pages that were read.
	Files []string
	// Unread are those that were not, and packages of the repository, each with the reason.
	Unread []Unread

	calls  []call
	labels []string        // of the windows whose pages are known
	words  map[string]bool // in all sources
	rust   map[string]int  // how often the Rust sources have a word that matters
}

// Unread is a file, or a package or folder of others, that was not read.
type Unread struct{ File, Reason string }

// Options configures [Read].
type Options struct {
	// Folders are those of the frontend's sources, in the file system of the application. Defaults
	// to the folder above src-tauri, or the application's own if it is called otherwise.
	Folders []string
	// Name returns the name that a file has in diagnostics. Defaults to its path in the file
	// system.
	Name func(path string) string
}

const maxDepth = 64

// Read reads the sources of an application's frontend, as far as they are scripts of at most 1 MiB:
// .js, .ts, .jsx, .tsx, .mjs, .cjs, .mts and .cts, and those in .vue, .svelte and .html. It leaves
// out packages, build results, tests and what is hidden, and follows no links. The file system is
// the one that the application was loaded from. It fails if a folder cannot be read, if there is
// too much (more than 100,000 files and folders, 64 folders in each other, or 64 MiB), and if the
// context ends.
func Read(ctx context.Context, fsys fs.FS, app *capability.App, o Options) (*Frontend, error) {
	r := &reader{Frontend: &Frontend{words: make(map[string]bool)}, fsys: fsys, app: app, options: o,
		graph:   &script.Graph{Modules: make(map[string]*script.Module), Returns: packages().returns},
		sources: make(map[string]*capability.Source), dependencies: make(map[string]bool)}
	r.root = app.Dir()
	if path.Base(r.root) == "src-tauri" {
		r.root = path.Dir(r.root)
	}
	if r.options.Folders == nil {
		r.options.Folders = []string{r.root}
		r.elsewhere()
	}
	var files []string
	for _, folder := range r.options.Folders {
		found, err := r.walk(folder, isScript, r.skipped)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	for _, folder := range slices.Compact(append(slices.Clip(r.options.Folders), r.root)) {
		r.packages(folder)
	}
	slices.Sort(files)
	if err := r.parse(ctx, slices.Compact(files)); err != nil {
		return nil, err
	}
	r.link()
	r.readRust()
	return r.Frontend, nil
}

type reader struct {
	*Frontend
	fsys         fs.FS
	options      Options
	app          *capability.App
	root         string // the folder of the application and its frontend
	graph        *script.Graph
	sources      map[string]*capability.Source
	dependencies map[string]bool // packages that are installed
	entries      int
	bytes        int64
	mu           sync.Mutex
}

func (r *reader) name(file string) string {
	if r.options.Name == nil {
		return file
	}
	return r.options.Name(file)
}

// elsewhere says that the sources are if the configuration has a folder of pages outside the root.
func (r *reader) elsewhere() {
	if r.app.Config == nil {
		return
	}
	dist := r.app.Config.Root().Get("build").Get("frontendDist").Text()
	if !strings.Contains(dist, "://") && !within(path.Join(r.app.Dir(), dist), r.root) {
		r.Unread = append(r.Unread, Unread{dist, "the frontend is elsewhere; name the folder of its sources"})
	}
}

func within(file, folder string) bool {
	return folder == "." && !strings.HasPrefix(file, "..") || file == folder || strings.HasPrefix(file, folder+"/")
}

// skipped reports whether a folder does not belong to the frontend's sources: it has build results,
// copies of others' code, tests, the application's Rust code or another application.
func (r *reader) skipped(folder string) bool {
	app := capability.AppIn(r.fsys, folder)
	return app != "" && (app != r.app.Dir() || app == folder && folder != r.root) ||
		slices.Contains([]string{"target", "dist", "build", "out", "coverage", "vendor", "bower_components",
			"__tests__", "__mocks__", "tests", "test", "e2e", "gen"}, path.Base(folder))
}

func isScript(base string) bool {
	if _, ok := script.Extensions[path.Ext(base)]; !ok {
		return false
	}
	for _, part := range []string{".d.ts", ".d.mts", ".test.", ".spec.", ".stories.", ".config.", ".example.",
		".min.js"} {
		if strings.Contains(base, part) {
			return false
		}
	}
	return true
}

// walk returns the files in a folder and those below it, but in folders of dependencies and hidden
// ones.
func (r *reader) walk(folder string, wanted, skip func(name string) bool) (files []string, err error) {
	err = fs.WalkDir(r.fsys, folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return fmt.Errorf("%s: %w", r.name(name), plain(err))
		}
		switch base := entry.Name(); {
		case name != folder && entry.IsDir() && (base == "node_modules" || strings.HasPrefix(base, ".") ||
			skip(name)):
			return fs.SkipDir
		case strings.Count(name, "/")-strings.Count(folder, "/") > maxDepth:
			return fmt.Errorf("%s is in more than %d folders in each other", r.name(name), maxDepth)
		}
		if r.entries++; r.entries > limit.Files {
			return fmt.Errorf("%s contains more than %d files and folders; name the folder of the sources",
				r.name(folder), limit.Files)
		}
		if entry.Type().IsRegular() && wanted(entry.Name()) {
			files = append(files, name)
		}
		return nil
	})
	return files, err
}

// plain returns the cause of an error of a file system.
func plain(err error) error {
	var in *fs.PathError
	if errors.As(err, &in) {
		return in.Err
	}
	return err
}

// read returns a file of at most a number of bytes.
func (r *reader) read(file string, most int64) ([]byte, error) {
	f, err := r.fsys.Open(file)
	if err != nil {
		return nil, plain(err)
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, plain(err)
	case !info.Mode().IsRegular():
		return nil, errors.New("it is not a regular file")
	case info.Size() > most:
		return nil, fmt.Errorf("it has %d bytes; at most %d are read", info.Size(), most)
	}
	text, err := io.ReadAll(io.LimitReader(f, most))
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.bytes += int64(len(text)); r.bytes > limit.Bytes {
		return nil, errTooMuch
	}
	return text, plain(err)
}

var errTooMuch = fmt.Errorf("the sources have more than %d bytes; name the folder of the frontend", limit.Bytes)

// parse reads files. It fails at the first one that takes too long, because what parses that goes
// on.
func (r *reader) parse(ctx context.Context, files []string) error {
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(4) // files at a time
	for _, file := range files {
		if inGroup.Err() != nil {
			break
		}
		group.Go(func() error { return r.parseFile(file) })
	}
	err := group.Wait()
	slices.Sort(r.Files)
	slices.SortFunc(r.Unread, func(a, b Unread) int { return strings.Compare(a.File, b.File) })
	return cmp.Or(err, ctx.Err())
}

func (r *reader) parseFile(file string) error {
	text, err := r.read(file, script.MaxBytes)
	var m *script.Module
	if err == nil {
		m, err = script.Parse(file, text)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, errTooMuch):
		return err
	case errors.Is(err, script.ErrTime):
		return fmt.Errorf("%s: %w", r.name(file), err)
	case err != nil:
		r.Unread = append(r.Unread, Unread{r.name(file), err.Error()})
		return nil
	}
	r.Files = append(r.Files, r.name(file))
	r.graph.Modules[file], r.sources[file] = m, capability.NewSource(r.name(file), text)
	return nil
}

// packages says which packages of the same repository a folder's package.json names: they are not
// read.
func (r *reader) packages(folder string) {
	text, err := r.read(path.Join(folder, "package.json"), script.MaxBytes)
	if err != nil {
		return
	}
	var manifest struct{ Dependencies, DevDependencies map[string]string }
	_ = json.Unmarshal(text, &manifest) // what is not readable is not there
	for name := range manifest.DevDependencies {
		r.dependencies[name] = true
	}
	for name, version := range manifest.Dependencies {
		kind, _, local := strings.Cut(version, ":")
		if version == "*" || local && slices.Contains([]string{"workspace", "file", "link", "portal"}, kind) {
			r.Unread = append(r.Unread, Unread{name, "it is a package of the same repository"})
		}
		r.dependencies[name] = true
	}
}
