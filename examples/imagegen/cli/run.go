package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"lessonkit.example/imagegen"
	"lessonkit.example/imagegen/fit"
)

// Exit statuses.
const (
	ExitDone    = 0
	ExitFailed  = 1
	ExitUsage   = 2 // the command line, or a request that cannot be sent
	ExitRefused = 3 // the service refused the request or the key
	ExitTask    = 4 // the task failed, or had no images
	ExitResume  = 5 // stopped waiting; the task continues, or the batch would
	ExitFilter  = 6 // a content filter refused the prompt, a reference or the images
)

// Run runs the command and returns its exit status. When ctx ends, a task that was submitted
// continues, and Run prints how to resume it.
func Run(
	ctx context.Context, args []string, getenv func(string) string, stdin io.Reader, stdout, stderr io.Writer,
) int {
	o, err := parse(args, getenv, stdin, stdout)
	if errors.Is(err, flag.ErrHelp) {
		return ExitDone
	}
	if err != nil {
		fmt.Fprintf(stderr, "imagegen: %v\n", err)
		return ExitUsage
	}
	if o.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.timeout)
		defer cancel()
	}
	if o.batch != "" {
		exit, err := o.runBatch(ctx, stdout, stderr)
		if err != nil {
			fmt.Fprintf(stderr, "imagegen: %v\n", err)
		}
		return exit
	}
	if !o.quiet {
		p := &progress{w: stderr}
		o.config.OnEvent = p.onEvent
	}
	out, err := o.carryOut(ctx, stdout, stderr)
	out.Exit = status(err)
	if err != nil {
		out.Error = err.Error()
		fmt.Fprintf(stderr, "imagegen: %v\n", err)
	}
	o.report(out, stdout, stderr)
	return out.Exit
}

// outcome is the output of -json.
type outcome struct {
	Images     []imagegen.Info `json:"images"`
	TaskID     string          `json:"task_id,omitempty"`
	Attempts   int             `json:"attempts,omitempty"`
	Usage      json.RawMessage `json:"usage,omitempty"`
	Error      string          `json:"error,omitempty"`
	MayHaveRun bool            `json:"may_have_run,omitempty"`
	Exit       int             `json:"exit"`
}

// carryOut sends the request, or waits for the task, of the command line.
func (o *options) carryOut(ctx context.Context, stdout, stderr io.Writer) (out outcome, err error) {
	out.Images = []imagegen.Info{}
	client, err := imagegen.New(o.config)
	if err != nil {
		return out, fmt.Errorf("%w: %w", imagegen.ErrInvalidRequest, err)
	}
	sink := o.sink(stdout)
	if o.fit {
		sink = fit.Sink(sink, fit.Config{Ratio: o.request.Size, OnUncropped: func(i imagegen.Info, err error) {
			fmt.Fprintf(stderr, "imagegen: image %d is not cropped: %v\n", i.Index+1, err)
		}})
	}
	var r *imagegen.Result
	switch {
	case o.resume != "":
		r, err = client.Wait(ctx, o.resume, sink)
	case o.submitOnly:
		r, err = client.Submit(ctx, o.request, sink)
	default:
		r, err = client.Generate(ctx, o.request, sink)
	}
	if r != nil {
		out.TaskID, out.Attempts, out.Usage = r.TaskID, r.Attempts, r.Usage
		out.Images = append(out.Images, r.Images...)
	}
	if w, ok := errors.AsType[*imagegen.WaitError](err); ok {
		out.TaskID = w.TaskID
	}
	if e, ok := errors.AsType[*imagegen.Error](err); ok {
		out.MayHaveRun = e.MayHaveRun
		out.TaskID = cmp.Or(out.TaskID, e.TaskID)
		out.Attempts = max(out.Attempts, e.Attempts)
	}
	return out, err
}

func status(err error) int {
	_, waiting := errors.AsType[*imagegen.WaitError](err)
	_, failed := errors.AsType[*imagegen.TaskError](err)
	_, partial := errors.AsType[*imagegen.PartialError](err)
	e, ok := errors.AsType[*imagegen.Error](err)
	switch {
	case err == nil:
		return ExitDone
	case partial:
		return ExitFailed
	case errors.Is(err, imagegen.ErrModerated):
		return ExitFilter
	case waiting:
		return ExitResume
	case failed, errors.Is(err, imagegen.ErrNoImages):
		return ExitTask
	case errors.Is(err, imagegen.ErrInvalidRequest):
		return ExitUsage
	case ok && e.Op == "reference" && e.Permanent():
		return ExitUsage
	case ok && e.Status >= 400 && e.Status < 500 && e.Op != "fetch":
		return ExitRefused
	}
	return ExitFailed
}

// report prints the outcome, and how to resume a task.
func (o *options) report(out outcome, stdout, stderr io.Writer) {
	switch {
	case o.json:
		e := json.NewEncoder(stdout)
		e.SetEscapeHTML(false)
		e.SetIndent("", "  ")
		_ = e.Encode(out)
	case o.submitOnly && len(out.Images) == 0 && out.TaskID != "" && out.Exit == ExitDone:
		fmt.Fprintln(stdout, out.TaskID)
	case o.out == "-":
	default:
		for _, i := range out.Images {
			fmt.Fprintln(stdout, i.Path)
		}
	}
	if out.Exit == ExitResume {
		flags := ""
		if o.keyFile != "" {
			flags += " -key-file " + quote(o.keyFile)
		}
		if o.config.AllowPrivate {
			flags += " -allow-private"
		}
		if o.fit {
			flags += " -fit -size " + string(o.request.Size)
		}
		fmt.Fprintf(stderr, "The task continues and will be charged. To resume it, run:\n"+
			"  imagegen -base-url %s -o %s%s -resume %s\n",
			quote(o.config.BaseURL), quote(o.out), flags, quote(out.TaskID))
	}
}

func quote(s string) string {
	const plain = "-./0123456789:ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
	if strings.Trim(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
