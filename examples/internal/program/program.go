// Package program is how the example programs meet their user, the same in
// all: usage that is asked for goes to standard output with exit status 0;
// wrong usage is said in one line on standard error, with 2; a failure so, with
// 1; the first signal asks to end, a second one ends the program at once.
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
)

// Context returns a context that the first signal ends.
func Context() context.Context {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // the second signal is nobody's then, and kills
	return ctx
}

// Usage is an error of who called the program.
type Usage struct{ Err error }

// Error returns the text of Err.
func (u Usage) Error() string { return u.Err.Error() }

// Unwrap returns Err.
func (u Usage) Unwrap() error { return u.Err }

// Parse reads args. Help that they ask for is printed to stdout, the flags
// between head and tail; the error is [flag.ErrHelp] then, else a [Usage].
func Parse(flags *flag.FlagSet, args []string, stdout io.Writer, head, tail string) error {
	flags.SetOutput(io.Discard) // Status says what is wrong, once
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

// ParseAll is Parse for commands that take flags only.
func ParseAll(flags *flag.FlagSet, args []string, stdout io.Writer, head, tail string) error {
	err := Parse(flags, args, stdout, head, tail)
	if err == nil && flags.NArg() > 0 {
		err = Usage{fmt.Errorf("unexpected argument %q; %s -h shows the usage", flags.Arg(0), flags.Name())}
	}
	return err
}

// Status returns the exit status for what became of the program called name,
// and says on stderr what went wrong.
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
