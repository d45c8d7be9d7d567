package calls

import (
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

	"lessonkit.example/capability"
	"lessonkit.example/capability/internal/limit"
	"lessonkit.example/capability/internal/script"
)

// Frontend is what the scripts and pages of an application call. It is immutable and safe for
// concurrent use.
type Frontend struct {
	// Files are the scripts, components and pages that were read.
	Files []string
	// Unread are those that were not, each with the reason.
	Unread []Unread
	// Foreign are the packages that the application depends on and whose calls are not known.
	Foreign []string

	graph   *script.Graph
	sources map[string]*capability.Source // of modules with calls
	root    string                        // the folder of the frontend
	names   map[string]bool               // all names that modules use: members, imports and strings
	strings map[string]bool
	imports map[string]bool // the packages
	rust    map[string]int  // how often the Rust sources have a word that matters
}

// Unread is a file that was not read.
type Unread struct{ File, Reason string }

// Options configures [Read].
type Options struct {
	// Folders are those of the frontend's sources, in the file system of the application. Defaults to
	// the folder above src-tauri, or the application's own if it is called otherwise, and that of
	// frontendDist if it is elsewhere.
	Folders []string
	// Name returns the name that a file has in diagnostics. Defaults to its path in the file system.
	Name func(path string) string
}

const maxDepth = 64

// Read reads the sources of an application's frontend, as far as they are scripts of at most 1 MiB:
// .js, .ts, .jsx, .tsx, .mjs, .cjs, .mts and .cts, and those in .vue, .svelte and .html. It leaves out
// packages, build results, tests and what is hidden, and follows no links. The file system is the one
// that the application was loaded from. It fails if a folder cannot be read, if there is too much (more
// than 100,000 files and folders, 64 folders in each other, or 64 MiB), and if the context ends.
func Read(ctx context.Context, fsys fs.FS, app *capability.App, o Options) (*Frontend, error) {
	r := &reader{fsys: fsys, options: o, Frontend: &Frontend{sources: make(map[string]*capability.Source),
		names: make(map[string]bool), strings: make(map[string]bool), imports: make(map[string]bool),
		graph: &script.Graph{Modules: make(map[string]*script.Module), Returns: packages().returns}}}
	folders, output := r.folders(app)
	var files []string
	for _, folder := range folders {
		found, err := r.walk(folder, isScript, skipped)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 && output != "" { // pages that nothing builds
		var err error
		if files, err = r.walk(output, isScript, skipped); err != nil {
			return nil, err
		}
	}
	slices.Sort(files)
	if err := r.parse(ctx, slices.Compact(files)); err != nil {
		return nil, err
	}
	r.foreign(folders)
	r.link()
	return r.Frontend, r.readRust(app)
}

type reader struct {
	*Frontend
	fsys    fs.FS
	options Options
	entries int
	bytes   int64
	mu      sync.Mutex
}

func (r *reader) name(file string) string {
	if r.options.Name == nil {
		return file
	}
	return r.options.Name(file)
}

// folders returns the folders of the sources, and that of what is built of them.
func (r *reader) folders(app *capability.App) (folders []string, output string) {
	dir := app.Dir()
	r.root = dir
	if path.Base(dir) == "src-tauri" || r.exists(path.Join(path.Dir(dir), "package.json")) &&
		!r.exists(path.Join(dir, "package.json")) {
		r.root = path.Dir(dir)
	}
	folders = r.options.Folders
	if app.Config != nil {
		dist := app.Config.Root().Get("build").Get("frontendDist").Text()
		if dist != "" && !strings.Contains(dist, "://") {
			output = path.Join(dir, dist)
			if r.options.Folders == nil && !within(output, r.root) && strings.HasPrefix(dist, "..") {
				r.root = path.Dir(output)
				for up := r.root; up != "." && up != "/"; up = path.Dir(up) {
					if r.exists(path.Join(up, "package.json")) {
						r.root = up
						break
					}
				}
			}
			if !r.isDir(output) {
				output = ""
			}
		}
	}
	if folders == nil {
		folders = []string{r.root}
	}
	return folders, output
}

func within(file, folder string) bool {
	return folder == "." || file == folder || strings.HasPrefix(file, folder+"/")
}

func (r *reader) exists(file string) bool {
	info, err := fs.Stat(r.fsys, file)
	return err == nil && info.Mode().IsRegular()
}

func (r *reader) isDir(folder string) bool {
	info, err := fs.Stat(r.fsys, folder)
	return err == nil && info.IsDir()
}

// skipped reports whether a folder is one of build results, copies of others' code, or tests.
func skipped(base string) bool {
	return slices.Contains([]string{"target", "dist", "build", "out", "coverage", "vendor", "bower_components",
		"__tests__", "__mocks__", "tests", "test", "e2e", "gen"}, base)
}

func isScript(base string) bool {
	if _, ok := script.Extensions[path.Ext(base)]; !ok {
		return false
	}
	for _, part := range []string{".d.ts", ".d.mts", ".test.", ".spec.", ".stories.", ".config.", ".min.js"} {
		if strings.Contains(base, part) {
			return false
		}
	}
	return true
}

// walk returns the files in a folder and those below it, but in folders of dependencies and hidden ones.
func (r *reader) walk(folder string, wanted, skip func(base string) bool) (files []string, err error) {
	err = fs.WalkDir(r.fsys, folder, func(name string, entry fs.DirEntry, err error) error {
		base := entry.Name()
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", r.name(name), plain(err))
		case name != folder && entry.IsDir() && (base == "node_modules" || strings.HasPrefix(base, ".") ||
			skip(base)):
			return fs.SkipDir
		case strings.Count(name, "/")-strings.Count(folder, "/") > maxDepth:
			return fmt.Errorf("%s is in more than %d folders in each other", r.name(name), maxDepth)
		}
		if r.entries++; r.entries > limit.Files {
			return fmt.Errorf("%s contains more than %d files and folders; name the folder of the sources",
				r.name(folder), limit.Files)
		}
		if entry.Type().IsRegular() && wanted(base) {
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
	defer f.Close()
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

// workers parse at the same time. One that has met a file that takes too long ends, because what
// parses that file goes on.
const workers = 4

// parse reads files.
func (r *reader) parse(ctx context.Context, files []string) error {
	next := make(chan string)
	failed := make(chan error, workers)
	var group sync.WaitGroup
	for range workers {
		group.Go(func() { failed <- r.parseEach(ctx, next) })
	}
	go func() { // ends when all files are taken, or when nobody takes one
		defer close(next)
		for _, file := range files {
			select {
			case next <- file:
			case <-ctx.Done():
				return
			}
		}
	}()
	var err error
	for range workers {
		err = errors.Join(err, <-failed)
	}
	group.Wait()
	slices.Sort(r.Files)
	slices.SortFunc(r.Unread, func(a, b Unread) int { return strings.Compare(a.File, b.File) })
	return errors.Join(err, ctx.Err())
}

func (r *reader) parseEach(ctx context.Context, files <-chan string) error {
	for file := range files {
		text, err := r.read(file, script.MaxBytes)
		if errors.Is(err, errTooMuch) {
			for range files { // let the sender end
			}
			return err
		}
		var m *script.Module
		if err == nil && ctx.Err() == nil {
			m, err = script.Parse(file, text)
		}
		r.mu.Lock()
		if err != nil {
			r.Unread = append(r.Unread, Unread{r.name(file), err.Error()})
		} else if m != nil {
			r.Files = append(r.Files, r.name(file))
			r.graph.Modules[file] = m
			if len(m.Calls) > 0 {
				r.sources[file] = capability.NewSource(r.name(file), text)
			}
		}
		r.mu.Unlock()
	}
	return nil
}

// foreign finds the packages whose calls are not known: those of the framework's community, and
// those that lie elsewhere in the repository.
func (r *reader) foreign(folders []string) {
	for _, folder := range folders {
		for up := folder; ; up = path.Dir(up) {
			text, err := r.read(path.Join(up, "package.json"), script.MaxBytes)
			var about struct{ Dependencies, DevDependencies map[string]string }
			if err == nil && json.Unmarshal(text, &about) == nil {
				for name, version := range about.Dependencies {
					local := strings.HasPrefix(version, "workspace:") || strings.HasPrefix(version, "file:") ||
						strings.HasPrefix(version, "link:") || strings.HasPrefix(version, "portal:")
					if local || strings.Contains(name, "tauri") && !packages().packages[name] && name != "@tauri-apps/api" &&
						name != "@tauri-apps/cli" {
						r.Foreign = append(r.Foreign, name)
					}
				}
				break
			}
			if up == "." || up == "/" {
				break
			}
		}
	}
	slices.Sort(r.Foreign)
	r.Foreign = slices.Compact(r.Foreign)
}
