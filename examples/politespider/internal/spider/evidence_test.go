package spider

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

var headMessage = regexp.MustCompile(`the evidence record is in \S.*; its head is ([0-9]+):([0-9a-f]{64})\n`)

// A proofLine is the part of a line of the evidence record that is a proof.
type proofLine struct {
	N        uint64
	URL      string
	Decision struct{ Rule string }
}

// The report links each disallowed URL to the line of the evidence record that
// proves the reason. A second run continues the record.
func TestCrawl_Evidence(t *testing.T) {
	dir := t.TempDir()
	report := filepath.Join(dir, "crawl.html")
	record := filepath.Join(dir, "a record")
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/robots.txt":
				io.WriteString(w, "User-agent: *\nDisallow: /attic\n")
			case "/":
				io.WriteString(w, "<a href=/attic/1>1</a> <a href='/attic/2?q=a b'>2</a> <a href=/3>3</a>")
			}
		}))
		for range 2 {
			args := []string{agent, "-report", report, "-evidence", record, "http://a.example/"}
			r := runOn(context.Background(), &internet, args...)
			r.wantStatus(t, tool.ExitOK)
			if !headMessage.MatchString(r.stderr) {
				t.Errorf("standard error is %q, want a line that matches %v", r.stderr, headMessage)
			}
		}
	})
	proofs := reportProofs(t, report)
	if len(proofs) != 2 {
		t.Errorf("report has %d proofs, want one for each disallowed URL", len(proofs))
	}
	lines := readProofLines(t, filepath.Join(record, "evidence-000002.jsonl"))
	for _, p := range proofs {
		if want := "a%20record/evidence-000002.jsonl"; p.File != want {
			t.Errorf("proof is in the file %q, want %q", p.File, want)
		}
		line := lines[p.Line]
		if !strings.HasPrefix(line.URL, "http://a.example/attic/") || line.Decision.Rule != "Disallow: /attic" {
			t.Errorf("line %d of %s is %+v, want the decision on a disallowed URL", p.Line, p.File, line)
		}
	}
}

// A proof is a proof in a report.
type proof struct {
	File string
	Line uint64
}

// reportProofs returns the proofs in a report, by the index of a mark.
func reportProofs(t *testing.T, path string) (proofs map[string]proof) {
	t.Helper()
	found := regexp.MustCompile(`"proofs":(\{.*?\}\})`).FindStringSubmatch(readFile(t, path))
	if found == nil {
		t.Fatal("report has no proofs")
	}
	if err := json.Unmarshal([]byte(found[1]), &proofs); err != nil {
		t.Fatal(err)
	}
	return proofs
}

// readProofLines returns the lines of an evidence record, by their numbers.
func readProofLines(t *testing.T, path string) map[uint64]proofLine {
	t.Helper()
	lines := make(map[uint64]proofLine)
	for text := range strings.Lines(readFile(t, path)) {
		var line proofLine
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		lines[line.N] = line
	}
	return lines
}

// During a long crawl, the spider prints the head of the record every hour, and
// at the end once more. Each head is a line of the record.
func TestCrawl_EvidenceHeads(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	var stderr lockedBuffer
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/robots.txt" {
				io.WriteString(w, "User-agent: *\nCrawl-delay: 3000\n")
				return
			}
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<a href=/1>1</a> <a href=/2>2</a> <a href=/3>3</a>")
		}))
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "-evidence", record, "http://a.example/"},
			Base:   &internet,
			Stdout: io.Discard,
			Stderr: &stderr,
		}
		if status := command.Run(context.Background()); status != tool.ExitOK {
			t.Errorf("exit status is %d, want %d", status, tool.ExitOK)
		}
	})
	heads := headMessage.FindAllStringSubmatch(stderr.String(), -1)
	if len(heads) != 3 {
		t.Errorf("%d heads were printed in two and a half hours, want 3:\n%s", len(heads), stderr.String())
	}
	lines := readFile(t, filepath.Join(record, "evidence-000001.jsonl"))
	for _, head := range heads {
		line := regexp.MustCompile(`(?m)^\{"n":` + head[1] + `,.*"hash":"` + head[2] + `"\}$`)
		if !line.MatchString(lines) {
			t.Errorf("head %s:%s is not a line of the record", head[1], head[2])
		}
	}
}

// A lockedBuffer is a bytes.Buffer that is safe for concurrent use.
type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// With -from-end, the interval begins at the end of a response, so that a slow
// response delays the next page.
func TestCrawl_FromEnd(t *testing.T) {
	for _, test := range []struct {
		args []string
		want time.Duration // the time from one page to the next
	}{
		{nil, time.Second},
		{[]string{"-from-end"}, 1600 * time.Millisecond},
	} {
		synctest.Test(t, func(t *testing.T) {
			var pages []time.Time
			var internet robotstest.Internet
			internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path == "/robots.txt" {
					http.NotFound(w, r)
					return
				}
				pages = append(pages, time.Now())
				time.Sleep(600 * time.Millisecond)
				w.Header().Set("Content-Type", "text/html")
				io.WriteString(w, "<a href=/1>1</a>")
			}))
			crawlInternet(t, t.Context(), &internet, tool.ExitOK, append(test.args, "http://a.example/")...)
			if len(pages) != 2 || pages[1].Sub(pages[0]) != test.want {
				t.Errorf("with %q, pages were requested at %v, want two with an interval of %v",
					test.args, pages, test.want)
			}
		})
	}
}

func TestCrawl_EvidenceCannotBeWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	writeFile(t, path, "")
	r := runOn(t.Context(), new(robotstest.Internet), agent, "-evidence", path, "http://a.example/")
	r.wantStatus(t, tool.ExitFailed)
	wantText(t, "standard error", r.stderr, "-evidence: ")
}
