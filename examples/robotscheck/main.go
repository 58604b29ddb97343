// Robotscheck answers questions about robots.txt, for site owners and for
// crawler operators.
//
//	go install github.com/goodbots/courtesy/examples/robotscheck@latest
//	robotscheck help
//	robotscheck help explain     # a command's flags, JSON and exit status
//	robotscheck version          # the build
//
// May a robot fetch a path, and which line decides?
//
//	robotscheck explain -agent ExampleBot robots.txt /private/a.html
//	robotscheck explain -agent Googlebot -agent Bingbot https://example.com/a
//
// What is wrong with a robots.txt?
//
//	robotscheck lint robots.txt
//	robotscheck lint -severity warning https://example.com/
//
// Many files, robots and URLs, as JSON lines:
//
//	robotscheck batch questions.jsonl
//	echo '{"file":"robots.txt","agent":"ExampleBot","url":"/a"}' | robotscheck batch
//
// Which URLs does an edit open or close, and for whom?
//
//	robotscheck diff old.txt new.txt -urls urls.txt
//	robotscheck diff https://example.com/robots.txt new.txt -urls urls.txt
//
// What have many robots.txt files in common?
//
//	robotscheck survey -match 'robots/*.txt' corpus.tar.gz
//	robotscheck survey -top 100 CC-MAIN-20261120100000-00000.warc.gz
//
// What may search engines and AI crawlers do with a page?
//
//	robotscheck page https://example.com/a.html
//	robotscheck page -links -agent ExampleBot https://example.com/
//
// Can servers verify the signatures of a crawler (Web Bot Auth)?
//
//	robotscheck identity https://bot.example
//	robotscheck identity -out keys -key key.pem https://bot.example
//
// Which robots broke the rules?
//
//	robotscheck audit -robots robots.txt access.log
//	robotscheck audit -robots robots.txt -since 2026-11-20 -html audit.html access.log*
//	robotscheck audit record/    # written by politespider -evidence
//
// A robots.txt is parsed as RFC 9309 specifies (see package robotstxt). The
// argument "-" is standard input. The commands explain, lint and diff also
// accept a URL instead of a robots.txt. They fetch the robots.txt in force at
// that URL as a crawler does: they follow redirects, and handle statuses such
// as 404 and 503 by RFC 9309. Servers may treat a path such as /x/../private/
// as another path, which robotscheck then judges too.
//
// The exit status is
//
//   - 0 if the answer is "allowed", or there are no problems;
//   - 1 if the answer is "disallowed", or there are problems;
//   - 2 if there is no answer: the command line is wrong, a file cannot be
//     read, or the robots.txt is unreachable;
//   - 3 if the answer is doubtful: the robots.txt was cut at 500 KiB, is binary
//     or is an HTML page, or the page is not text.
package main

import (
	"bufio"
	"context"
	"embed"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/audit"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/batch"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/diff"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/explain"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/identity"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/lint"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/page"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/survey"
)

// commands are the subcommands, in the order of the help. To add one, write a
// package that exports a Command and whose doc.go contains its help as the
// package documentation, and add the Command here.
var commands = []command.Command{
	explain.Command,
	lint.Command,
	batch.Command,
	diff.Command,
	survey.Command,
	page.Command,
	identity.Command,
	audit.Command,
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	context.AfterFunc(ctx, stop) // a second Ctrl-C kills the process
	e := command.Env{
		Stdin:  os.Stdin,
		Stdout: bufio.NewWriter(os.Stdout),
		Stderr: os.Stderr,
		Base:   http.DefaultTransport,
	}
	os.Exit(int(run(ctx, e, os.Args[1:])))
}

// run runs the program, flushes its output and returns its exit status.
func run(ctx context.Context, e command.Env, args []string) command.Status {
	status := dispatch(ctx, e, args)
	if err := e.Stdout.Flush(); err != nil {
		fmt.Fprintf(e.Stderr, "robotscheck: write the output: %v\n", err)
		return command.CannotTell
	}
	return status
}

// dispatch runs the command that args begin with.
func dispatch(ctx context.Context, e command.Env, args []string) command.Status {
	if len(args) == 0 {
		printOverview(e.Stderr)
		return command.CannotTell
	}
	name := args[0]
	args = args[1:]
	if isHelp(name) {
		if len(args) == 0 {
			printOverview(e.Stdout)
			return command.OK
		}
		// Treat "help NAME" as "NAME -h".
		name = args[0]
		args = []string{"-h"}
	}
	wantsHelp := len(args) > 0 && isHelp(args[0])
	switch {
	case isHelp(name):
		fmt.Fprint(e.Stdout, helpUsage)
		return command.OK
	case isVersion(name) && wantsHelp:
		fmt.Fprint(e.Stdout, versionUsage)
		return command.OK
	case isVersion(name):
		fmt.Fprintln(e.Stdout, "robotscheck "+cli.Version())
		return command.OK
	}
	i := slices.IndexFunc(commands, func(c command.Command) bool { return c.Name == name })
	if i < 0 {
		fmt.Fprintf(e.Stderr, "robotscheck: unknown command %q; %s\n", name, suggestion(name))
		return command.CannotTell
	}
	c := commands[i]
	c.Help = help(name)
	return c.Run(ctx, e, args)
}

const (
	helpUsage = "usage: robotscheck help [COMMAND]\n\n" +
		"Print the list of the commands, or the help of one command.\n"
	versionUsage = "usage: robotscheck version\n\n" +
		"Print the version of this build, and of the Go that built it.\n"
)

// suggestion returns what the user should do after an unknown command.
func suggestion(name string) string {
	for _, c := range commands {
		if cli.IsNear(name, c.Name) {
			return "did you mean " + c.Name + "?"
		}
	}
	return `"robotscheck help" lists them`
}

func isHelp(arg string) bool {
	return slices.Contains([]string{"help", "-h", "-help", "--help"}, arg)
}

func isVersion(arg string) bool {
	return slices.Contains([]string{"version", "-version", "--version"}, arg)
}

//go:embed internal/*/doc.go
var docs embed.FS

// help returns the help of a command, which is the documentation of its package
// without the first paragraph. A test checks that each command has one.
func help(name string) string {
	source, _ := docs.ReadFile("internal/" + name + "/doc.go")
	comment, _, _ := strings.Cut(string(source), "\npackage ")
	_, comment, _ = strings.Cut(comment, "\n//\n// ")
	return strings.NewReplacer("\n// ", "\n", "\n//\t", "\n  ", "\n//", "\n").Replace(comment)
}

const overviewEnd = `
FILE may be "-" for standard input. For a URL, the robots.txt in force there is fetched.
Exit status: 0 allowed or clean, 1 disallowed or problems, 2 cannot tell,
3 doubtful (the file was cut, or is not a robots.txt).
"robotscheck help COMMAND" describes a command; "robotscheck version" prints the version.
`

func printOverview(w io.Writer) {
	fmt.Fprint(w, "Robotscheck answers questions about robots.txt.\n\n")
	for _, c := range commands {
		fmt.Fprintf(w, "  robotscheck %-8s %s\n", c.Name, c.Short)
	}
	fmt.Fprint(w, overviewEnd)
}
