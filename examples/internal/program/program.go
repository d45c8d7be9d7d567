// Package program contains the conventions of the example programs. Usage that the user requests is
// printed to standard output, with exit status 0. Wrong usage is one line on standard error, with
// exit status 2; a failure is one line with exit status 1. The first signal ends the program
// gracefully, the second one at once.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// Context returns a context that is canceled by the first SIGINT or SIGTERM.
func Context() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // so the second signal ends the process
	return ctx
}

// Pause waits, and reports false if ctx ends first.
func Pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

// Usage is an error in the arguments of a program.
type Usage struct{ Err error }

// Error returns the text of Err.
func (u Usage) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u Usage) Unwrap() error { return u.Err }

// Parse parses args. For -h it prints the flags between head and tail to stdout and returns
// [flag.ErrHelp]. Its other errors are of type [Usage].
func Parse(flags *flag.FlagSet, args []string, stdout io.Writer, head, tail string) error {
	flags.SetOutput(io.Discard) // Status prints the error
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprint(stdout, head)
		flags.SetOutput(stdout)
		flags.PrintDefaults()
		fmt.Fprint(stdout, tail)
		return err
	case err != nil:
		return Usage{fmt.Errorf("%w; %s -h shows the usage", err, flags.Name())}
	}
	return nil
}

// ParseAll is Parse for commands without arguments other than flags.
func ParseAll(flags *flag.FlagSet, args []string, stdout io.Writer, head, tail string) error {
	err := Parse(flags, args, stdout, head, tail)
	if err == nil && flags.NArg() > 0 {
		err = Usage{fmt.Errorf("unexpected argument %q; %s -h shows the usage", flags.Arg(0), flags.Name())}
	}
	return err
}

// Status returns the exit status of a program that returned err. It prints the error to stderr,
// after the program's name.
func Status(name string, err error, stderr io.Writer) int {
	if err == nil || errors.Is(err, flag.ErrHelp) {
		return 0
	}
	fmt.Fprintf(stderr, "%s: %v\n", name, err)
	if errors.As(err, new(Usage)) {
		return 2
	}
	return 1
}
