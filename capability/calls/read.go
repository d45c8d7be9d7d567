package calls

import (
	"cmp"
	"context"
	"errors"
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
	// Unread are files that were not, and packages of the repository, folders and modules by a
	// relative path that are not, each with the reason.
	Unread []string

	calls    []call
	open     bool            // scripts may import what they do not name
	composed bool            // a name of a command is put together of parts
	labels   []string        // of the windows whose pages are known
	words    map[string]bool // in all sources, of at most script.MaxName bytes
	rust     map[string]int  // how often the Rust sources have a word that matters
}

// Options configures [Read].
type Options struct {
	// Folders are those of the frontend's sources, in the file system of the application. Defaults
	// to the folder above src-tauri, or the application's own if it is called otherwise.
	Folders []string
	// Name returns the name that a file has in diagnostics. Defaults to its path in the file
	// system.
	Name func(path string) string
}

// Read reads the sources of an application's frontend, as far as they are scripts of at most 1 MiB:
// .js, .ts, .jsx, .tsx, .mjs, .cjs, .mts and .cts, and those in .vue, .svelte and .html. It leaves
// out packages, build results, tests and what is hidden, and follows no links. The file system is
// the one that the application was loaded from. It fails if that has no folder, if a folder cannot
// be read, if there is too much (more than 100,000 files and folders, or 64 MiB), and if the
// context ends.
func Read(ctx context.Context, fsys fs.FS, app *capability.App, o Options) (*Frontend, error) {
	if app.Dir() == "" {
		return nil, errors.New("the capability files belong to no application, whose calls could be compared; " +
			"name the folder of one")
	}
	r := &reader{Frontend: &Frontend{words: make(map[string]bool)}, Reader: limit.Reader{FS: fsys, Name: o.Name},
		app: app, root: app.Dir(), folders: o.Folders, sources: make(map[string]*capability.Source),
		graph:    &script.Graph{Modules: make(map[string]*script.Module), Returns: packages().returned},
		packages: make(map[string]bool)}
	if path.Base(r.root) == "src-tauri" {
		r.root = path.Dir(r.root)
	}
	if len(r.folders) == 0 {
		r.folders = []string{r.root}
	}
	r.findUnread()
	if err := r.parse(ctx); err != nil {
		return nil, err
	}
	r.link()
	r.readRust()
	return r.Frontend, nil
}

type reader struct {
	*Frontend
	limit.Reader
	app      *capability.App
	root     string   // the folder of the application and its frontend
	folders  []string // of the sources
	packages map[string]bool
	graph    *script.Graph
	sources  map[string]*capability.Source
	mu       sync.Mutex
}

// isOther reports whether a folder does not belong to the frontend's sources: it has build results,
// copies of others' code, tests, the application's Rust code or another application.
func (r *reader) isOther(folder string) bool {
	app := ""
	// AppIn asks for eight files, each through all folders above: first a look at what there is.
	entries, err := fs.ReadDir(r.FS, folder)
	mayBeOfApp := func(e fs.DirEntry) bool {
		name := strings.ToLower(e.Name())
		return name == "src-tauri" || name == "capabilities" || strings.HasPrefix(name, "tauri.")
	}
	if err != nil || slices.ContainsFunc(entries, mayBeOfApp) {
		app = capability.AppIn(r.FS, folder)
	}
	return app != "" && (app != r.app.Dir() || app == folder && folder != r.root) ||
		slices.Contains([]string{"dist", "build", "out", "coverage", "vendor", "bower_components",
			"__tests__", "__mocks__", "tests", "test", "e2e", "gen"}, path.Base(folder))
}

// leftOut are what the names of other scripts than the frontend's have before the extension.
var leftOut = []string{".d", ".test", ".spec", ".stories", ".config", ".example", ".min"}

func isScript(name string) bool {
	ext := path.Ext(name)
	_, known := script.Extensions[ext]
	kind := path.Ext(strings.TrimSuffix(name, ext))
	return known && (!slices.Contains(leftOut, kind) || kind == ".config" && strings.Contains("/"+name, "/src/"))
}

// findUnread finds the packages that the application has, and says what of the frontend is not
// read: those of the same repository, and pages in a folder outside of the application's.
func (r *reader) findUnread() {
	for _, folder := range slices.Compact(append(slices.Clip(r.folders), r.root)) {
		text, _ := r.Read(path.Join(folder, "package.json"), script.MaxBytes) // what is not readable is not there
		manifest := capability.ParseValue(text, capability.Options{}).Root()
		for _, list := range []string{"dependencies", "devDependencies"} {
			for key, version := range manifest.Get(list).Members() {
				name := key.Text()
				r.packages[name] = true
				r.open = r.open || strings.HasPrefix(name, "unplugin-") // adds imports to scripts
				kind, _, local := strings.Cut(version.Text(), ":")
				isOwn := kind == "*" || local && slices.Contains([]string{"workspace", "file", "link", "portal"}, kind)
				if isOwn && list == "dependencies" {
					r.Unread = append(r.Unread, name+" is a package of the same repository")
				}
			}
		}
	}
	if r.app.Config == nil || r.folders[0] != r.root {
		return
	}
	dist := r.app.Config.Root().Get("build").Get("frontendDist").Text()
	folder := path.Join(r.app.Dir(), dist) + "/"
	isInside := r.root == "." && !strings.HasPrefix(folder, "../") || strings.HasPrefix(folder, r.root+"/")
	if !strings.Contains(dist, "://") && !isInside {
		r.Unread = append(r.Unread, dist+" is elsewhere; name the folder of the frontend's sources")
	}
}

// parse reads the scripts in the folders. It fails at the first one that takes too long, because
// what parses that goes on.
func (r *reader) parse(ctx context.Context) (err error) {
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(4)             // files at a time
	seen := make(map[string]bool) // a folder may be in another one
	for _, folder := range r.folders {
		err = r.Walk(folder, func(name string, entry fs.DirEntry) error {
			switch {
			case name != folder && entry.IsDir() && r.isOther(name):
				return fs.SkipDir
			case entry.Type().IsRegular() && isScript(name) && !seen[name]:
				seen[name] = true
				group.Go(func() error { return r.parseFile(name) })
			}
			return inGroup.Err()
		})
		if err != nil {
			break
		}
	}
	return cmp.Or(group.Wait(), err, ctx.Err())
}

func (r *reader) parseFile(file string) error {
	text, err := r.Read(file, script.MaxBytes)
	var m *script.Module
	if err == nil {
		m, err = script.Parse(file, text)
		err = r.Named(file, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case errors.Is(err, script.ErrTime) || errors.Is(err, limit.ErrTooMuch):
		return err
	case err != nil:
		r.Unread = append(r.Unread, err.Error())
		return nil
	}
	script.Words(text, func(word []byte) {
		if len(word) <= script.MaxName && !r.words[string(word)] {
			r.words[string(word)] = true
		}
	})
	r.graph.Modules[file], r.sources[file] = m, capability.NewSource(r.Shown(file), text)
	return nil
}
