package frontier_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// crawlSite fetches the pages of the tests' site from f, and returns their
// URLs.
func crawlSite(t testing.TB, f queue) []string {
	t.Helper()
	var fetched []string
	for {
		p, ok := f.Take(t.Context())
		if !ok {
			return fetched
		}
		fetched = append(fetched, p.URL)
		f.Add(newLinks(t, p)...)
		f.Done(p, time.Now(), 0)
	}
}

// readJournalFile returns the journal in dir.
func readJournalFile(t testing.TB, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, frontier.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// directoryWith returns a directory with this journal. A killed process may
// leave such a directory.
func directoryWith(t testing.TB, journal []byte) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, frontier.JournalName), journal, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// No page is lost if the journal ends between two lines or in the middle of a
// line. A page is fetched again only if no complete line contains that it is
// done.
func TestDirectory_Killed(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir, 1000)
	d.Add(newPage(t, pageURL(0)))
	crawlSite(t, d)
	journal := readJournalFile(t, dir)

	n := 0
	for start := bytes.IndexByte(journal, '\n') + 1; start < len(journal); n += 7 {
		lineLength := bytes.IndexByte(journal[start:], '\n') + 1
		wholeLines := journal[:start]
		checkResumed(t, wholeLines, wholeLines)
		checkResumed(t, journal[:start+1+n%(lineLength-1)], wholeLines)
		start += lineLength
	}
	checkResumed(t, journal, journal)
}

// checkResumed continues a crawl from a journal and checks which pages are
// fetched again. wholeLines are the complete lines of the journal.
func checkResumed(t *testing.T, journal, wholeLines []byte) {
	t.Helper()
	d := openDirectory(t, directoryWith(t, journal), 1000)
	defer d.Close()
	d.Add(newPage(t, pageURL(0))) // as the spider does in each run
	fetchedAgain := make(map[string]bool)
	for _, u := range crawlSite(t, d) {
		fetchedAgain[u] = true
	}
	for n := range sitePages {
		u := pageURL(n)
		wasDone := bytes.Contains(wholeLines, []byte(`"done":"`+u+`"`))
		if wasDone == fetchedAgain[u] {
			t.Fatalf("after %d bytes of the journal: %s was done: %t, fetched again: %t; want exactly one of the two",
				len(journal), u, wasDone, fetchedAgain[u])
		}
	}
	if got, want := d.State(), (frontier.State{Spent: sitePages}); got != want {
		t.Fatalf("after %d bytes of the journal: state at the end is %+v, want %+v", len(journal), got, want)
	}
}

// After a power failure, a part of the journal may contain anything. Only the
// lines before the first damaged one are used.
func TestDirectory_Damaged(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir, 1000)
	d.Add(newPage(t, pageURL(0)))
	crawlSite(t, d)
	journal := readJournalFile(t, dir)

	middle := len(journal) / 2
	for name, damage := range map[string][]byte{
		"zeros": make([]byte, 600),
		"noise": bytes.Repeat([]byte("\xff\n{"), 200),
	} {
		t.Run(name, func(t *testing.T) {
			damaged := bytes.Clone(journal)
			copy(damaged[middle:], damage)
			checkResumed(t, damaged, damaged[:bytes.LastIndexByte(damaged[:middle], '\n')+1])
		})
	}
}

// A crawl reaches its end even if it is stopped again and again.
func TestDirectory_ManyRuns(t *testing.T) {
	dir := t.TempDir()
	total := 0
	for run := 1; ; run++ {
		// The maximum includes the pages of earlier runs, so each run fetches
		// one page.
		d := openDirectory(t, dir, run)
		d.Add(newPage(t, pageURL(0)))
		fetched := crawlSite(t, d)
		total += len(fetched)
		state := d.State()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if state.Spent != total {
			t.Fatalf("run %d: state is %+v, want all %d pages of the runs so far in Spent", run, state, total)
		}
		if state.Queued == 0 {
			break
		}
	}
	if total != sitePages {
		t.Errorf("all runs fetched %d pages, want %d", total, sitePages)
	}
}

// Each host is paused as long as before, even if the crawl is continued
// immediately.
func TestDirectory_Pauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := openDirectory(t, dir, 1000)
		d.Add(
			newPage(t, "http://slow.example/1"),
			newPage(t, "http://slow.example/2"),
			newPage(t, "http://busy.example/"),
			newPage(t, "http://new.example/"),
		)
		for range 3 {
			switch p, _ := d.Take(t.Context()); p.Host {
			case "slow.example":
				d.Done(p, time.Now(), 30*time.Second)
			case "busy.example":
				p.Puts++
				d.PutBack(p, time.Now().Add(time.Hour))
			}
		}
		d.Close()

		start := time.Now()
		limits := frontier.Limits{Pages: 1000}
		d, err := frontier.OpenDirectory(dir, frontier.About{}, limits, 5*time.Second, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		want := map[string]time.Duration{
			"new.example":  5 * time.Second,
			"slow.example": 30 * time.Second,
			"busy.example": time.Hour,
		}
		for range want {
			p, ok := d.Take(t.Context())
			if !ok {
				t.Fatal("no page was handed out, want one of each host")
			}
			if waited := time.Since(start); waited != want[p.Host] {
				t.Errorf("%s was handed out after %v, want %v", p.URL, waited, want[p.Host])
			}
			if p.Host == "busy.example" && p.Puts != 1 {
				t.Errorf("Puts of %s is %d, want 1", p.URL, p.Puts)
			}
			d.Done(p, time.Now(), 0)
		}
	})
}

// If a page must wait until its Due, it also waits after the crawl was stopped
// and continued.
func TestDirectory_PageDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := openDirectory(t, dir, 10)
		d.Add(newPage(t, "http://a.example/1"))
		start := time.Now()
		p, _ := d.Take(t.Context())
		p.Puts = 2
		p.Due = start.Add(time.Minute)
		d.PutBack(p, start)
		d.Close()
		for range 2 {
			d = openDirectory(t, dir, 10)
			if wait := d.State().Wait; wait != time.Minute {
				t.Errorf("page is due in %v, want 1m0s", wait)
			}
			d.Close()
		}
		p, _ = openDirectory(t, dir, 10).Take(t.Context())
		if waited := time.Since(start); waited != time.Minute || p.Puts != 2 {
			t.Errorf("page was handed out after %v with %d put-offs, want after 1m0s with 2", waited, p.Puts)
		}
	})
}

func TestDirectory_InUse(t *testing.T) {
	dir := t.TempDir()
	openDirectory(t, dir, 1)
	want := "another process is crawling in " + dir + "; wait until it ends, or use another directory"
	wantOpenError(t, dir, frontier.About{}, want)
}

func TestDirectory_OtherCrawl(t *testing.T) {
	dir := t.TempDir()
	openDirectory(t, dir, 1).Close()
	about := frontier.About{Start: []string{"http://a.example/"}}
	wantOpenError(t, dir, about, "the demo, not at http://a.example/")
}

func TestDirectory_IsFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	wantOpenError(t, file, frontier.About{}, file)
}

func TestDirectory_InvalidJournal(t *testing.T) {
	const header = `{"version":1,"crawl":{"start":null,"scope":"","flags":{}}}` + "\n"
	for _, tt := range []struct {
		name    string
		journal string
		want    string
	}{
		{"another file", "dear diary,\n", "not the journal of a crawl"},
		{"another version", `{"version":99,"crawl":{}}` + "\n", "another version"},
		{
			"an invalid URL",
			header + `{"add":[{"url":"http://a b/"}]}` + "\n",
			`the state of the crawl has an invalid URL: parse "http://a b/"`,
		},
		{
			"a URL without a host",
			header + `{"add":[{"url":"/a"}]}` + "\n",
			`the state of the crawl has a page without a host: "/a"`,
		},
		{
			"a page without a URL",
			header + `{"add":[{}]}` + "\n",
			`the state of the crawl has a page without a host: ""`,
		},
		{
			"a null page",
			header + `{"add":[null]}` + "\n",
			`the state of the crawl has a page without a host: ""`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			wantOpenError(t, directoryWith(t, []byte(tt.journal)), frontier.About{}, tt.want)
		})
	}
}

// wantOpenError checks that OpenDirectory returns an error that contains want.
func wantOpenError(t *testing.T, dir string, about frontier.About, want string) {
	t.Helper()
	d, err := frontier.OpenDirectory(dir, about, frontier.Limits{Pages: 1}, 0, slog.New(slog.DiscardHandler))
	if err == nil {
		d.Close()
		t.Fatalf("OpenDirectory returned no error, want one that contains %q", want)
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("OpenDirectory returned the error %q, want it to contain %q", err, want)
	}
}

// If the journal cannot be written, the crawl ends. If the crawl continued, the
// next run would fetch the same pages again.
func TestDirectory_WriteFails(t *testing.T) {
	d := openDirectory(t, t.TempDir(), 1000)
	d.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	p, _ := d.Take(t.Context())
	d.CloseJournal()
	d.Done(p, time.Now(), 0)
	if p, ok := d.Take(t.Context()); ok {
		t.Errorf("%s was handed out after a failed write, want no page", p.URL)
	}
	const want = "write the journal: "
	if err := d.State().Err; err == nil || !strings.HasPrefix(err.Error(), want) {
		t.Errorf("state has the error %v, want one that begins with %q", err, want)
	}
}

// If the end of the journal is damaged, the log contains the damage and its
// place.
func TestDirectory_DamageIsLogged(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir, 1000)
	d.Add(newPage(t, "http://a.example/"))
	d.Close()
	journal := readJournalFile(t, dir)
	const warning = `level=WARN msg="the end of the journal is damaged; the requests recorded there are repeated" ` +
		`directory=DIR error=`
	for _, tt := range []struct{ name, added, want string }{
		{"no damage", ``, ``},
		{
			"an incomplete line",
			`{"done":"http://a.ex`,
			warning + `"the last line is incomplete" bytes=20`,
		},
		{
			"a damaged line",
			"\x00\n" + `{"done":"http://a.example/"}` + "\n",
			warning + `"line 3 is damaged: invalid character '\\x00' looking for beginning of value" bytes=31`,
		},
	} {
		dir := directoryWith(t, append(bytes.Clone(journal), tt.added...))
		var log bytes.Buffer
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn}))
		d, err := frontier.OpenDirectory(dir, frontier.About{}, frontier.Limits{Pages: 1000}, 0, logger)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		d.Close()
		_, got, _ := strings.Cut(strings.TrimSpace(log.String()), " ") // without the time
		if got = strings.Replace(got, dir, "DIR", 1); got != tt.want {
			t.Errorf("%s: log is\n     %s\nwant %s", tt.name, got, tt.want)
		}
		if _, err := frontier.ReadAbout(dir); err != nil {
			t.Errorf("%s: ReadAbout returned the error %v, want none", tt.name, err)
		}
	}
}

// A journal that an older version has rewritten contains lines that this
// version cannot read. A crawl that ignored them would fetch pages again.
func TestDirectory_RewrittenJournal(t *testing.T) {
	const begin = `{"version":1,"crawl":{"start":null,"scope":"","flags":{}}}` + "\n" +
		`{"add":[{"url":"http://a.example/3"}]}` + "\n"
	for _, line := range []string{
		`{"spent":2}`,
		`{"seen":["http://a.example/"]}`,
		`{"host":"a.example","next":"2026-11-21T12:10:00Z","interval":1}`,
	} {
		dir := directoryWith(t, []byte(begin+line+"\n"))
		before := readJournalFile(t, dir)
		wantOpenError(t, dir, frontier.About{}, "started by an older version of this program; start a new crawl")
		if after := readJournalFile(t, dir); !bytes.Equal(after, before) {
			t.Errorf("with the line %s, the journal has changed to %s, want it unchanged", line, after)
		}
	}
}

// ReadAbout returns the flags of the last run.
func TestReadAbout(t *testing.T) {
	dir := t.TempDir()
	if about, err := frontier.ReadAbout(dir); about != nil || err != nil {
		t.Errorf("ReadAbout of an empty directory: %v and error %v, want neither", about, err)
	}
	about := frontier.About{
		Start: []string{"http://a.example/"},
		Scope: "host",
		Flags: make(map[string][]string),
	}
	for _, delay := range []string{"2s", "3s"} {
		about.Flags["delay"] = []string{delay}
		d, err := frontier.OpenDirectory(dir, about, frontier.Limits{Pages: 1}, 0, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		got, err := frontier.ReadAbout(dir)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(*got, about) {
			t.Errorf("ReadAbout = %+v, want %+v", *got, about)
		}
	}
}

// Only the owner can read the journal.
func TestDirectory_Mode(t *testing.T) {
	dir := t.TempDir()
	openDirectory(t, dir, 1)
	info, err := os.Stat(filepath.Join(dir, frontier.JournalName))
	if err != nil {
		t.Fatal(err)
	}
	if mode := info.Mode() & fs.ModePerm; mode != 0o600 {
		t.Errorf("mode of the journal is %v, want -rw-------", mode)
	}
}

// The limit of refused pages counts the pages that a host refused in earlier
// runs. A run that has reached its limit takes none of the host's queued pages.
// A run with a higher limit takes more of them.
func TestDirectory_Refused(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []struct{ limit, taken, left int }{
		{limit: 1, taken: 1, left: 3},
		{limit: 1, taken: 0, left: 3},
		{limit: 3, taken: 2, left: 1},
		{limit: 0, taken: 1, left: 0},
	} {
		d := openLimited(t, dir, frontier.Limits{Pages: 100, Refused: run.limit})
		for n := range 4 {
			d.Add(newPage(t, fmt.Sprintf("http://a.example/%d", n)))
		}
		taken := 0
		for {
			p, ok := d.Take(t.Context())
			if !ok {
				break
			}
			taken++
			d.Refuse(p, time.Now(), 0)
		}
		if taken != run.taken {
			t.Errorf("run with the limit %d took %d pages, want %d", run.limit, taken, run.taken)
		}
		left := d.Ended()["a.example"]
		if queued := d.State().Queued; left != run.left || queued != run.left {
			t.Errorf("after a run with the limit %d, %d pages are left and %d queued, want %d",
				run.limit, left, queued, run.left)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
