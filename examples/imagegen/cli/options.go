// Package cli implements the imagegen command.
package cli

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/uuid"

	"lessonkit.example/examples/internal/program"
	"lessonkit.example/imagegen"
)

// options is a parsed command line.
type options struct {
	config      imagegen.Config
	request     *imagegen.Request
	keyFile     string
	out         string // pattern with a directory, or "-"
	fit         bool
	resume      string
	submitOnly  bool
	json, quiet bool
	timeout     time.Duration
	idempotent  bool

	batch, outDir       string
	maxImages, parallel int
}

const usage = `usage: imagegen [flags] PROMPT       several words are one prompt
       imagegen [flags] @FILE        the prompt is in a file
       imagegen [flags] -            the prompt is standard input
       imagegen [flags] -resume ID   wait for a task that was submitted earlier
       imagegen [flags] -batch FILE -out DIR

FILE has a JSON object in each line, with a prompt and optionally name, model,
size, n and references. Images go to DIR, and what was sent to its ledger.jsonl:
after an interruption, the same command continues and pays nothing twice.

Paths of the images go to standard output, progress to standard error. The API
key comes from IMAGE_API_KEY or -key-file, never from the command line.

`

const exits = `
Exit status: 0 done, 1 failed (or some of the images are missing), 2 wrong
usage, 3 refused by the service, 4 the task failed, 5 stopped waiting: the task
continues and can be resumed with -resume, 6 refused by a content filter. Of
-batch: 0 all is done, 2 wrong usage, 5 the same command would continue, 1 it
would not: something else is to be changed first.
`

const defaultName = "image-{i}{ext}" // of the files

// parse parses the command line. The error is flag.ErrHelp if the help was requested and printed.
func parse(args []string, getenv func(string) string, stdin io.Reader, stdout io.Writer) (*options, error) {
	o := &options{request: &imagegen.Request{}}
	f := flag.NewFlagSet("imagegen", flag.ContinueOnError)
	f.StringVar(&o.config.BaseURL, "base-url", cmp.Or(getenv("IMAGE_BASE_URL"), "http://127.0.0.1:8085"),
		"`address` of the service; also IMAGE_BASE_URL")
	f.StringVar(&o.keyFile, "key-file", "", "`file` with the API key, instead of IMAGE_API_KEY")
	f.StringVar(&o.request.Model, "model", imagegen.DefaultModel, "`name` of the model")
	f.Func("size", "aspect `ratio`: "+strings.Trim(fmt.Sprint(imagegen.Ratios()), "[]"), func(s string) (err error) {
		o.request.Size, err = imagegen.ParseRatio(s)
		return err
	})
	f.IntVar(&o.request.N, "n", 0, "`number` of images; by default the service decides")
	f.Func("ref", "reference image: a `file`, an http address or a data: URL; repeatable", func(s string) error {
		ref, _ := reference(s)
		o.request.References = append(o.request.References, ref)
		return nil
	})
	f.StringVar(&o.out, "o", defaultName,
		"`name` of the files, optionally with a directory; may contain\n"+
			"{i} and {ext}; - is standard output")
	f.BoolVar(&o.fit, "fit", false, "crop the images to the ratio of -size")
	f.StringVar(&o.resume, "resume", "", "wait for the task with this `id` instead of sending a prompt")
	f.BoolVar(&o.submitOnly, "submit-only", false, "send the prompt and print the id of the task, without waiting")
	f.BoolVar(&o.json, "json", false, "print the outcome as JSON")
	f.BoolVar(&o.quiet, "q", false, "show no progress")
	f.BoolVar(&o.config.AllowPrivate, "allow-private", false,
		"fetch from private networks, too, and\nthrough the proxy of the environment, unless NO_PROXY names the host")
	f.DurationVar(&o.timeout, "timeout", 0,
		"give up after this `time` in all, such as 10m; -batch lets requests\nthat were sent end")
	f.BoolVar(&o.idempotent, "idempotent", false,
		"the service honors Idempotency-Key: send requests again with their key")
	f.StringVar(&o.batch, "batch", "", "`file` with a request in each line")
	f.StringVar(&o.outDir, "out", "", "`directory` of -batch for images and ledger")
	f.IntVar(&o.maxImages, "max-images", 0, "`number` of images that -batch may request in all its runs; 0: no limit")
	f.IntVar(&o.parallel, "parallel", 4, "`number` of requests of -batch at a time")
	err := program.Parse(f, args, stdout, usage, exits)
	if err != nil {
		return nil, err
	}
	for _, word := range f.Args()[min(f.NArg(), 1):] {
		name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
		if strings.HasPrefix(word, "-") && (f.Lookup(name) != nil || name == "h" || name == "help") {
			return nil, fmt.Errorf("%s follows the prompt: put flags before it, or the whole prompt in quotes", word)
		}
	}
	switch {
	case (o.batch == "") != (o.outDir == ""):
		return nil, errors.New("-batch and -out need each other")
	case o.batch != "" && (f.NArg() > 0 || len(o.request.References) > 0 || o.submitOnly || o.resume != "" ||
		o.out != defaultName):
		return nil, errors.New("-batch excludes a prompt, -o, -ref, -resume and -submit-only")
	case o.maxImages < 0 || o.parallel < 1 || o.parallel > 64:
		return nil, errors.New("-max-images must not be negative, and -parallel must be 1 to 64")
	case o.fit && o.request.Size == "" && o.batch == "":
		return nil, errors.New("-fit needs -size")
	case o.request.N < 0:
		return nil, errors.New("-n must not be negative")
	case o.out == "" || strings.HasSuffix(o.out, "/"):
		return nil, fmt.Errorf("-o %q is not a file name", o.out)
	case o.out == "-" && o.json:
		return nil, errors.New("-o - and -json both write to standard output")
	case o.resume != "" && (f.NArg() > 0 || len(o.request.References) > 0 || o.submitOnly):
		return nil, errors.New("-resume excludes a prompt, -ref and -submit-only")
	}
	o.config.APIKey = strings.TrimSpace(getenv("IMAGE_API_KEY"))
	if o.keyFile != "" {
		key, err := os.ReadFile(o.keyFile)
		if err != nil {
			return nil, err
		}
		o.config.APIKey = strings.TrimSpace(string(key))
	}
	if o.batch != "" {
		return o, nil
	}
	if o.resume != "" {
		o.config.FirstPoll = -1 // by the time somebody types the command, the task is old
		return o, nil
	}
	if o.idempotent {
		o.request.IdempotencyKey = uuid.NewString()
	}
	o.request.Prompt, err = prompt(f.Args(), stdin)
	return o, err
}

func reference(s string) (ref imagegen.Reference, isFile bool) {
	switch {
	case strings.HasPrefix(s, "http://"), strings.HasPrefix(s, "https://"):
		return imagegen.URL(s), false
	case strings.HasPrefix(s, "data:"):
		return imagegen.DataURL(s), false
	}
	return imagegen.File(s), true
}

const maxPrompt = 1 << 20 // bytes

func prompt(args []string, stdin io.Reader) (string, error) {
	text := strings.Join(args, " ")
	name, isFile := strings.CutPrefix(text, "@")
	data, err := []byte(text), error(nil)
	switch {
	case len(args) == 0:
		return "", errors.New("no prompt; imagegen -h shows the usage")
	case len(args) == 1 && text == "-":
		data, err = io.ReadAll(io.LimitReader(stdin, maxPrompt+1))
	case len(args) == 1 && isFile:
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return "", fmt.Errorf("read the prompt: %w", err)
	}
	if len(data) > maxPrompt { // part of it would be paid for like all of it
		return "", errors.New("the prompt is longer than 1 MiB")
	}
	if text = strings.TrimSpace(string(data)); text == "" {
		return "", errors.New("the prompt is empty")
	}
	return text, nil
}

func (o *options) sink(stdout io.Writer) imagegen.Sink {
	if o.out == "-" {
		return imagegen.Writer(stdout)
	}
	dir, pattern := filepath.Split(o.out)
	return imagegen.Dir(filepath.Clean(dir), pattern)
}
