package cli

import (
	"context"
	"path/filepath"

	"lessonkit.example/capability"
	"lessonkit.example/capability/calls"
	"lessonkit.example/capability/lint"
)

// maxUnread is how many of the sources that are not read are named.
const maxUnread = 20

// checkCalls compares what the frontend calls with what it may.
func checkCalls(c *command, args []string) (int, error) {
	c.listFlag(&c.sources, "source", "`FOLDER` of the frontend's sources; may be repeated (default: the one above "+
		"src-tauri)")
	read := make(map[string]*calls.Frontend) // by application: fixes do not change it
	return c.check(args, calls.Rules(), func(p *project, o lint.Options) (capability.Diagnostics, error) {
		f := read[p.root]
		if f == nil {
			if err := p.Err(o.Platform); err != nil {
				return nil, mistakes(err)
			}
			var err error
			if f, err = c.frontend(p); err != nil {
				return nil, err
			}
			read[p.root] = f
			if len(f.Files) == 0 {
				c.note("no source of a frontend is found; name its folder with -source")
			}
			for i, what := range f.Unread {
				if i == maxUnread {
					c.note("not read: %d more", len(f.Unread)-i)
					break
				}
				c.note("not read: %s", what)
			}
			c.files += len(f.Files)
		}
		return calls.Check(p.App, f, o.Platform, o.Severities), nil
	})
}

// frontend reads the sources of a project's frontend, with a disk of its own: what it may read is
// not to be written.
func (c *command) frontend(p *project) (*calls.Frontend, error) {
	o, d := calls.Options{Name: shownName}, &disk{}
	for _, folder := range c.sources {
		d.allow(folder)
		o.Folders = append(o.Folders, nameOnDisk(folder))
	}
	if p.root != "" {
		d.allow(filepath.Join(p.root, ".."))
	}
	return calls.Read(context.Background(), d, p.App, o)
}
