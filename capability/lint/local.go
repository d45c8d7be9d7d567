package lint

import (
	"regexp"
	"slices"
	"strings"

	"lessonkit.example/capability"
)

// localServer matches the addresses and patterns of pages that a server on the same computer has.
var localServer = regexp.MustCompile(`^([^:]*://)?(localhost|127\.0\.0\.1|\*)([:/]|$)`)

// localServers reports windows with pages of a local server, which are remote pages since release
// 2.11.1, unless a capability names one as remote.
func localServers(app *capability.App, active []together, o Options) capability.Diagnostics {
	if o.Version.Before(capability.Version{Major: 2, Minor: 11, Patch: 1}) {
		return nil
	}
	for _, a := range active {
		for _, one := range a.capabilities {
			if slices.ContainsFunc(one.Remote, localServer.MatchString) {
				return nil
			}
		}
	}
	l := &linter{}
	report := func(v capability.Value, what string) {
		l.report("localhost-not-remote", v, `%s a remote page, and no capability names it, so it may call no `+
			`command; add it to "remote": {"urls": […]} of the capability for its window.`, what)
	}
	for _, config := range app.Configs(o.Platform) {
		build := config.Root().Get("build")
		for w := range config.Root().Get("app").Get("windows").Items() {
			address := w.Get("url").Text()
			isOwn := func(key string) bool {
				own := build.Get(key).Text()
				return own != "" && strings.HasPrefix(address+"/", strings.TrimSuffix(own, "/")+"/")
			}
			if localServer.MatchString(address) && !isOwn("devUrl") && !isOwn("frontendDist") {
				report(w.Get("url"), address+" is")
			}
		}
	}
	if _, served := app.PluginVersions["localhost"]; served && app.Config != nil {
		report(app.Config.Root(), "What the plugin localhost serves, http://localhost with a port, is")
	}
	l.finish()
	return l.found
}
