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
	"regexp"
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

var update = flag.Bool("update", false, "rewrite testdata/transcripts and testdata/help.txt")

// A transcript contains commands, each with its output and its exit status,
// which is 1 in this example:
//
//	$ robotscheck lint - < robots.txt
//	| a line of standard output
//	! a line of standard error
//	= 1
//
// All other lines are comments. The commands run in the directory testdata.
func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) != len(commands) {
		t.Fatalf("testdata/transcripts has %d transcripts (error %v), want one for each of %d commands", len(files), err, len(commands))
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) { testTranscript(t, file) })
	}
}

func testTranscript(t *testing.T, file string) {
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	file, err = filepath.Abs(file)
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
		t.Errorf("output differs from the transcript (go test -update rewrites it):\n%s",
			firstDifference(got, string(want)))
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
		r := robotscheck(t, stdin, words...)
		fmt.Fprintf(&out, "%s\n", line)
		for l := range strings.Lines(r.stdout) {
			out.WriteString(strings.TrimRight("| "+strings.TrimSuffix(l, "\n"), " ") + "\n")
		}
		for l := range strings.Lines(r.stderr) {
			out.WriteString("! " + strings.TrimSuffix(l, "\n") + "\n")
		}
		fmt.Fprintf(&out, "= %d\n", r.status)
	}
	return out.String()
}

var shellWord = regexp.MustCompile(`'([^']*)'|[^ ']+`)

// shellWords splits a command into words as a shell does. It supports single
// quotes, and "< file" at the end for standard input.
func shellWords(command string) (words []string, stdin string) {
	command, stdin, _ = strings.Cut(command, " < ")
	for _, match := range shellWord.FindAllStringSubmatch(command, -1) {
		word, quoted := match[0], match[1]
		if strings.HasPrefix(word, "'") {
			word = quoted
		}
		words = append(words, word)
	}
	return words, stdin
}

// firstDifference describes the first line that differs.
func firstDifference(got, want string) string {
	gotLines := strings.Split(got, "\n")
	wantLines := strings.Split(want, "\n")
	for i, line := range gotLines {
		if i >= len(wantLines) {
			return fmt.Sprintf("line %d: %q\n   want: no further line", i+1, line)
		}
		if line != wantLines[i] {
			return fmt.Sprintf("line %d: %q\n   want: %q", i+1, line, wantLines[i])
		}
	}
	n := len(gotLines)
	return fmt.Sprintf("line %d is missing: %q", n+1, wantLines[n])
}

// A result is the exit status and the output of the program.
type result struct {
	status         command.Status
	stdout, stderr string
}

// check fails the test if the result is not want.
func (r result) check(t *testing.T, args []string, want result) {
	t.Helper()
	if r != want {
		t.Errorf("robotscheck %q: exit status %d, standard output %q, standard error %q; want %d, %q, %q",
			args, r.status, r.stdout, r.stderr, want.status, want.stdout, want.stderr)
	}
}

// robotscheck runs the program in a simulated internet. If stdin is not empty,
// it is the name of a file. The clock begins at the same time in each run.
func robotscheck(t *testing.T, stdin string, args ...string) result {
	t.Helper()
	var text []byte
	if stdin != "" {
		var err error
		if text, err = os.ReadFile(stdin); err != nil {
			t.Fatal(err)
		}
	}
	var r result
	synctest.Test(t, func(t *testing.T) {
		r = runWith(t.Context(), bytes.NewReader(text), internet(), args...)
	})
	return r
}

// runWith runs the program with this standard input. base sends its requests.
func runWith(ctx context.Context, stdin io.Reader, base http.RoundTripper, args ...string) result {
	var stdout, stderr strings.Builder
	e := command.Env{
		Stdin:  stdin,
		Stdout: bufio.NewWriter(&stdout),
		Stderr: &stderr,
		Base:   base,
	}
	status := run(ctx, e, args)
	return result{status, stdout.String(), stderr.String()}
}

// The transcript of each command uses every flag of the command, and the help
// describes every flag.
func TestTranscripts_EveryFlag(t *testing.T) {
	for _, c := range commands {
		transcript, err := os.ReadFile("testdata/transcripts/" + c.Name + ".txt")
		if err != nil {
			t.Error(err)
			continue
		}
		r := robotscheck(t, "", c.Name, "-h")
		if r.status != command.OK {
			t.Errorf("%s -h: exit status %d, want 0", c.Name, r.status)
		}
		flags := flag.NewFlagSet(c.Name, flag.ContinueOnError)
		c.Setup(flags)
		flags.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(string(transcript), " -"+f.Name) {
				t.Errorf("transcript of %s does not use -%s", c.Name, f.Name)
			}
			if !strings.Contains(r.stdout, "  -"+f.Name) {
				t.Errorf("help of %s lacks -%s", c.Name, f.Name)
			}
		})
		for _, want := range []string{"Exit status:", "-json"} {
			if !strings.Contains(r.stdout, want) {
				t.Errorf("help of %s lacks %q", c.Name, want)
			}
		}
		args := []string{"help", c.Name}
		robotscheck(t, "", args...).check(t, args, r)
	}
}

// The commands help and version have a help too, although they are not in
// commands.
func TestHelp_HelpAndVersion(t *testing.T) {
	for name, want := range map[string]string{"help": helpUsage, "version": versionUsage} {
		for _, args := range [][]string{{"help", name}, {name, "-h"}, {name, "--help"}} {
			robotscheck(t, "", args...).check(t, args, result{stdout: want})
		}
	}
}

func TestHelp(t *testing.T) {
	const file = "testdata/help.txt"
	if *update {
		r := robotscheck(t, "", "help")
		if err := os.WriteFile(file, []byte(r.stdout), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	overview := string(text)
	for _, c := range commands {
		if !strings.Contains(overview, "robotscheck "+c.Name) {
			t.Errorf("overview lacks the command %s", c.Name)
		}
	}
	for _, args := range [][]string{{"help"}, {"-h"}, {"-help"}, {"--help"}} {
		robotscheck(t, "", args...).check(t, args, result{stdout: overview})
	}
	const unknown = "robotscheck: unknown command \"eggsplain\"; \"robotscheck help\" lists them\n"
	const mistyped = "robotscheck: unknown command \"explian\"; did you mean explain?\n"
	for _, tt := range []struct {
		args   []string
		stderr string
	}{
		{nil, overview},
		{[]string{"eggsplain"}, unknown},
		{[]string{"explian"}, mistyped},
		{[]string{"help", "eggsplain"}, unknown},
	} {
		want := result{status: command.CannotTell, stderr: tt.stderr}
		robotscheck(t, "", tt.args...).check(t, tt.args, want)
	}
}

// The documentation of the program and the help of each command contain
// examples of the command.
func TestHelp_Examples(t *testing.T) {
	doc, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range commands {
		example := regexp.MustCompile(`[ \t]robotscheck ` + c.Name + " ")
		if !example.Match(doc) {
			t.Errorf("main.go has no example of %s", c.Name)
		}
		if help := robotscheck(t, "", "help", c.Name).stdout; !example.MatchString(help) {
			t.Errorf("help of %s has no example", c.Name)
		}
	}
}

// The help of explain, batch and diff describes the members of a verdict in the
// same words.
func TestHelp_Verdict(t *testing.T) {
	description := func(name string) string {
		_, text, _ := strings.Cut(robotscheck(t, "", "help", name).stdout, "  allowed  ")
		text, _, _ = strings.Cut(text, `for "/x/../private/"`)
		return strings.Join(strings.Fields(text), " ")
	}
	want := description("explain")
	if want == "" {
		t.Fatal("help of explain does not describe a verdict")
	}
	for _, name := range []string{"batch", "diff"} {
		if got := description(name); got != want {
			t.Errorf("help of %s describes a verdict as %q, want %q", name, got, want)
		}
	}
}

// The version is that of the build. A test is a development build.
func TestRun_Version(t *testing.T) {
	args := []string{"version"}
	r := robotscheck(t, "", args...)
	r.check(t, args, result{stdout: "robotscheck " + cli.Version() + "\n"})
	if !strings.Contains(r.stdout, "(go1.") {
		t.Errorf("version is %q, want it to contain the version of Go", r.stdout)
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
		e := command.Env{
			Stdin:  strings.NewReader(""),
			Stdout: bufio.NewWriter(brokenPipe{}),
			Stderr: &stderr,
			Base:   internet(),
		}
		if status := run(t.Context(), e, args); status != command.CannotTell {
			t.Errorf("robotscheck %q: exit status %d, want %d", args, status, command.CannotTell)
		}
		const want = "robotscheck: write the output: the pipe is broken\n"
		if !strings.HasSuffix(stderr.String(), want) {
			t.Errorf("robotscheck %q: standard error is %q, want it to end with %q", args, stderr.String(), want)
		}
	}
}

// If the input cannot be read, the exit status is CannotTell.
func TestRun_InputFails(t *testing.T) {
	t.Chdir("testdata")
	for _, tt := range []struct{ args, want string }{
		{"explain -agent=ExampleBot - /", "robotscheck explain: read <stdin>: "},
		{"lint -", "robotscheck lint: read <stdin>: "},
		{"page -", "robotscheck page: read <stdin>: "},
		{"batch", "robotscheck batch: read the questions: "},
		{"diff robots.txt edited.txt -urls -", "robotscheck diff: read <stdin>: "},
		{"audit -robots - audit/access.log", "robotscheck audit: read <stdin>: "},
		{"survey -", "robotscheck survey: <stdin> was read as a list of files: "},
	} {
		args := strings.Fields(tt.args)
		stdin := iotest.ErrReader(errors.New("the disk is gone"))
		r := runWith(t.Context(), stdin, internet(), args...)
		if r.status != command.CannotTell {
			t.Errorf("robotscheck %s: exit status %d, want %d", tt.args, r.status, command.CannotTell)
		}
		if want := tt.want + "the disk is gone\n"; r.stderr != want {
			t.Errorf("robotscheck %s: standard error is %q, want %q", tt.args, r.stderr, want)
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

func checkInterrupted(t *testing.T, args []string, r result) {
	t.Helper()
	if r.status != command.CannotTell || !strings.Contains(r.stderr, "interrupted") {
		t.Errorf("robotscheck %q: exit status %d, standard error %q; want %d, interrupted",
			args, r.status, r.stderr, command.CannotTell)
	}
}

// Ctrl-C ends a command that waits for a server, and "robotscheck batch" while
// it waits for input.
func TestRun_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("slow.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			<-r.Context().Done()
		}))
		stdin, questions := io.Pipe()
		for _, args := range [][]string{{"lint", "https://slow.example/"}, {"batch"}} {
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan result)
			go func() { done <- runWith(ctx, stdin, &web, args...) }()
			synctest.Wait()
			cancel()
			checkInterrupted(t, args, <-done)
		}
		questions.Close()
		time.Sleep(time.Minute) // until the requests in flight have timed out
	})
}

// Ctrl-C also ends the program that writes to a pipe. The input, which may be
// incomplete, has no result.
func TestRun_InterruptedInput(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	args := []string{"explain", "-agent=*", "-", "/"}
	r := runWith(ctx, strings.NewReader("User-agent: *\n"), nil, args...)
	checkInterrupted(t, args, r)
}

// For each URL, Judge returns the same verdict as the Checker of a crawler.
func TestJudge_AgreesWithTheChecker(t *testing.T) {
	for _, host := range []string{"site", "missing", "down", "moved", "named", "gone"} {
		for _, target := range []string{"/", "/private/a", "/robots.txt", "/a?b"} {
			synctest.Test(t, func(t *testing.T) { compareWithChecker(t, host+".example", target) })
		}
	}
}

func compareWithChecker(t *testing.T, host, target string) {
	t.Helper()
	rawURL := "https://" + host + target
	source, err := robots.Read(t.Context(), command.Env{Base: internet()}, rawURL, "ExampleBot/1.0")
	if err != nil {
		t.Fatal(err)
	}
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: internet()})
	if err != nil {
		t.Fatal(err)
	}
	u, err := command.ParseURL(rawURL)
	if err != nil {
		t.Fatal(err)
	}
	d, err := transport.Checker().Check(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	if target == "/robots.txt" && d.Reason == robotsmw.IsRobotsTxt {
		return // the Checker decides this without fetching the file
	}
	v := source.Judge(source.File.Rules("ExampleBot"), rawURL)
	isSame := v.Allowed == d.Allowed && v.Line == d.Line
	if !isSame || v.Reason != d.Reason {
		t.Errorf("Judge(%s) = %+v, want the decision of the Checker, %v", rawURL, v, d)
	}
}
