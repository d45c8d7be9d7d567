// Package cli implements a command line that checks, explains and compares capability files. A main
// function calls [Run] and exits with the code it returns.
//
//	os.Exit(cli.Run(os.Args[1:], cli.Env{Stdin: os.Stdin, Stdout: os.Stdout, Stderr: os.Stderr}))
package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"lessonkit.example/capability"
	"lessonkit.example/capability/report"
)

// Exit codes of [Run].
const (
	ExitClean    = 0 // nothing found; the command is allowed; nothing more is granted
	ExitFindings = 1 // findings of level error, or of the level that is set; the command is denied; more is granted
	ExitUsage    = 2 // wrong usage, files that cannot be read, or a command that is not known
)

// Env is the environment of a command line.
type Env struct {
	// Stdout receives the result; Stderr receives errors and notes.
	Stdout, Stderr io.Writer
	// Stdin is what lsp reads; nothing else does.
	Stdin io.Reader
	// Color enables colors, for a terminal.
	Color bool
	// Now returns the time, for rules that expire. Defaults to [time.Now].
	Now func() time.Time
}

const usage = `usage: capability COMMAND [FLAGS] [PATH...]

  check    report mistakes and risks, with the place and what would be right
  calls    report what the frontend calls but may not, and what it may but never calls
  explain  show whether a window may call a command, and why
  who      list who may call a command, or what a window may call
  diff     compare what two sets of files grant
  lsp      serve an editor over standard input and output
  version  print which build this is

A PATH is a file (.json, .json5, .toml), a folder of files, an application or a
folder above several; without one, the application in the working directory or
above it. The manifests that the application's
build writes to gen/schemas/acl-manifests.json, and the list of capabilities in
tauri.conf.json, are found next to the folder. No link is followed out of it.

"capability COMMAND -h" shows the flags of a command.
`

type command struct {
	env   Env
	flags *flag.FlagSet
	args  []string // without the flags
	disk  disk

	format     string
	platform   string
	manifests  []string
	config     string
	tauri      string
	failOn     string
	rulesFile  string
	sources    []string // folders of the frontend
	files      int      // of the frontend that were read
	withOthers bool     // files are judged with the others of their application
}

// listFlag adds a flag that may be repeated.
func (c *command) listFlag(values *[]string, name, usage string) {
	c.flags.Func(name, usage, func(value string) error {
		*values = append(*values, value)
		return nil
	})
}

// commands returns the commands by their names.
func commands() map[string]func(*command, []string) (int, error) {
	return map[string]func(*command, []string) (int, error){
		"check": check, "calls": checkCalls, "explain": explain, "who": who, "diff": diff, "version": version,
		"lsp": serveEditor,
	}
}

// Run runs one command and returns the exit code. The arguments do not include the program's name.
func Run(args []string, env Env) int {
	if len(args) == 0 {
		fmt.Fprint(env.Stderr, usage)
		return ExitUsage
	}
	name := args[0]
	switch name {
	case "help", "-h", "-help", "--help":
		fmt.Fprint(env.Stdout, usage)
		return ExitClean
	}
	run := commands()[name]
	if run == nil {
		fmt.Fprintf(env.Stderr, "capability: unknown command %q; use %s. \"capability help\" describes them.\n", name,
			strings.Join(slices.Sorted(maps.Keys(commands())), ", "))
		return ExitUsage
	}
	if env.Now == nil {
		env.Now = time.Now
	}
	c := &command{env: env, flags: flag.NewFlagSet("capability "+name, flag.ContinueOnError)}
	c.flags.SetOutput(printableWriter{env.Stderr})
	code, err := run(c, args[1:])
	switch {
	case errors.Is(err, flag.ErrHelp):
		return ExitClean
	case errors.Is(err, errFlags):
		return ExitUsage // the flag package has said what is wrong
	case err != nil:
		fmt.Fprintf(env.Stderr, "capability: %s\n", report.Printable(err.Error()))
		return ExitUsage
	}
	return code
}

// printableWriter replaces the control characters of what is written to it, except line breaks and
// tabs.
type printableWriter struct{ io.Writer }

// Write writes a text that ends with a whole character.
func (w printableWriter) Write(text []byte) (int, error) {
	_, err := io.WriteString(w.Writer, report.PrintableText(string(text)))
	return len(text), err
}

var errFlags = errors.New("flags")

// parse reads flags, which may come before and after the paths.
func (c *command) parse(args []string, synopsis string, formats ...string) error {
	if c.format = formats[0]; len(formats) > 1 {
		c.flags.StringVar(&c.format, "format", c.format, "`format` of the output: "+strings.Join(formats, ", "))
	}
	c.flags.Usage = func() {
		fmt.Fprintf(c.env.Stderr, "usage: %s %s\n", c.flags.Name(), synopsis)
		c.flags.PrintDefaults()
	}
	for {
		if err := c.flags.Parse(args); err != nil {
			if errors.Is(err, flag.ErrHelp) {
				return err
			}
			return errFlags
		}
		rest := c.flags.Args()
		if len(rest) == 0 {
			break
		}
		c.args = append(c.args, rest[0])
		args = rest[1:]
	}
	if slices.Contains(formats, c.format) {
		return nil
	}
	return fmt.Errorf("unknown format %q; use %s", c.format, strings.Join(formats, ", "))
}

// sourceFlags adds the flags for manifests, platform, configuration and release.
func (c *command) sourceFlags() {
	c.listFlag(&c.manifests, "manifest",
		"`FILE` with manifests: an acl-manifests.json, or PLUGIN=FILE with the permissions of one plugin; may be "+
			"repeated")
	c.flags.StringVar(&c.platform, "platform", "",
		"target `platform`: linux, macOS, windows, android, iOS (default all)")
	c.flags.StringVar(&c.config, "config", "",
		"`FILE` tauri.conf.json that lists the active capabilities; \"none\" for none (default: the one beside "+
			"the folder)")
	c.flags.StringVar(&c.tauri, "tauri", "",
		"`release` of Tauri, such as 2.9 (default: the one in Cargo.lock or package.json, or the newest)")
}

func (c *command) target() (capability.Platform, error) {
	if c.platform == "" {
		return "", nil
	}
	p := capability.PlatformNamed(c.platform)
	if p == "" {
		return "", fmt.Errorf("unknown platform %q; use linux, macOS, windows, android or iOS", c.platform)
	}
	return p, nil
}

// exit returns the exit code for a result.
func exit(found bool) int {
	if found {
		return ExitFindings
	}
	return ExitClean
}

// note writes to Stderr.
func (c *command) note(format string, args ...any) {
	fmt.Fprintf(c.env.Stderr, "capability: %s\n", report.Printable(fmt.Sprintf(format, args...)))
}
