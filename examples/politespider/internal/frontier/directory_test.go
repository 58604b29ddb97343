package frontier_test

import (
	"bytes"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

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

func readFile(t testing.TB, dir string) []byte {
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
// line. A page is fetched again only if no complete line says that the page is
// done.
func TestDirectory_KilledAnywhere(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir, 1000)
	d.Add(newPage(t, pageURL(0)))
	crawlSite(t, d)
	journal := readFile(t, dir)

	n := 0
	for start := bytes.IndexByte(journal, '\n') + 1; start < len(journal); n += 7 {
		length := bytes.IndexByte(journal[start:], '\n') + 1
		for _, nbytes := range []int{0, 1 + n%(length-1)} { // how many bytes of this line are in the journal
			killedAt(t, journal[:start+nbytes], journal[:start])
		}
		start += length
	}
	killedAt(t, journal, journal)
}

// killedAt continues a crawl from a journal and checks which pages are fetched
// again. The last argument has only the complete lines of the journal.
func killedAt(t *testing.T, journal, whole []byte) {
	t.Helper()
	d := openDirectory(t, directoryWith(t, journal), 1000)
	defer d.Close()
	d.Add(newPage(t, pageURL(0))) // as the spider does in each run
	again := make(map[string]bool)
	for _, u := range crawlSite(t, d) {
		again[u] = true
	}
	for n := range sitePages {
		u := pageURL(n)
		if done := bytes.Contains(whole, []byte(`"done":"`+u+`"`)); done == again[u] {
			t.Fatalf("killed after byte %d: %s was done: %t, fetched again: %t",
				len(journal), u, done, again[u])
		}
	}
	if state := d.State(); state != (frontier.State{Spent: sitePages}) {
		t.Fatalf("killed after byte %d: at the end %+v", len(journal), state)
	}
}

// After a power cut, a part of the journal may contain anything. Only the lines
// before the first damaged one are used.
func TestDirectory_Damaged(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir, 1000)
	d.Add(newPage(t, pageURL(0)))
	crawlSite(t, d)
	journal := readFile(t, dir)

	middle := len(journal) / 2
	for name, damage := range map[string][]byte{
		"zeros": make([]byte, 600),
		"noise": bytes.Repeat([]byte("\xff\n{"), 200),
	} {
		t.Run(name, func(t *testing.T) {
			damaged := bytes.Clone(journal)
			copy(damaged[middle:], damage)
			killedAt(t, damaged, damaged[:bytes.LastIndexByte(damaged[:middle], '\n')+1])
		})
	}
}

// A crawl reaches its end even if it is stopped again and again.
func TestDirectory_ManyRuns(t *testing.T) {
	dir := t.TempDir()
	total := 0
	for run := 1; ; run++ {
		d := openDirectory(t, dir, run) // max includes the pages of earlier runs, so each run fetches one page
		d.Add(newPage(t, pageURL(0)))
		fetched := crawlSite(t, d)
		total += len(fetched)
		state := d.State()
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		if state.Spent != total {
			t.Fatalf("run %d: %d pages, and %d before; state %+v", run, len(fetched), total-len(fetched), state)
		}
		if state.Queued == 0 {
			break
		}
	}
	if total != sitePages {
		t.Errorf("%d pages, want %d", total, sitePages)
	}
}

// Each host rests for its full time, even if the crawl is continued at once.
func TestDirectory_LeavesHostsAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := openDirectory(t, dir, 1000)
		d.Add(newPage(t, "http://asked.example/1"), newPage(t, "http://asked.example/2"),
			newPage(t, "http://busy.example/"), newPage(t, "http://new.example/"))
		for range 3 {
			switch p, _ := d.Take(t.Context()); p.Host {
			case "asked.example":
				d.Done(p, time.Now(), 30*time.Second)
			case "busy.example":
				p.Puts++
				d.PutBack(p, time.Now().Add(time.Hour))
			}
		}
		d.Close()

		start := time.Now()
		d, err := frontier.OpenDirectory(dir, frontier.About{}, frontier.Limits{Pages: 1000}, 5*time.Second, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		want := map[string]time.Duration{
			"new.example":   5 * time.Second,
			"asked.example": 30 * time.Second,
			"busy.example":  time.Hour,
		}
		for range want {
			p, ok := d.Take(t.Context())
			if !ok {
				t.Fatal("a page was lost")
			}
			if waited := time.Since(start); waited != want[p.Host] {
				t.Errorf("%s was handed out after %v, want %v", p.URL, waited, want[p.Host])
			}
			if p.Host == "busy.example" && p.Puts != 1 {
				t.Error("how often a page was put off is forgotten")
			}
			d.Done(p, time.Now(), 0)
		}
	})
}

// If a page must wait until its Due, it also waits after the crawl was stopped
// and continued.
func TestDirectory_PageWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		d := openDirectory(t, dir, 10)
		d.Add(newPage(t, "http://a.example/1"))
		start := time.Now()
		p, _ := d.Take(t.Context())
		p.Puts, p.Due = 2, start.Add(time.Minute)
		d.PutBack(p, start)
		d.Close()
		for range 2 {
			d = openDirectory(t, dir, 10)
			if wait := d.State().Wait; wait != time.Minute {
				t.Errorf("the page is due in %v, want in a minute", wait)
			}
			d.Close()
		}
		p, _ = openDirectory(t, dir, 10).Take(t.Context())
		if time.Since(start) != time.Minute || p.Puts != 2 {
			t.Errorf("handed out after %v, put off %d times", time.Since(start), p.Puts)
		}
	})
}

func TestDirectory_Mistakes(t *testing.T) {
	t.Run("in use", func(t *testing.T) {
		dir := t.TempDir()
		openDirectory(t, dir, 1)
		wantError(t, dir, frontier.About{}, "another process is crawling in "+dir+"; wait until it ends, or use another directory")
	})
	t.Run("another crawl", func(t *testing.T) {
		dir := t.TempDir()
		openDirectory(t, dir, 1).Close()
		wantError(t, dir, frontier.About{Start: []string{"http://a.example/"}}, "the demo, not at http://a.example/")
	})
	t.Run("no journal", func(t *testing.T) {
		wantError(t, directoryWith(t, []byte("dear diary,\n")), frontier.About{}, "not the journal of a crawl")
	})
	t.Run("another version", func(t *testing.T) {
		wantError(t, directoryWith(t, []byte(`{"version":99,"crawl":{}}`+"\n")), frontier.About{}, "another version")
	})
	t.Run("no URL", func(t *testing.T) {
		wantError(t, directoryWith(t, []byte(`{"version":1,"crawl":{}}`+"\n"+`{"add":[{"url":"http://a b/"}]}`+"\n")), frontier.About{}, "the state of the crawl has an invalid URL: parse \"http://a b/\"")
	})
	t.Run("no host", func(t *testing.T) {
		wantError(t, directoryWith(t, []byte(`{"version":1,"crawl":{}}`+"\n"+`{"add":[{"url":"/a"}]}`+"\n")), frontier.About{}, `the state of the crawl has a page without a host: "/a"`)
	})
	t.Run("a file", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "file")
		if err := os.WriteFile(file, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		wantError(t, file, frontier.About{}, file)
	})
}

func wantError(t *testing.T, dir string, about frontier.About, want string) {
	t.Helper()
	d, err := frontier.OpenDirectory(dir, about, frontier.Limits{Pages: 1}, 0, slog.New(slog.DiscardHandler))
	if err == nil {
		d.Close()
		t.Fatal("no error")
	}
	if !strings.Contains(err.Error(), want) {
		t.Errorf("%q says nothing of %q", err, want)
	}
}

// If the journal cannot be written, the crawl ends. If the crawl went on, the
// next run would fetch the same pages again.
func TestDirectory_NoRoom(t *testing.T) {
	d := openDirectory(t, t.TempDir(), 1000)
	d.Add(newPage(t, "http://a.example/1"), newPage(t, "http://a.example/2"))
	p, _ := d.Take(t.Context())
	d.CloseJournal()
	d.Done(p, time.Now(), 0)
	if _, ok := d.Take(t.Context()); ok {
		t.Error("it goes on")
	}
	if err := d.State().Err; err == nil || !strings.HasPrefix(err.Error(), "write the journal: ") {
		t.Errorf("%v", err)
	}
}

// If the journal is not whole, the log says what is wrong, and where.
func TestDirectory_SaysWhatIsLost(t *testing.T) {
	dir := t.TempDir()
	d := openDirectory(t, dir, 1000)
	d.Add(newPage(t, "http://a.example/"))
	d.Close()
	whole := readFile(t, dir)
	for added, want := range map[string]string{
		``:                     ``,
		`{"done":"http://a.ex`: `level=WARN msg="the end of the journal is damaged; the requests recorded there are repeated" directory=DIR error="the last line is incomplete" bytes=20`,
		"\x00\n" + `{"done":"http://a.example/"}` + "\n": `level=WARN msg="the end of the journal is damaged; the requests recorded there are repeated" directory=DIR error="line 3 is damaged: invalid character '\\x00' looking for beginning of value" bytes=31`,
	} {
		dir := directoryWith(t, append(bytes.Clone(whole), added...))
		var log bytes.Buffer
		d, err := frontier.OpenDirectory(dir, frontier.About{}, frontier.Limits{Pages: 1000}, 0, slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})))
		if err != nil {
			t.Fatal(err)
		}
		d.Close()
		_, got, _ := strings.Cut(strings.TrimSpace(log.String()), " ") // without the time
		if got = strings.Replace(got, dir, "DIR", 1); got != want {
			t.Errorf("after %q, the log says\n%s, want\n%s", added, got, want)
		}
		if _, err := frontier.ReadAbout(dir); err != nil {
			t.Error(err)
		}
	}
}

// A journal that an older version rewrote has lines of which this version knows
// nothing: who goes on with it would fetch pages again.
func TestDirectory_RewrittenJournal(t *testing.T) {
	const begin = `{"version":1,"crawl":{"start":null,"scope":"","flags":{}}}` + "\n"
	for _, rest := range []string{
		`{"spent":2}`,
		`{"seen":["http://a.example/"]}`,
		`{"host":"a.example","next":"2026-11-21T12:10:00Z","interval":1}`,
	} {
		dir := directoryWith(t, []byte(begin+`{"add":[{"url":"http://a.example/3"}]}`+"\n"+rest+"\n"))
		before := readFile(t, dir)
		wantError(t, dir, frontier.About{}, "started by an older version of this program; start a new crawl")
		if !bytes.Equal(readFile(t, dir), before) {
			t.Errorf("%s: the journal is another", rest)
		}
	}
}

// No URL in an added page is an error, whether the page is there or not.
func TestDirectory_PageWithoutHost(t *testing.T) {
	for _, page := range []string{"null", "{}", `{"url":"/a"}`} {
		dir := directoryWith(t, []byte(`{"version":1,"crawl":{"start":null,"scope":"","flags":{}}}`+"\n"+`{"add":[`+page+`]}`+"\n"))
		wantError(t, dir, frontier.About{}, "the state of the crawl has a page without a host")
	}
}

func TestReadAbout(t *testing.T) {
	dir := t.TempDir()
	if about, err := frontier.ReadAbout(dir); about != nil || err != nil {
		t.Errorf("of an empty directory: %v, %v", about, err)
	}
	want := frontier.About{
		Start: []string{"http://a.example/"},
		Scope: "host",
		Flags: map[string][]string{"delay": {"2s"}},
	}
	d, err := frontier.OpenDirectory(dir, want, frontier.Limits{Pages: 1}, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	d.Close()
	got, err := frontier.ReadAbout(dir)
	if err != nil || got.Check("", want) != nil || got.Flags["delay"][0] != "2s" {
		t.Errorf("%v, %v", got, err)
	}
	want.Flags["delay"][0] = "3s" // a later run may change a flag
	if d, err = frontier.OpenDirectory(dir, want, frontier.Limits{Pages: 1}, 0, slog.New(slog.DiscardHandler)); err != nil {
		t.Fatal(err)
	}
	d.Close()
	if got, err := frontier.ReadAbout(dir); err != nil || got.Flags["delay"][0] != "3s" {
		t.Errorf("%v, %v", got, err)
	}
	if info, err := os.Stat(filepath.Join(dir, frontier.JournalName)); err != nil || info.Mode()&fs.ModePerm != 0o600 {
		t.Errorf("%v, %v: the journal is its owner's alone", info.Mode(), err)
	}
}

// A run counts the pages that a host refused in earlier runs, and leaves its
// queued pages alone. A run with a higher limit goes on with them.
func TestDirectory_Refused(t *testing.T) {
	dir := t.TempDir()
	for _, run := range []struct {
		limit, taken, left int
	}{{1, 1, 3}, {1, 0, 3}, {3, 2, 1}, {0, 1, 0}} {
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
		left := 0
		for _, n := range d.Ended() {
			left += n
		}
		if taken != run.taken || left != run.left || d.State().Queued != run.left {
			t.Errorf("at a limit of %d: %d pages taken, %d left, %+v; want %d, %d",
				run.limit, taken, left, d.State(), run.taken, run.left)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
