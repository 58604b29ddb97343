// Package command is the frame that every subcommand of robotscheck hangs in.
//
// A subcommand is a package that exports one [Command]: its name, its help,
// its flags and what runs. It gets the world as an [Env], and returns a
// [Status] or an error. The frame parses flags, prints help and errors, and
// makes exit statuses of both.
package command

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/arguments"
)

// A Status is an exit status of the program. The larger one of two is the one
// to report.
type Status int

const (
	OK         Status = 0 // allowed, clean
	No         Status = 1 // disallowed, problems found
	CannotTell Status = 2 // it cannot be told
	Doubtful   Status = 3 // it is told, but of a robots.txt that was cut off, or is none
)

// A Command is a subcommand.
type Command struct {
	Name  string
	Usage string // what follows the name
	Short string // in the list of commands
	Help  string // in full
	// Setup declares the flags, and returns what runs when they are parsed.
	Setup func(*flag.FlagSet) Action
}

// An Action is what a command does with the arguments that are not flags. An
// error is reported, with CannotTell; so is a [UsageError], with the usage.
type Action func(ctx context.Context, e Env, args []string) (Status, error)

// Run parses the flags among args, and runs the command or prints its help.
func (c Command) Run(ctx context.Context, e Env, args []string) Status {
	flags := flag.NewFlagSet("robotscheck "+c.Name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	do := c.Setup(flags)
	args, err := arguments.Parse(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		c.printHelp(e.Stdout, flags)
		return OK
	}
	status := CannotTell
	if err != nil {
		err = UsageError(err.Error())
	} else {
		status, err = do(ctx, e, args)
	}
	if err == nil {
		return status
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	e.Stdout.Flush()
	fmt.Fprintf(e.Stderr, "robotscheck %s: %v\n", c.Name, err)
	if _, ok := errors.AsType[UsageError](err); ok {
		fmt.Fprintf(e.Stderr, "usage: robotscheck %s %s\n\"robotscheck help %s\" tells more.\n", c.Name, c.Usage, c.Name)
	}
	return CannotTell
}

func (c Command) printHelp(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "robotscheck %s %s\n\n%s\n\nFlags:\n", c.Name, c.Usage, strings.TrimSpace(c.Help))
	flags.SetOutput(w)
	flags.PrintDefaults()
}
