package spider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"testing"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
)

const agent = "-user-agent=ExampleBot/1.0"

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return tool.Command{Crawl: Crawl, Args: args, Stdout: stdout, Stderr: stderr}.Run(ctx)
}

// crawlInternet is like crawlJSON, with ExampleBot as the User-Agent.
func crawlInternet(t *testing.T, ctx context.Context, internet http.RoundTripper, wantStatus int, args ...string) (record.Summary, []line) {
	t.Helper()
	return crawlJSON(t, ctx, internet, wantStatus, append([]string{agent}, args...)...)
}

// crawlJSON runs the command with -json. It returns the summary and the lines
// before the summary.
func crawlJSON(t *testing.T, ctx context.Context, base http.RoundTripper, wantStatus int, args ...string) (record.Summary, []line) {
	t.Helper()
	var out bytes.Buffer
	command := tool.Command{
		Crawl:  Crawl,
		Args:   append([]string{"-json"}, args...),
		Base:   base,
		Stdout: &out,
		Stderr: io.Discard,
	}
	if status := command.Run(ctx); status != wantStatus {
		t.Errorf("exit status %d, want %d", status, wantStatus)
	}
	return parseOutput(t, &out)
}

type line struct {
	record.Record
	Decision struct {
		Rule string `json:"rule"`
		Line int    `json:"line"`
	} `json:"decision"`
	Summary *record.Summary `json:"summary"`
}

func parseOutput(t *testing.T, out io.Reader) (record.Summary, []line) {
	t.Helper()
	var lines []line
	dec := json.NewDecoder(out)
	for {
		var l line
		if err := dec.Decode(&l); err != nil {
			t.Fatalf("after %d lines and no summary: %v", len(lines), err)
		}
		if l.Summary != nil {
			return *l.Summary, lines
		}
		lines = append(lines, l)
	}
}

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
