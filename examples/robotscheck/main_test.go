package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write what the commands of testdata/transcripts print now into them")

// A transcript has commands. Below each command are its output and its exit
// status, which is 1 in this example:
//
//	$ robotscheck lint - < robots.txt
//	| what it prints
//	! what it prints on standard error
//	= 1
//
// All other lines are comments. The commands run in the directory testdata.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) != len(commands) {
		t.Fatalf("%d transcripts (%v), want one for each of %d commands", len(files), err, len(commands))
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			file, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			t.Chdir("testdata")
			got := replay(t, string(want))
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != string(want) {
				t.Errorf("output differs from the transcript (go test -update rewrites it):\n%s", firstDifference(got, string(want)))
			}
		})
	}
}

// replay runs the commands of a transcript, and returns the transcript with
// their current output and exit statuses.
func replay(t *testing.T, transcript string) string {
	var out strings.Builder
	for line := range strings.Lines(transcript) {
		line = strings.TrimSuffix(line, "\n")
		command, ok := strings.CutPrefix(line, "$ robotscheck")
		if !ok {
			if line == "" || !strings.ContainsAny(line[:1], "|!=") {
				out.WriteString(line + "\n")
			}
			continue
		}
		words, stdin := shellWords(command)
		status, stdout, stderr := robotscheck(t, stdin, words...)
		fmt.Fprintf(&out, "%s\n", line)
		for l := range strings.Lines(stdout) {
			out.WriteString(strings.TrimRight("| "+strings.TrimSuffix(l, "\n"), " ") + "\n")
		}
		for l := range strings.Lines(stderr) {
			out.WriteString("! " + strings.TrimSuffix(l, "\n") + "\n")
		}
		fmt.Fprintf(&out, "= %d\n", status)
	}
	return out.String()
}

// shellWords splits a command into words as a shell does. It understands single
// quotes, and "< file" at the end for standard input.
func shellWords(command string) (words []string, stdin string) {
	command, stdin, _ = strings.Cut(command, " < ")
	for command = strings.TrimSpace(command); command != ""; command = strings.TrimSpace(command) {
		end, next := strings.IndexByte(command+" ", ' '), 0
		if command[0] == '\'' {
			end = 1 + strings.IndexByte(command[1:], '\'')
			words, next = append(words, command[1:end]), end+1
		} else {
			words, next = append(words, command[:end]), end
		}
		command = command[next:]
	}
	return words, stdin
}

func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			return fmt.Sprintf("line %d: %q\n   want: %q", i+1, g[i], w[min(i, len(w)-1)])
		}
	}
	return fmt.Sprintf("the transcript goes on with line %d: %q", len(g)+1, w[len(g)])
}

// robotscheck runs the program in a simulated internet. The clock begins at the
// same time in each run.
func robotscheck(t *testing.T, stdin string, args ...string) (status command.Status, stdout, stderr string) {
	t.Helper()
	var in io.Reader = strings.NewReader("")
	if stdin != "" {
		text, err := os.ReadFile(stdin)
		if err != nil {
			t.Fatal(err)
		}
		in = bytes.NewReader(text)
	}
	var out, errOut strings.Builder
	synctest.Test(t, func(t *testing.T) {
		status = run(t.Context(), command.Env{Stdin: in, Stdout: bufio.NewWriter(&out), Stderr: &errOut, Base: internet()}, args)
	})
	return status, out.String(), errOut.String()
}

// The transcript of each command uses every flag of the command, and the help
// mentions every flag.
func TestTranscripts_TryEveryFlag(t *testing.T) {
	for _, c := range commands {
		transcript, err := os.ReadFile("testdata/transcripts/" + c.Name + ".txt")
		if err != nil {
			t.Error(err)
			continue
		}
		status, help, _ := robotscheck(t, "", c.Name, "-h")
		if status != command.OK {
			t.Errorf("%s -h: exit status %d", c.Name, status)
		}
		flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
		c.Setup(flags)
		flags.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(string(transcript), " -"+f.Name) {
				t.Errorf("the transcript of %s never has -%s", c.Name, f.Name)
			}
			if !strings.Contains(help, "  -"+f.Name) {
				t.Errorf("the help of %s does not tell of -%s", c.Name, f.Name)
			}
		})
		for _, want := range []string{"Exit status:", "-json"} {
			if !strings.Contains(help, want) {
				t.Errorf("the help of %s does not tell of %q", c.Name, want)
			}
		}
		if _, same, _ := robotscheck(t, "", "help", c.Name); same != help {
			t.Errorf("help %s and %s -h differ", c.Name, c.Name)
		}
	}
}

// The commands help and version have a help, too, although each is only a case
// in dispatch.
func TestHelp_OfHelpAndVersion(t *testing.T) {
	for name, want := range map[string]string{
		"help":    "usage: robotscheck help [COMMAND]\n",
		"version": "usage: robotscheck version\n",
	} {
		for _, args := range [][]string{{"help", name}, {name, "-h"}, {name, "--help"}} {
			status, stdout, stderr := robotscheck(t, "", args...)
			if status != command.OK || !strings.HasPrefix(stdout, want) || stderr != "" {
				t.Errorf("%v: exit status %d, standard output %q, standard error %q", args, status, stdout, stderr)
			}
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"-help"}, {"--help"}} {
		status, stdout, stderr := robotscheck(t, "", args...)
		if status != command.OK || stderr != "" {
			t.Errorf("%v: exit status %d, standard error %q", args, status, stderr)
		}
		for _, c := range commands {
			if !strings.Contains(stdout, "robotscheck "+c.Name) {
				t.Errorf("%v does not list %s", args, c.Name)
			}
		}
		if *update {
			if err := os.WriteFile("testdata/help.txt", []byte(stdout), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile("testdata/help.txt"); err != nil || stdout != string(want) {
			t.Errorf("%v prints otherwise (go test -update writes that into testdata/help.txt): %v\n%s", args, err, stdout)
		}
	}
	overview, err := os.ReadFile("testdata/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	const unknown = "robotscheck: unknown command \"eggsplain\"; \"robotscheck help\" lists them\n"
	for _, tt := range []struct {
		args []string
		want string
	}{
		{nil, string(overview)},
		{[]string{"eggsplain"}, unknown},
		{[]string{"explian"}, "robotscheck: unknown command \"explian\"; did you mean explain?\n"},
		{[]string{"help", "eggsplain"}, unknown},
	} {
		if status, stdout, stderr := robotscheck(t, "", tt.args...); status != command.CannotTell || stdout != "" || stderr != tt.want {
			t.Errorf("%v: exit status %d, standard output %q, standard error %q", tt.args, status, stdout, stderr)
		}
	}
}

// The doc of the program has examples of each command, and of each the help has
// some too. What the members of a verdict mean stands in the help of three
// commands, in the same words.
func TestHelp_Examples(t *testing.T) {
	doc, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	verdicts := make(map[string][]string)
	for _, c := range commands {
		_, help, _ := robotscheck(t, "", "help", c.Name)
		for name, text := range map[string]string{"main.go": string(doc), "the help of " + c.Name: help} {
			if !strings.Contains(text, " robotscheck "+c.Name+" ") && !strings.Contains(text, "\trobotscheck "+c.Name+" ") {
				t.Errorf("%s has no example of %s", name, c.Name)
			}
		}
		if _, after, ok := strings.Cut(help, "  allowed  "); ok {
			after, _, _ = strings.Cut(after, `for "/x/../private/"`)
			verdict := strings.Join(strings.Fields(after), " ")
			verdicts[verdict] = append(verdicts[verdict], c.Name)
		}
	}
	if len(verdicts) != 1 {
		t.Errorf("a verdict is described in %d ways: %v", len(verdicts), verdicts)
	}
	for _, names := range verdicts {
		if len(names) != 3 {
			t.Errorf("a verdict is described by %v, want explain, batch and diff", names)
		}
	}
}

// The version is the build's own; a test's is that of a development build.
func TestRun_Version(t *testing.T) {
	status, stdout, stderr := robotscheck(t, "", "version")
	if want := "robotscheck " + cli.Version() + "\n"; status != command.OK || stdout != want || stderr != "" || !strings.Contains(stdout, "(go1.") {
		t.Errorf("exit status %d, standard output %q, standard error %q", status, stdout, stderr)
	}
}

// If the output cannot be written, the exit status is CannotTell.
func TestRun_OutputFails(t *testing.T) {
	t.Chdir("testdata")
	for _, args := range [][]string{
		{"help", "lint"},
		{"lint", "robots.txt"},
		{"batch", "questions.jsonl"},
		{"explain", "-agent=ExampleBot", "-json", "robots.txt", "/"},
	} {
		var stderr strings.Builder
		e := command.Env{Stdin: strings.NewReader(""), Stdout: bufio.NewWriter(brokenPipe{}), Stderr: &stderr, Base: internet()}
		if status := run(t.Context(), e, args); status != command.CannotTell || !strings.HasSuffix(stderr.String(), "robotscheck: write the output: the pipe is broken\n") {
			t.Errorf("%v: exit status %d, standard error %q", args, status, stderr.String())
		}
	}
}

// If the input cannot be read, the exit status is CannotTell.
func TestRun_InputFails(t *testing.T) {
	t.Chdir("testdata")
	for _, tt := range []struct {
		args []string
		want string
	}{
		{[]string{"explain", "-agent=ExampleBot", "-", "/"}, "robotscheck explain: read <stdin>: the disk is gone\n"},
		{[]string{"lint", "-"}, "robotscheck lint: read <stdin>: the disk is gone\n"},
		{[]string{"page", "-"}, "robotscheck page: read <stdin>: the disk is gone\n"},
		{[]string{"batch"}, "robotscheck batch: read the questions: the disk is gone\n"},
		{[]string{"diff", "robots.txt", "edited.txt", "-urls", "-"}, "robotscheck diff: read <stdin>: the disk is gone\n"},
		{[]string{"audit", "-robots", "-", "audit/access.log"}, "robotscheck audit: read <stdin>: the disk is gone\n"},
		{[]string{"survey", "-"}, "robotscheck survey: <stdin> was read as a list of files: the disk is gone\n"},
	} {
		var stderr strings.Builder
		e := command.Env{Stdin: iotest.ErrReader(errors.New("the disk is gone")), Stdout: bufio.NewWriter(io.Discard), Stderr: &stderr, Base: internet()}
		if status := run(t.Context(), e, tt.args); status != command.CannotTell || stderr.String() != tt.want {
			t.Errorf("%v: exit status %d, standard error %q, want %q", tt.args, status, stderr.String(), tt.want)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// Ctrl-C ends a command that waits for a server. It also ends the command
// "robotscheck batch" when that command waits for input.
func TestRun_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("slow.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		in, questions := io.Pipe()
		for _, args := range [][]string{{"lint", "https://slow.example/"}, {"batch"}} {
			ctx, cancel := context.WithCancel(t.Context())
			status := make(chan command.Status)
			var stderr strings.Builder
			go func() {
				status <- run(ctx, command.Env{Stdin: in, Stdout: bufio.NewWriter(io.Discard), Stderr: &stderr, Base: &web}, args)
			}()
			synctest.Wait()
			cancel()
			if got := <-status; got != command.CannotTell || !strings.Contains(stderr.String(), "interrupted") {
				t.Errorf("%v: exit status %d, standard error %q", args, got, stderr.String())
			}
		}
		questions.Close()

		// Ctrl-C also ended the program that wrote to standard input.
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var stderr strings.Builder
		e := command.Env{Stdin: strings.NewReader("User-agent: *\n"), Stdout: bufio.NewWriter(io.Discard), Stderr: &stderr}
		if got := run(ctx, e, []string{"explain", "-agent=*", "-", "/"}); got != command.CannotTell || !strings.Contains(stderr.String(), "interrupted") {
			t.Errorf("half a file on standard input: exit status %d, standard error %q", got, stderr.String())
		}
		time.Sleep(time.Minute) // until the requests that are still under way have timed out
	})
}

// For each URL, Judge agrees with the Checker of a crawler.
func TestFetchSource_AgreesWithTheChecker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, host := range []string{"site", "missing", "down", "moved", "named", "gone"} {
			for _, target := range []string{"/", "/private/a", "/robots.txt", "/a?b"} {
				raw := "https://" + host + ".example" + target
				s, err := robots.Read(t.Context(), command.Env{Base: internet()}, raw, "ExampleBot/1.0")
				if err != nil {
					t.Fatal(err)
				}
				transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: internet()})
				if err != nil {
					t.Fatal(err)
				}
				u, err := command.ParseURL(raw)
				if err != nil {
					t.Fatal(err)
				}
				d, err := transport.Checker().Check(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				v := s.Judge(s.File.Rules("ExampleBot"), raw)
				if target == "/robots.txt" && d.Reason == robotsmw.IsRobotsTxt {
					continue // the Checker decides this without fetching the file
				}
				if v.Allowed != d.Allowed || v.Reason != d.Reason || v.Line != d.Line {
					t.Errorf("%s: %+v, but the checker says %v", raw, v, d)
				}
			}
		}
	})
}
