package cli

import (
	"fmt"

	"lessonkit.example/capability"
	"lessonkit.example/capability/format"
	"lessonkit.example/capability/report"
)

func formatFiles(c *command, args []string) (int, error) {
	write := c.flags.Bool("w", false, "write the files instead of printing them")
	list := c.flags.Bool("check", false,
		"only list the files that have another layout; exit code 1 if there are any")
	sort := c.flags.Bool("sort", false, "also put keys and permissions into one order, and leave duplicates out")
	if err := c.parse(args, "[-w | -check] [-sort] [PATH...]", "text", "json"); err != nil {
		return 0, err
	}
	projects, err := c.load(c.args)
	if err != nil {
		return 0, err
	}
	type result struct {
		File    string `json:"file"`
		Changed bool   `json:"changed"`
		Text    string `json:"text,omitempty"`
	}
	results := []result{}
	changed := false
	var docs []*capability.Document
	for _, p := range projects {
		docs = append(docs, p.Documents...)
	}
	for _, d := range docs {
		text, err := format.Source(d, format.Options{Sort: *sort})
		if err != nil {
			return 0, fmt.Errorf("%s is left as it is: %w", d.Name(), err)
		}
		r := result{File: d.Name(), Changed: text != d.Source()}
		changed = changed || r.Changed
		switch {
		case *list:
			if r.Changed && c.format == "text" {
				fmt.Fprintln(c.env.Stdout, report.Printable(d.Name()))
			}
		case *write:
			if r.Changed {
				if err := rewrite(d.Name(), c.disk.within(absolute(d.Name())), text); err != nil {
					return 0, err
				}
			}
		case c.format == "text":
			if len(docs) > 1 {
				fmt.Fprintf(c.env.Stdout, "==> %s <==\n", report.Printable(d.Name()))
			}
			if c.env.Terminal {
				text = printable(text)
			}
			fmt.Fprint(c.env.Stdout, text)
		default:
			r.Text = text
		}
		results = append(results, r)
	}
	if c.format == "json" {
		if err := report.Encode(c.env.Stdout, results); err != nil {
			return 0, err
		}
	}
	return exit(*list && changed), nil
}
