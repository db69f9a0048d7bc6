// Command offrampbot is the whole product in one binary: the bot, its sandbox and the operator's tools.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// version is set by the build.
var version = "dev"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	go func() {
		<-ctx.Done()
		stop() // a second signal ends the process at once
	}()
	os.Exit(run(ctx, os.Args[1:]))
}

// run executes a command line: 0 is good, 1 a difference or failure, 2 misuse.
func run(ctx context.Context, args []string) int {
	root := newRoot()
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var misuse *misuseError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &misuse):
		fmt.Fprintln(os.Stderr, "offrampbot:", err)
		return 2
	case errors.Is(err, errDifference):
		return 1
	default:
		fmt.Fprintln(os.Stderr, "offrampbot:", err)
		return 1
	}
}

// errDifference ends a command that found something wrong and has said so.
var errDifference = errors.New("differences found")

// misuseError is a command line that cannot be carried out.
type misuseError struct{ err error }

func (e *misuseError) Error() string { return e.err.Error() }
func (e *misuseError) Unwrap() error { return e.err }
