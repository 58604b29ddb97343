// Package command is the framework for the subcommands of robotscheck.
//
// A subcommand is a package that exports one [Command]: a name, a help text,
// flags and a function. The function receives an [Env] and returns a [Status]
// or an error. The framework parses flags, prints help and errors, and converts
// the result to an exit status.
package command

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"

	"github.com/goodbots/courtesy/examples/internal/cli"
)

// A Status is an exit status of the program.
type Status int

const (
	OK         Status = 0 // the URL is allowed, or the check found no problem
	No         Status = 1 // the URL is disallowed, or the check found a problem
	CannotTell Status = 2 // there is no answer
	Doubtful   Status = 3 // the answer is based on a truncated file, or one of the wrong kind
)

// A Command is a subcommand.
type Command struct {
	Name  string
	Usage string // the usage line after the name
	Short string // one line for the list of commands
	Help  string // the full text of the help; package main sets it
	// Setup declares the flags. It returns the Action to run after they are
	// parsed.
	Setup func(*flag.FlagSet) Action
}

// An Action runs a command. Its args are the arguments that are not flags. If
// it returns an error, [Command.Run] prints the error and returns CannotTell.
// If the error is a [UsageError], Run prints the usage too.
type Action func(ctx context.Context, e Env, args []string) (Status, error)

// Run parses the flags in args, and runs the command or prints its help.
func (c Command) Run(ctx context.Context, e Env, args []string) Status {
	flags := flag.NewFlagSet("robotscheck "+c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	action := c.Setup(flags)
	args, err := cli.Parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		c.printHelp(e.Stdout, flags)
		return OK
	}
	if err != nil {
		c.printError(e, UsageError(err.Error()))
		return CannotTell
	}
	status, err := action(ctx, e, args)
	if err == nil {
		// Ctrl-C also ends a program that writes to standard input, so the
		// input may be incomplete.
		err = ctx.Err()
	}
	if err != nil {
		c.printError(e, err)
		return CannotTell
	}
	return status
}

// printError prints the error of a command and, for a UsageError, the usage.
func (c Command) printError(e Env, err error) {
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	e.Stdout.Flush()
	fmt.Fprintf(e.Stderr, "robotscheck %s: %v\n", c.Name, err)
	if _, ok := errors.AsType[UsageError](err); ok {
		fmt.Fprintf(e.Stderr, "usage: robotscheck %s %s\n", c.Name, c.Usage)
		fmt.Fprintf(e.Stderr, "Run \"robotscheck help %s\" for details.\n", c.Name)
	}
}

func (c Command) printHelp(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "robotscheck %s %s\n\n%s\n\nFlags:\n", c.Name, c.Usage, c.Help)
	flags.SetOutput(w)
	flags.PrintDefaults()
}

// ListVar declares a flag that may be repeated. Its values are appended to the
// list.
func ListVar(flags *flag.FlagSet, list *[]string, name, usage string) {
	flags.Func(name, usage, func(value string) error {
		*list = append(*list, value)
		return nil
	})
}

// An Env contains the streams and the RoundTripper that a command uses.
type Env struct {
	Stdin  io.Reader
	Stdout *bufio.Writer // must be flushed before writing to Stderr
	Stderr io.Writer
	Base   http.RoundTripper // sends all requests
}

// IsDirectory reports whether an argument is the name of a directory.
func IsDirectory(arg string) bool {
	info, err := os.Stat(arg)
	return arg != "-" && err == nil && info.IsDir()
}

// Open opens a file, or returns standard input for "-". If there is no such
// file, but the name looks like a URL, the error is a UsageError.
func (e Env) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		if stdin, ok := e.Stdin.(io.ReadCloser); ok {
			return stdin, nil // it may be a regular file, which can be read twice
		}
		return io.NopCloser(e.Stdin), nil
	}
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		if guess := cmp.Or(GuessURL(name), guessSiteURL(name)); guess != "" {
			return nil, Usagef("%q is neither a file nor a URL; did you mean %s?", name, guess)
		}
	}
	return file, err
}

// StdinTwice reports whether more than one of the names is "-".
func StdinTwice(names ...string) bool {
	first := slices.Index(names, "-")
	return first >= 0 && slices.Contains(names[first+1:], "-")
}

// ReadFile reads a file, or standard input for "-". Its errors are those of
// Open, or include the name of the file.
func (e Env) ReadFile(name string) ([]byte, error) {
	file, err := e.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", DisplayName(name), err)
	}
	return text, nil
}

// DisplayName returns the name of a file in the output: "<stdin>" for "-", or
// else arg.
func DisplayName(arg string) string {
	if arg == "-" {
		return "<stdin>"
	}
	return arg
}
