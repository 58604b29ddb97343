package spider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

const agent = "-user-agent=ExampleBot/1.0"

// run runs the command, and returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return tool.Command{Crawl: Crawl, Args: args, Stdout: stdout, Stderr: stderr}.Run(ctx)
}

// A result is what a run of the command returned and printed.
type result struct {
	status         int
	stdout, stderr string
}

// runOn runs the command on an internet. If base is nil, the command uses the
// network.
func runOn(ctx context.Context, base http.RoundTripper, args ...string) result {
	var stdout, stderr bytes.Buffer
	command := tool.Command{Crawl: Crawl, Args: args, Base: base, Stdout: &stdout, Stderr: &stderr}
	status := command.Run(ctx)
	return result{status, stdout.String(), stderr.String()}
}

// wantStatus checks the exit status.
func (r result) wantStatus(t *testing.T, want int) {
	t.Helper()
	if r.status != want {
		t.Errorf("exit status is %d, want %d; standard error:\n%s", r.status, want, r.stderr)
	}
}

// wantText checks that a text, such as the output, contains all parts.
func wantText(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s does not contain %q:\n%s", name, part, text)
		}
	}
}

// wantNoText checks that a text contains none of the parts.
func wantNoText(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%s contains %q, want it not to:\n%s", name, part, text)
		}
	}
}

// A counts is the part of a summary that most tests check.
type counts struct {
	Fetched, Refused, Unreachable, GivenUp, Failed, Left int

	Stopped string
}

// wantCounts checks the counts in a summary.
func wantCounts(t *testing.T, s record.Summary, want counts) {
	t.Helper()
	got := counts{s.Fetched, s.Refused, s.Unreachable, s.GivenUp, s.Failed, s.Left, s.Stopped}
	if got != want {
		t.Errorf("summary has the counts %+v, want %+v", got, want)
	}
}

// crawlInternet is like crawlJSON, with ExampleBot as the User-Agent.
func crawlInternet(
	t *testing.T,
	ctx context.Context,
	internet http.RoundTripper,
	wantStatus int,
	args ...string,
) (record.Summary, []line) {
	t.Helper()
	return crawlJSON(t, ctx, internet, wantStatus, append([]string{agent}, args...)...)
}

// crawlJSON runs the command with -json. It returns the summary and the lines
// before the summary.
func crawlJSON(
	t *testing.T,
	ctx context.Context,
	base http.RoundTripper,
	wantStatus int,
	args ...string,
) (record.Summary, []line) {
	t.Helper()
	r := runOn(ctx, base, append([]string{"-json"}, args...)...)
	r.wantStatus(t, wantStatus)
	return parseOutput(t, r.stdout)
}

// A line is a line of the JSON output.
type line struct {
	record.Record
	Decision struct {
		Rule string `json:"rule"`
		Line int    `json:"line"`
	} `json:"decision"`
	Summary *record.Summary `json:"summary"`
}

// parseOutput parses the JSON output, whose last line contains the summary.
func parseOutput(t *testing.T, out string) (record.Summary, []line) {
	t.Helper()
	var lines []line
	dec := json.NewDecoder(strings.NewReader(out))
	for {
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("output has %d lines and no summary: %v", len(lines), err)
		}
		if l.Summary != nil {
			return *l.Summary, lines
		}
		lines = append(lines, l)
	}
}

// page200 returns a handler that responds to each request with the HTML, except
// for robots.txt, which does not exist.
func page200(html string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html")
		w.Write([]byte(html))
	})
}
