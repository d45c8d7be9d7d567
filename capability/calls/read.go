package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
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
	// Foreign are the packages that the application depends on and whose calls are not known: those
	// of plugins that are not official, which may call the core and their plugin.
	Foreign []string

	graph   *script.Graph
	sources map[string]*capability.Source // of modules with calls
	root    string                        // the folder of the frontend
	names   map[string]bool               // all names that modules use: members, imports and strings
	imports map[string]bool               // the packages
	rust    map[string]int                // how often the Rust sources have a word that matters
}

// Unread is a file that was not read.
type Unread struct{ File, Reason string }

// Options configures [Read].
type Options struct {
	// Folders are those of the frontend's sources, in the file system of the application. Defaults
	// to the folder above src-tauri, or the application's own if it is called otherwise, and that
	// of frontendDist if it is elsewhere.
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
	r := &reader{fsys: fsys, app: app, options: o, Frontend: &Frontend{sources: make(map[string]*capability.Source),
		names: make(map[string]bool), imports: make(map[string]bool),
		graph: &script.Graph{Modules: make(map[string]*script.Module), Returns: packages().returns}}}
	folders := r.folders()
	var files []string
	for _, folder := range folders {
		found, err := r.walk(folder, isScript, r.skipped)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 && r.output != "" { // pages that nothing builds
		var err error
		if files, err = r.walk(r.output, isScript, r.skipped); err != nil {
			return nil, err
		}
	}
	shared, err := r.dependencies(folders)
	if err != nil {
		return nil, err
	}
	slices.Sort(files)
	if err := r.parse(ctx, slices.Compact(append(files, shared...))); err != nil {
		return nil, err
	}
	r.link()
	for _, file := range shared {
		if !slices.ContainsFunc(folders, func(folder string) bool { return within(file, folder) }) {
			delete(r.graph.Modules, file) // what it uses is known now; which application runs it is not
		}
	}
	r.readRust(app)
	return r.Frontend, nil
}

type reader struct {
	*Frontend
	fsys    fs.FS
	options Options
	app     *capability.App
	output  string // the folder of what is built of the sources, "" without one
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

// folders returns the folders of the sources.
func (r *reader) folders() []string {
	dir := r.app.Dir()
	r.root = dir
	if path.Base(dir) == "src-tauri" || r.exists(path.Join(path.Dir(dir), "package.json")) &&
		!r.exists(path.Join(dir, "package.json")) {
		r.root = path.Dir(dir)
	}
	if r.app.Config != nil {
		dist := r.app.Config.Root().Get("build").Get("frontendDist").Text()
		if output := path.Join(dir, dist); dist != "" && !strings.Contains(dist, "://") {
			if !within(output, r.root) && !strings.HasPrefix(output, "..") {
				r.root = r.above(output, "package.json", r.root)
			}
			if r.isDir(output) {
				r.output = output
			}
		}
	}
	if r.options.Folders != nil {
		return r.options.Folders
	}
	return []string{r.root}
}

// above returns the nearest folder above a file that has a file of a name, up to the top of the
// repository, or another one if there is none.
func (r *reader) above(file, name, or string) string {
	for up := path.Dir(file); up != "." && up != "/"; up = path.Dir(up) {
		if r.exists(path.Join(up, name)) {
			return up
		}
		if _, err := fs.Stat(r.fsys, path.Join(up, ".git")); err == nil {
			break
		}
	}
	return or
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

// skipped reports whether a folder does not belong to the frontend's sources.
func (r *reader) skipped(folder string) bool { return isOther(folder) || r.otherApp(folder) }

// isOther reports whether a folder is one of build results, copies of others' code, or tests.
func isOther(folder string) bool {
	return slices.Contains([]string{"target", "dist", "build", "out", "coverage", "vendor", "bower_components",
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

// otherApp reports whether a folder is another application's, or that of the application's Rust
// code.
func (r *reader) otherApp(folder string) bool {
	app := capability.AppIn(r.fsys, folder)
	if app == r.app.Dir() {
		return app == folder && (r.output == "" || !within(r.output, folder)) && folder != r.root
	}
	return app != ""
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

// workers parse at the same time.
const workers = 4

// parse reads files. It fails at the first one that takes too long, because what parses that goes
// on.
func (r *reader) parse(ctx context.Context, files []string) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan string)
	go func() {
		defer close(next)
		for _, file := range files {
			select {
			case next <- file:
			case <-ctx.Done():
				return
			}
		}
	}()
	var group sync.WaitGroup
	for range workers {
		group.Go(func() {
			for file := range next {
				if err := r.parseFile(file); err != nil {
					cancel(err)
				}
			}
		})
	}
	group.Wait()
	slices.Sort(r.Files)
	slices.SortFunc(r.Unread, func(a, b Unread) int { return strings.Compare(a.File, b.File) })
	return context.Cause(ctx)
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
	r.graph.Modules[file] = m
	if len(m.Calls) > 0 {
		r.sources[file] = capability.NewSource(r.name(file), text)
	}
	return nil
}

// manifest is a package.json.
type manifest struct {
	Name         string
	Dependencies map[string]string
}

func (r *reader) manifest(folder string) (m manifest) {
	if text, err := r.read(path.Join(folder, "package.json"), script.MaxBytes); err == nil {
		_ = json.Unmarshal(text, &m) // what is not readable is not there
	}
	return m
}

// dependencies finds the packages that the frontend depends on: those of plugins that are not
// official, and the scripts of those that are in the same repository.
func (r *reader) dependencies(folders []string) (files []string, err error) {
	var queue []manifest
	for _, folder := range folders {
		queue = append(queue, r.manifest(r.above(path.Join(folder, "x"), "package.json", folder)))
	}
	var inRepository map[string]string // the folders of packages by name
	seen := make(map[string]bool)
	for len(queue) > 0 {
		m := queue[0]
		queue = queue[1:]
		for _, name := range slices.Sorted(maps.Keys(m.Dependencies)) {
			kind, _, local := strings.Cut(m.Dependencies[name], ":")
			local = local && slices.Contains([]string{"workspace", "file", "link", "portal"}, kind)
			switch {
			case seen[name]:
			case local:
				if inRepository == nil {
					if inRepository, err = r.repository(folders[0]); err != nil {
						return nil, err
					}
				}
				folder := inRepository[name]
				if folder == "" {
					r.Unread = append(r.Unread, Unread{name, "the package is not in the repository"})
					break
				}
				more, err := r.walk(folder, isScript, r.skipped)
				if err != nil {
					return nil, err
				}
				files = append(files, more...)
				queue = append(queue, r.manifest(folder))
			case strings.Contains(name, "tauri") && !packages().packages[name] &&
				!strings.HasPrefix(name, "@tauri-apps/"):
				r.Foreign = append(r.Foreign, name)
			}
			seen[name] = true
		}
	}
	return files, nil
}

// repository returns the folders of the packages in a repository by their names.
func (r *reader) repository(folder string) (map[string]string, error) {
	top := r.above(path.Join(folder, "x"), "pnpm-workspace.yaml", folder)
	for up := folder; up != "." && up != "/"; up = path.Dir(up) {
		if _, err := fs.Stat(r.fsys, path.Join(up, ".git")); err == nil {
			top = up
			break
		}
	}
	found := make(map[string]string)
	files, err := r.walk(top, func(base string) bool { return base == "package.json" }, isOther)
	for _, file := range files {
		found[r.manifest(path.Dir(file)).Name] = path.Dir(file)
	}
	return found, err
}
