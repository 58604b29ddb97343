// Robotscheck answers questions about robots.txt, for the site owner and the crawler operator who read it differently.
//
//	robotscheck explain -agent ExampleBot robots.txt /private/a.html    may it be fetched, and which line says so
//	robotscheck lint https://example.com/                               what is wrong with the file
//	robotscheck batch < questions.jsonl                                 many files, agents and URLs
//	robotscheck diff old.txt new.txt -urls urls.txt                     what an edit changes
//	robotscheck survey -match 'robots/*.txt' corpus.tar.gz              what many files have in common
//	robotscheck page https://example.com/a.html                         what a page says about itself
//
// Files are read by RFC 9309 with the decisions of package robotstxt. Where a FILE is asked for, "-" is standard input
// and a URL is the robots.txt in force for that URL: it is fetched as a crawler would, with redirects, and what a 404 or
// a 503 means instead of rules.
//
// The exit status is 0 for allowed or clean, 1 for disallowed or problems, and 2 if that cannot be told: wrong usage,
// a file that cannot be read, a robots.txt that cannot be had. "robotscheck help explain" tells more about a command,
// its flags and its JSON.
package main

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"
)

const (
	exitOK    = 0 // allowed, clean
	exitNo    = 1 // disallowed, problems found
	exitError = 2 // it cannot be told
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C ends it the hard way
	os.Exit(run(ctx, os.Args[1:], env{stdin: os.Stdin, stdout: bufio.NewWriter(os.Stdout), stderr: os.Stderr, base: http.DefaultTransport}))
}

// env is what a command has of the world.
type env struct {
	stdin  io.Reader
	stdout *bufio.Writer // to be flushed before something is written to stderr
	stderr io.Writer
	base   http.RoundTripper // fetches
}

// A command is a subcommand.
type command struct {
	name  string
	usage string // what follows the name
	short string // in the list of commands
	help  string // in full
	// setup declares the flags, and returns what runs when they are parsed. An error is reported, with exitError.
	setup func(*flag.FlagSet) func(ctx context.Context, e env, args []string) (status int, err error)
}

var commands = []command{explainCommand, lintCommand, batchCommand, diffCommand, surveyCommand, pageCommand}

// A usageError is the caller's mistake: the help is pointed at.
type usageError string

func (e usageError) Error() string { return string(e) }

// usagef makes a usageError.
func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// run is the program: everything but the process.
func run(ctx context.Context, args []string, e env) int {
	status := dispatch(ctx, args, e)
	if err := e.stdout.Flush(); err != nil {
		fmt.Fprintf(e.stderr, "robotscheck: write the output: %v\n", err)
		return exitError
	}
	return status
}

// dispatch finds the command and runs it.
func dispatch(ctx context.Context, args []string, e env) int {
	if len(args) == 0 {
		printOverview(e.stderr)
		return exitError
	}
	name, args := args[0], args[1:]
	switch name {
	case "help", "-h", "-help", "--help":
		if len(args) == 0 {
			printOverview(e.stdout)
			return exitOK
		}
		name, args = args[0], []string{"-h"}
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.name == name })
	if i < 0 {
		fmt.Fprintf(e.stderr, "robotscheck: there is no command %q; \"robotscheck help\" lists them\n", name)
		return exitError
	}
	return commands[i].run(ctx, args, e)
}

func (c command) run(ctx context.Context, args []string, e env) int {
	flags := flag.NewFlagSet("robotscheck "+c.name, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	do := c.setup(flags)
	args, err := parseFlags(flags, args)
	if errors.Is(err, flag.ErrHelp) {
		c.printHelp(e.stdout, flags)
		return exitOK
	}
	status := exitError
	if err != nil {
		err = usageError(err.Error())
	} else {
		status, err = do(ctx, e, args)
	}
	if err == nil {
		return status
	}
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted")
	}
	e.stdout.Flush()
	fmt.Fprintf(e.stderr, "robotscheck %s: %v\n", c.name, err)
	if _, ok := errors.AsType[usageError](err); ok {
		fmt.Fprintf(e.stderr, "usage: robotscheck %s %s\n\"robotscheck help %s\" tells more.\n", c.name, c.usage, c.name)
	}
	return exitError
}

// parseFlags parses flags wherever they stand, also after arguments; what follows "--" are arguments.
func parseFlags(flags *flag.FlagSet, args []string) (rest []string, err error) {
	for len(args) > 0 {
		if err := flags.Parse(args); err != nil {
			return nil, err
		}
		parsed := len(args) - flags.NArg()
		if parsed > 0 && args[parsed-1] == "--" {
			return append(rest, flags.Args()...), nil
		}
		if args = flags.Args(); len(args) > 0 {
			rest, args = append(rest, args[0]), args[1:]
		}
	}
	return rest, nil
}

func printOverview(w io.Writer) {
	fmt.Fprint(w, "Robotscheck answers questions about robots.txt.\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  robotscheck %-8s %s\n", c.name, c.short)
	}
	fmt.Fprint(w, "\nFILE may be \"-\" for standard input. A URL stands for the robots.txt in force there.\n"+
		"Exit status: 0 allowed or clean, 1 disallowed or problems, 2 cannot tell.\n"+
		"\"robotscheck help COMMAND\" tells more about a command.\n")
}

func (c command) printHelp(w io.Writer, flags *flag.FlagSet) {
	fmt.Fprintf(w, "robotscheck %s %s\n\n%s\n\nFlags:\n", c.name, c.usage, strings.TrimSpace(c.help))
	flags.SetOutput(w)
	flags.PrintDefaults()
}
