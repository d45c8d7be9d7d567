package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"slices"

	"lessonkit.example/capability"
	"lessonkit.example/capability/calls"
	"lessonkit.example/capability/lint"
	"lessonkit.example/capability/lsp"
)

// serveEditor runs a language server over standard input and output.
func serveEditor(c *command, args []string) (int, error) {
	c.sourceFlags()
	c.flags.StringVar(&c.rulesFile, "rules", "", "`FILE` with the project's rules; \"none\" for none")
	c.flags.Bool("stdio", true, "speak over standard input and output, the only way there is")
	if err := c.parse(args, "[FLAGS]", "json"); err != nil {
		return 0, err
	}
	if c.env.Stdin == nil {
		return 0, errors.New("lsp needs standard input")
	}
	o, err := c.lintOptions(nil)
	if err != nil {
		return 0, err
	}
	w := &workspace{command: c, options: o, projects: make(map[string]*project),
		frontends: make(map[string]*calls.Frontend)}
	editor := struct {
		io.ReadCloser
		io.Writer
	}{io.NopCloser(c.env.Stdin), c.env.Stdout}
	return ExitClean, lsp.Serve(context.Background(), editor, lsp.Options{Workspace: w, Version: toolVersion()})
}

// workspace checks the files that an editor has open, each with its application.
type workspace struct {
	*command
	options   lint.Options
	projects  map[string]*project        // by folder
	frontends map[string]*calls.Frontend // by folder, as they were saved
}

// Check implements [lsp.Workspace].
func (w *workspace) Check(file string, open map[string]string, fresh bool) (capability.Diagnostics,
	*capability.Manifests, error) {
	root := appOf(file)
	if root == "" {
		return nil, nil, nil
	}
	p := w.projects[root]
	if p == nil || fresh {
		var err error
		if p, err = w.loadOne([]string{root}); err != nil {
			return nil, nil, err
		}
		w.projects[root] = p
		f, known := w.frontends[root]
		if !known || f != nil { // one that could not be read is not tried again
			w.frontends[root], err = w.frontend(p)
		}
		if err != nil {
			w.note("calls are not checked: %s", err)
		}
	}
	now := *p.App
	now.Documents = slices.Clone(p.Documents)
	saved := false
	for i, d := range now.Documents {
		saved = saved || absolute(d.Name()) == file
		now.Documents[i] = current(d, open, capability.Parse)
	}
	isCapability := slices.Contains([]string{".json", ".json5", ".toml"}, filepath.Ext(file))
	if text, ok := open[file]; ok && !saved && isCapability && appAbove(nameOnDisk(file)) != "" { // a new file
		now.Documents = append(now.Documents, capability.Parse([]byte(text), capability.Options{Name: file}))
	}
	if p.Config != nil {
		now.Config = current(p.Config, open, capability.ParseValue)
	}
	now.PlatformConfigs = make(map[capability.Platform]*capability.Document)
	for platform, d := range p.PlatformConfigs {
		now.PlatformConfigs[platform] = current(d, open, capability.ParseValue)
	}
	r, err := w.rulesOf(p)
	if err != nil {
		return nil, nil, err
	}
	o := r.options(w.options)
	found := lint.CheckApp(&now, o)
	if f := w.frontends[root]; f != nil {
		found = append(found, calls.Check(&now, f, o.Platform, o.Severities)...)
	}
	return r.accepted(found, w.env.Now()), now.Manifests, nil
}

// App implements [lsp.Workspace].
func (w *workspace) App(file string) string { return appOf(file) }

// current returns the document of the text that an editor has of a file, if it has one.
func current(d *capability.Document, open map[string]string,
	parse func([]byte, capability.Options) *capability.Document) *capability.Document {
	if text, ok := open[absolute(d.Name())]; ok {
		return parse([]byte(text), capability.Options{Name: d.Name(), Format: d.Format()})
	}
	return d
}

// appOf returns the folder of the application that a file belongs to as a capability, a
// configuration or a script, "" for any other file: editors open all files of a language.
func appOf(file string) string {
	if slices.Contains(calls.Extensions(), filepath.Ext(file)) {
		for dir := filepath.Dir(file); dir != filepath.Dir(dir); dir = filepath.Dir(dir) {
			if app := capability.AppIn(&disk{}, nameOnDisk(dir)); app != "" {
				return systemName(app)
			}
		}
	}
	if app := appAbove(nameOnDisk(file)); app != "" {
		return systemName(app)
	}
	if dir := filepath.Dir(file); capability.AppIn(&disk{}, nameOnDisk(dir)) == nameOnDisk(dir) {
		return dir
	}
	return ""
}
