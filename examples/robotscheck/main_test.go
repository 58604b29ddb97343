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
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var update = flag.Bool("update", false, "write what the commands of testdata/transcripts print now into them")

// A transcript has commands and what they print, as a terminal shows it:
//
//	$ robotscheck lint - < robots.txt
//	| what it prints
//	! what it prints on standard error
//	= 1
//
// The last line is the exit status. All else is comment. Commands run in testdata.
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
				t.Errorf("it prints otherwise (go test -update writes that into the file):\n%s", firstDifference(got, string(want)))
			}
		})
	}
}

// replay runs the commands of a transcript and returns it with what they print now.
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

// shellWords splits a command as a shell would: quotes, and "< file" for standard input.
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

// robotscheck runs the program in an internet of a few hosts, where it is always the same time.
func robotscheck(t *testing.T, stdin string, args ...string) (status int, stdout, stderr string) {
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
		status = run(t.Context(), args, env{in, bufio.NewWriter(&out), &errOut, internet()})
	})
	return status, out.String(), errOut.String()
}

// internet has a host for each thing that may come of asking for a robots.txt.
func internet() *robotstest.Internet {
	web := new(robotstest.Internet)
	page := func(w http.ResponseWriter, body string) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		io.WriteString(w, body)
	}
	site := http.NewServeMux()
	site.HandleFunc("/robots.txt", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /private/\nContent-Signal: search=yes, ai-train=no\n")
	})
	site.HandleFunc("/page.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("X-Robots-Tag", "ExampleBot: noarchive")
		page(w, `<title>A page</title><a href="/private/">private</a> <a href="/open.html">open</a>`)
	})
	site.HandleFunc("/open.html", func(w http.ResponseWriter, _ *http.Request) { page(w, "<title>Another</title>") })
	site.Handle("/moved.html", http.RedirectHandler("/open.html", http.StatusFound))
	site.HandleFunc("/coded.html", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Encoding", "br")
		page(w, "?")
	})
	site.HandleFunc("/whoami.txt", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		w.Header().Set("X-Robots-Tag", "nofollow")
		io.WriteString(w, r.UserAgent())
	})
	web.Handle("site.example", site)
	web.Handle("large.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /a\n#"+strings.Repeat("x", 600<<10))
	}))
	web.Handle("missing.example", http.NotFoundHandler())
	web.Handle("down.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	web.Handle("moved.example", http.RedirectHandler("https://site.example/robots.txt", http.StatusMovedPermanently))
	web.Handle("named.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.UserAgent(), "ExampleBot/") {
			io.WriteString(w, "User-agent: *\nDisallow:\n")
			return
		}
		io.WriteString(w, "User-agent: *\nDisallow: /\n")
	}))
	return web
}

// Every flag of every command is tried in its transcript, and told of in its help.
func TestTranscripts_TryEveryFlag(t *testing.T) {
	for _, c := range commands {
		transcript, err := os.ReadFile("testdata/transcripts/" + c.name + ".txt")
		if err != nil {
			t.Error(err)
			continue
		}
		status, help, _ := robotscheck(t, "", c.name, "-h")
		if status != exitOK {
			t.Errorf("%s -h: exit status %d", c.name, status)
		}
		flags := flag.NewFlagSet(c.name, flag.ContinueOnError)
		c.setup(flags)
		flags.VisitAll(func(f *flag.Flag) {
			if !strings.Contains(string(transcript), " -"+f.Name) {
				t.Errorf("the transcript of %s never has -%s", c.name, f.Name)
			}
			if !strings.Contains(help, "  -"+f.Name) {
				t.Errorf("the help of %s does not tell of -%s", c.name, f.Name)
			}
		})
		for _, want := range []string{"Exit status:", "-json"} {
			if !strings.Contains(help, want) {
				t.Errorf("the help of %s does not tell of %q", c.name, want)
			}
		}
		if _, same, _ := robotscheck(t, "", "help", c.name); same != help {
			t.Errorf("help %s and %s -h differ", c.name, c.name)
		}
	}
}

func TestHelp(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"-h"}, {"--help"}} {
		status, stdout, stderr := robotscheck(t, "", args...)
		if status != exitOK || stderr != "" {
			t.Errorf("%v: exit status %d, standard error %q", args, status, stderr)
		}
		for _, c := range commands {
			if !strings.Contains(stdout, "robotscheck "+c.name) {
				t.Errorf("%v does not list %s", args, c.name)
			}
		}
	}
	for _, args := range [][]string{{}, {"eggsplain"}, {"help", "eggsplain"}} {
		if status, stdout, stderr := robotscheck(t, "", args...); status != exitError || stdout != "" || !strings.Contains(stderr, "robotscheck") {
			t.Errorf("%v: exit status %d, standard output %q, standard error %q", args, status, stdout, stderr)
		}
	}
}

// Output that cannot be written is no success.
func TestRun_OutputFails(t *testing.T) {
	t.Chdir("testdata")
	for _, args := range [][]string{
		{"help", "lint"},
		{"lint", "robots.txt"},
		{"batch", "questions.jsonl"},
		{"explain", "-agent=ExampleBot", "-json", "robots.txt", "/"},
	} {
		var stderr strings.Builder
		e := env{strings.NewReader(""), bufio.NewWriter(brokenPipe{}), &stderr, internet()}
		if status := run(t.Context(), args, e); status != exitError || !strings.Contains(stderr.String(), "the pipe is broken") {
			t.Errorf("%v: exit status %d, standard error %q", args, status, stderr.String())
		}
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("the pipe is broken") }

// Flags may stand before, between and after arguments, but not after "--".
func TestParseFlags(t *testing.T) {
	tests := []struct {
		args []string
		rest []string
		a, b string
	}{
		{[]string{"-a=1", "x", "-b", "2", "y"}, []string{"x", "y"}, "1", "2"},
		{[]string{"x", "-", "-a=1"}, []string{"x", "-"}, "1", ""},
		{[]string{"x", "--", "-a=1", "y"}, []string{"x", "-a=1", "y"}, "", ""},
		{nil, nil, "", ""},
	}
	for _, tt := range tests {
		flags := flag.NewFlagSet("test", flag.ContinueOnError)
		a, b := flags.String("a", "", ""), flags.String("b", "", "")
		rest, err := parseFlags(flags, tt.args)
		if err != nil || !slices.Equal(rest, tt.rest) || *a != tt.a || *b != tt.b {
			t.Errorf("%q: %q, -a %q, -b %q, %v; want %q, -a %q, -b %q", tt.args, rest, *a, *b, err, tt.rest, tt.a, tt.b)
		}
	}
}

// Ctrl-C ends a command that waits for a server, and a batch that waits for a question.
func TestRun_Interrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("slow.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
		in, questions := io.Pipe()
		for _, args := range [][]string{{"lint", "https://slow.example/"}, {"batch"}} {
			ctx, cancel := context.WithCancel(t.Context())
			status := make(chan int)
			var stderr strings.Builder
			go func() {
				status <- run(ctx, args, env{in, bufio.NewWriter(io.Discard), &stderr, &web})
			}()
			synctest.Wait()
			cancel()
			if got := <-status; got != exitError || !strings.Contains(stderr.String(), "interrupted") {
				t.Errorf("%v: exit status %d, standard error %q", args, got, stderr.String())
			}
		}
		questions.Close()
		time.Sleep(time.Minute) // what is under way ends by itself: its time is limited, not its caller's
	})
}
