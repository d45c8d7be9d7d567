package cli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// completion prints a script with which a shell completes commands, flags and files.
func completion(c *command, args []string) (int, error) {
	if err := c.parse(args, "bash | zsh | fish", "text"); err != nil {
		return 0, err
	}
	if len(c.args) != 1 {
		return 0, errors.New("completion needs the name of a shell: bash, zsh or fish")
	}
	scripts := map[string]func(map[string][]*flag.Flag) string{
		"bash": bashScript,
		"zsh":  zshScript,
		"fish": fishScript,
	}
	script := scripts[c.args[0]]
	if script == nil {
		return 0, fmt.Errorf("there is no completion for %q; use bash, zsh or fish", c.args[0])
	}
	_, err := io.WriteString(c.env.Stdout, script(allFlags()))
	return ExitClean, err
}

// allFlags returns the flags of each command, which a command defines before it prints its help.
func allFlags() map[string][]*flag.Flag {
	all := make(map[string][]*flag.Flag)
	for name, run := range commands() {
		all[name] = nil
		if name == "completion" {
			continue
		}
		c := &command{
			env:   Env{Stdout: io.Discard, Stderr: io.Discard},
			flags: flag.NewFlagSet(name, flag.ContinueOnError),
		}
		c.flags.SetOutput(io.Discard)
		_, _ = run(c, []string{"-h"})
		c.flags.VisitAll(func(f *flag.Flag) { all[name] = append(all[name], f) })
	}
	return all
}

// cases returns the branches of a case statement that do something with the flags of each command.
func cases(flags map[string][]*flag.Flag, format string) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		var names []string
		for _, f := range flags[name] {
			names = append(names, "-"+f.Name)
		}
		fmt.Fprintf(&b, "      "+name+") "+format+" ;;\n", strings.Join(names, " "))
	}
	return b.String()
}

func bashScript(flags map[string][]*flag.Flag) string {
	return `_capability() {
  local word=${COMP_WORDS[COMP_CWORD]}
  if [ "$COMP_CWORD" = 1 ]; then
    COMPREPLY=($(compgen -W "` + strings.Join(slices.Sorted(maps.Keys(flags)), " ") + `" -- "$word"))
  elif [ "${word#-}" != "$word" ]; then
    case ${COMP_WORDS[1]} in
` + cases(flags, `COMPREPLY=($(compgen -W "%s" -- "$word"))`) + `    esac
  else
    COMPREPLY=($(compgen -f -- "$word"))
  fi
}
complete -o filenames -F _capability capability
`
}

func zshScript(flags map[string][]*flag.Flag) string {
	return `#compdef capability
_capability() {
  if (( CURRENT == 2 )); then
    compadd -- ` + strings.Join(slices.Sorted(maps.Keys(flags)), " ") + `
  elif [[ $words[CURRENT] == -* ]]; then
    case $words[2] in
` + cases(flags, "compadd -- %s") + `    esac
  else
    _files
  fi
}
compdef _capability capability
`
}

func fishScript(flags map[string][]*flag.Flag) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(flags)) {
		fmt.Fprintf(&b, "complete -c capability -n __fish_use_subcommand -f -a %s\n", name)
		for _, f := range flags[name] {
			_, usage := flag.UnquoteUsage(f)
			fmt.Fprintf(&b, "complete -c capability -n '__fish_seen_subcommand_from %s' -o %s -d '%s'\n", name, f.Name,
				strings.NewReplacer(`\`, `\\`, "'", `\'`).Replace(usage))
		}
	}
	return b.String()
}
