package cli

import (
	"fmt"

	"lessonkit.example/capability"
)

func schema(c *command, args []string) (int, error) {
	c.flags.Var(&c.manifests, "manifest",
		"`FILE` acl-manifests.json: print the project's schema, with its identifiers; may be repeated")
	if err := c.parse(args, "[-manifest FILE]...", "json"); err != nil {
		return 0, err
	}
	if len(c.args) > 0 {
		return 0, fmt.Errorf("schema takes no paths; for the schema of a project write -manifest %s", c.args[0])
	}
	text := capability.Schema()
	if len(c.manifests) > 0 {
		p := &project{App: &capability.App{Manifests: capability.CoreManifests()}}
		if err := c.loadManifests(p); err != nil {
			return 0, err
		}
		if err := p.ManifestProblems.Err(); err != nil {
			return 0, err
		}
		text = capability.ProjectSchema(p.Manifests)
	}
	_, err := c.env.Stdout.Write(text)
	return ExitClean, err
}
