package evidence

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const agent = "ExampleBot/1.0 (+https://example.com/bot)"

type recordLine struct {
	N       uint64    `json:"n"`
	Event   string    `json:"event"`
	Time    time.Time `json:"time"`
	Prev    string    `json:"prev"`
	Hash    string    `json:"hash"`
	Segment int       `json:"segment"`
	Why     string    `json:"why"`
	Cut     *struct {
		Segment       int
		Offset, Bytes int64
	} `json:"cut"`
	SHA256      string         `json:"sha256"`
	Text        string         `json:"text"`
	Base64      string         `json:"base64"`
	URL         string         `json:"url"`
	Host        string         `json:"host"`
	Robots      bool           `json:"robots"`
	Start       time.Time      `json:"start"`
	End         time.Time      `json:"end"`
	Interval    float64        `json:"interval"`
	IntervalWhy string         `json:"interval_why"`
	PausedUntil time.Time      `json:"paused_until"`
	Until       time.Time      `json:"until"`
	Status      int            `json:"status"`
	From        string         `json:"from"`
	To          time.Time      `json:"to"`
	RetryAfter  string         `json:"retry_after"`
	Asks        float64        `json:"asks"`
	Cause       string         `json:"cause"`
	Lost        map[string]int `json:"lost"`
	Decision    *struct {
		Allowed          bool
		Reason           string
		Rule             string
		Line             int
		Group            []string
		GroupLines       []int  `json:"group_lines"`
		RobotsURL        string `json:"robots_url"`
		SHA256           string
		Decided, Fetched time.Time
	} `json:"decision"`
	WARC struct {
		File                       string
		SHA256                     string
		Bytes                      int64
		Request, Response, Revisit *struct {
			Offset, Length int64
			SHA256         string
		}
	} `json:"warc"`
}

// readRecord reads a record, and checks that it has the documented form. It
// shares no code with the Recorder. tail is the number of bytes after the last
// valid line.
func readRecord(dir string) (lines []recordLine, tail int64, err error) { return readAll(dir, true) }

// readAll is like readRecord, but if whole is false, the record may lack
// robots.txt files whose hashes its lines contain.
func readAll(dir string, whole bool) (lines []recordLine, tail int64, err error) {
	prev, n := strings.Repeat("0", 64), uint64(0)
	files := make(map[string]string)
	for segment := 1; ; segment++ {
		text, err := os.ReadFile(filepath.Join(dir, fmt.Sprintf("evidence-%06d.jsonl", segment)))
		if err != nil && segment > 1 {
			break
		} else if err != nil {
			return nil, 0, err
		}
		good := int64(0)
		rest := text
		for len(rest) > 0 {
			line, after, ok := bytes.Cut(rest, []byte("\n"))
			if !ok {
				break
			}
			var v recordLine
			if len(line) < 75 || json.Unmarshal(line, &v) != nil {
				break
			}
			if sum := sha256.Sum256(line[:len(line)-75]); hex.EncodeToString(sum[:]) != v.Hash || !bytes.HasSuffix(line, []byte(`,"hash":"`+v.Hash+`"}`)) {
				break
			}
			if v.Prev != prev || v.N != n+1 {
				break
			}
			prev, n = v.Hash, v.N
			good += int64(len(line)) + 1
			rest = after
			if v.Event == "segment" && v.Cut != nil {
				if tail != v.Cut.Bytes || v.Cut.Segment >= segment {
					return nil, 0, fmt.Errorf("line %d contains the cut %+v, want one of %d bytes in an earlier segment",
						n, *v.Cut, tail)
				}
				tail = 0
			}
			if v.Event == "file" {
				text := v.Text
				if v.Base64 != "" {
					b, err := base64.StdEncoding.DecodeString(v.Base64)
					if err != nil {
						return nil, 0, err
					}
					text = string(b)
				}
				if sum := sha256.Sum256([]byte(text)); hex.EncodeToString(sum[:]) != v.SHA256 {
					return nil, 0, fmt.Errorf("line %d: the text of the file does not have the hash %s", n, v.SHA256)
				}
				files[v.SHA256] = text
			}
			for _, hash := range v.needs() {
				if _, ok := files[hash]; whole && hash != "" && !ok {
					return nil, 0, fmt.Errorf("line %d: no file line before it has the hash %s", n, hash)
				}
			}
			if err := v.checkWARC(dir); err != nil {
				return nil, 0, fmt.Errorf("line %d: %w", n, err)
			}
			lines = append(lines, v)
		}
		if tail > 0 && len(text) > 0 {
			return nil, 0, fmt.Errorf("%d bytes before segment %d are not valid lines, and no cut describes them",
				tail, segment)
		}
		tail += int64(len(text)) - good
	}
	return lines, tail, nil
}

func (v *recordLine) needs() []string {
	switch {
	case v.Event == "robots":
		return []string{v.SHA256}
	case v.Decision != nil:
		return []string{v.Decision.SHA256}
	}
	return nil
}

func (v *recordLine) checkWARC(dir string) error {
	if v.WARC.File == "" {
		return nil
	}
	text, err := os.ReadFile(filepath.Join(dir, v.WARC.File))
	if err != nil {
		return err
	}
	check := func(data []byte, want string) error {
		if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != want {
			return fmt.Errorf("the bytes of %s do not match their hash", v.WARC.File)
		}
		return nil
	}
	if v.WARC.SHA256 != "" {
		if v.WARC.Bytes != int64(len(text)) {
			return fmt.Errorf("%s has %d bytes, want %d", v.WARC.File, len(text), v.WARC.Bytes)
		}
		return check(text, v.WARC.SHA256)
	}
	for _, p := range []*struct {
		Offset, Length int64
		SHA256         string
	}{v.WARC.Request, v.WARC.Response, v.WARC.Revisit} {
		if p != nil {
			if p.Offset+p.Length > int64(len(text)) {
				return fmt.Errorf("%s ends before offset %d", v.WARC.File, p.Offset+p.Length)
			}
			if err := check(text[p.Offset:p.Offset+p.Length], p.SHA256); err != nil {
				return err
			}
		}
	}
	return nil
}

// mustRead is like readRecord, but for a record that must be valid to its end.
func mustRead(t testing.TB, dir string) []recordLine {
	t.Helper()
	lines, tail, err := readRecord(dir)
	if err != nil || tail > 0 {
		t.Fatalf("reading the record: error %v, and %d bytes after the last valid line, want none", err, tail)
	}
	return lines
}

func of(lines []recordLine, event string) (some []recordLine) {
	for _, l := range lines {
		if l.Event == event {
			some = append(some, l)
		}
	}
	return some
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func crawler(t testing.TB, rec *Recorder, web http.RoundTripper, edit ...func(*robotsmw.Options)) *http.Client {
	t.Helper()
	opts := robotsmw.Options{UserAgent: agent, Base: web, Limiter: new(politeness.Limiter), Logger: quiet()}
	for _, f := range edit {
		f(&opts)
	}
	if err := rec.Observe(&opts); err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

func mustOpen(t testing.TB, dir string, opts Options) *Recorder {
	t.Helper()
	opts.Logger = quiet()
	rec, err := Open(dir, opts)
	if err != nil {
		t.Fatal(err)
	}
	return rec
}

func get(t testing.TB, client *http.Client, url string) {
	resp, err := client.Get(url)
	if err == nil {
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
	}
}

func TestMain(m *testing.M) {
	if dir := os.Getenv("EVIDENCE_CRAWL"); dir != "" {
		crawlUntilKilled(dir)
	}
	testmain.Quiet()
	goleak.VerifyTestMain(m)
}

// For each request, the record contains the decision that allowed the request,
// the interval that the Limiter applied, and the reason for this interval. A
// request that a browser makes under an Admission is recorded as one of an
// http.Client.
func TestARequestIsRecordedWithItsReasons(t *testing.T) {
	t.Run("http.Client", func(t *testing.T) {
		testReasons(t, func(t testing.TB, client *http.Client, _ http.RoundTripper, page string) { get(t, client, page) })
	})
	t.Run("Admit", func(t *testing.T) { testReasons(t, getAdmitted) })
}

// getAdmitted gets a page through web, under an Admission of the Transport of
// client.
func getAdmitted(t testing.TB, client *http.Client, web http.RoundTripper, page string) {
	u, err := url.Parse(page)
	if err != nil {
		t.Fatal(err)
	}
	admission, err := client.Transport.(*robotsmw.Transport).Admit(t.Context(), u)
	if err != nil {
		return
	}
	resp, err := (&http.Client{Transport: web}).Get(page)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	admission.Done(politeness.Outcome{Status: resp.StatusCode, Header: resp.Header})
}

func testReasons(t *testing.T, get func(testing.TB, *http.Client, http.RoundTripper, string)) {
	synctest.Test(t, func(t *testing.T) {
		dir := t.TempDir()
		rec := mustOpen(t, dir, Options{})
		var web robotstest.Internet
		calls := 0
		web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/robots.txt":
				io.WriteString(w,
					"User-agent: ExampleBot\nDisallow: /cart\nAllow: /cart/help\nCrawl-delay: 7\n")
			case "/busy":
				if calls++; calls == 1 {
					w.Header().Set("Retry-After", "40")
					w.WriteHeader(429)
				}
			}
		}))
		client := crawler(t, rec, &web)
		for _, path := range []string{"/", "/cart", "/cart/help", "/busy", "/busy", "/cart"} {
			get(t, client, &web, "http://shop.example"+path)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		lines := mustRead(t, dir)

		var got []string
		for _, l := range of(lines, "request") {
			s := fmt.Sprintf(
				"%s every %v: %s",
				strings.TrimPrefix(l.URL, "http://shop.example"),
				l.Interval,
				l.IntervalWhy,
			)
			if l.Decision != nil {
				s += fmt.Sprintf(
					", %s %q %d of %v %v",
					l.Decision.Reason,
					l.Decision.Rule,
					l.Decision.Line,
					l.Decision.Group,
					l.Decision.GroupLines,
				)
			}
			if !l.PausedUntil.IsZero() {
				s += fmt.Sprintf(", paused until %v before", l.Start.Sub(l.PausedUntil))
			}
			got = append(got, s)
		}
		want := []string{
			`/robots.txt every 1: delay`,
			`/ every 7: crawl-delay, no-match "" 0 of [ExampleBot] [1]`,
			`/cart/help every 7: crawl-delay, rule "Allow: /cart/help" 3 of [ExampleBot] [1]`,
			`/busy every 7: crawl-delay, no-match "" 0 of [ExampleBot] [1]`,
			`/busy every 7: crawl-delay, no-match "" 0 of [ExampleBot] [1], paused until 0s before`,
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("the request lines are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}

		refused := of(lines, "decision")
		if len(refused) != 1 || refused[0].Decision.Allowed || refused[0].Decision.Rule != "Disallow: /cart" || refused[0].Decision.Line != 2 {
			t.Errorf("the decision lines are %+v, want one by the rule Disallow: /cart in line 2", refused)
		}
		answers, pauses := of(lines, "answer"), of(lines, "pause")
		if len(answers) != 1 || answers[0].Status != 429 || answers[0].RetryAfter != "40" || answers[0].Asks != 40 {
			t.Errorf("the answer lines are %+v, want one with status 429 and a Retry-After of 40", answers)
		}
		if len(pauses) != 1 || pauses[0].Until.Sub(pauses[0].Time).Round(time.Millisecond) != 40*time.Second {
			t.Errorf("the pause lines are %+v, want one of 40 s", pauses)
		}
		if n := len(of(lines, "done")); n != len(want) {
			t.Errorf("there are %d done lines, want %d", n, len(want))
		}
		if fetched := of(lines, "robots"); len(fetched) != 1 || fetched[0].From != "fetch" {
			t.Errorf("the robots lines are %+v, want one from a fetch", fetched)
		}
		if last := lines[len(lines)-1]; last.Event != "close" || fmt.Sprint(last.N, ":", last.Hash) != rec.Head() {
			t.Errorf("the last line is %+v, want a close line with the number and hash of Head, %s", last, rec.Head())
		}
	})
}

// The record contains each robots.txt once and byte for byte, even if two
// origins serve the same file.
func TestARobotsTxtIsRecordedOnceAndExactly(t *testing.T) {
	dir := t.TempDir()
	rec := mustOpen(t, dir, Options{})
	texts := map[string]string{
		"a": "User-agent: *\nDisallow: /ツ\n\u2028<&>\"\\\n",
		"b": "User-agent: *\nDisallow: /ツ\n\u2028<&>\"\\\n",
		"c": "\xff\xfe\x00U\x00",
		"d": strings.Repeat("\x01\x02", 1000),
		"e": "",
		"f": "User-agent: *\r\nDisallow: /\t# tab, \x7f and \x0b\r\n",
		"g": strings.Repeat(
			"Disallow: /0123456789\n",
			30_000,
		), // the crawler reads only 512,001 bytes of this
	}
	var web robotstest.Internet
	for host, text := range texts {
		web.Handle(host+".example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, text) }))
	}
	client := crawler(t, rec, &web, func(o *robotsmw.Options) { o.Limiter = &politeness.Limiter{Delay: -1} })
	for host := range texts {
		get(t, client, "http://"+host+".example/page")
	}
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	files := make(map[string]int)
	for _, l := range of(mustRead(t, dir), "file") {
		text := l.Text
		if l.Base64 != "" {
			b, _ := base64.StdEncoding.DecodeString(l.Base64)
			text = string(b)
		}
		files[text]++
	}
	for host, text := range texts {
		if text = text[:min(len(text), 512_001)]; files[text] != 1 {
			t.Errorf("the record contains the robots.txt of %s %d times, want once", host, files[text])
		}
	}
	if len(files) != len(texts)-1 {
		t.Errorf("the record contains %d different files, want %d", len(files), len(texts)-1)
	}
}

// The WARC file has metadata records about the crawler, its Limiter, each
// request for a robots.txt, the state of that robots.txt, and each response
// that paused a host. It has no metadata records about requests for pages.
func TestTheWARCFileTellsWhatWasKeptTo(t *testing.T) {
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		rec := mustOpen(t, dir, Options{})
		var web robotstest.Internet
		web.Handle("a.example", robotstest.Site{"/robots.txt": "User-agent: *\n", "/busy": "", "/1": "", "/2": ""})
		client := crawler(t, rec, base(func(r *http.Request) (*http.Response, error) {
			resp, err := web.RoundTrip(r)
			if err == nil && r.URL.Path == "/busy" {
				resp.StatusCode = http.StatusTooManyRequests
			}
			return resp, err
		}))
		for _, path := range []string{"/1", "/busy", "/2"} {
			get(t, client, "http://a.example"+path)
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	})
	packed, err := os.ReadFile(filepath.Join(dir, chain.WARCName(1)))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for record := range strings.SplitSeq(string(text), "WARC/1.1\r\n") {
		head, block, _ := strings.Cut(record, "\r\n\r\n")
		if !strings.HasPrefix(head, "WARC-Type: metadata\r\n") {
			continue
		}
		var line struct{ Event string }
		if err := json.Unmarshal([]byte(strings.TrimSpace(block)), &line); err != nil {
			t.Errorf("the block %q of a metadata record is not JSON (%v), want a line of the segment", block, err)
		}
		_, about, _ := strings.Cut(head, "WARC-Target-URI: ")
		about, _, _ = strings.Cut(about, "\r\n")
		got = append(got, strings.TrimSpace(line.Event+" "+about))
	}
	robots := " http://a.example/robots.txt"
	if want := []string{"robot", "limiter", "request" + robots, "robots" + robots, "answer", "pause"}; !slices.Equal(got, want) {
		t.Errorf("the metadata records are %q, want %q", got, want)
	}
}

// The header in the WARC file keeps Content-Encoding if the body still has that
// coding. If the body is decoded, the field is renamed. The fetcher of
// robots.txt decodes the body of a 200 and of a 404, but not that of a redirect
// or of a response that makes the robots.txt unreachable.
func TestNewExchange_ContentEncoding(t *testing.T) {
	for status, decoded := range map[int]bool{200: true, 302: false, 404: true, 429: false, 430: false, 503: false} {
		x := newExchange(&http.Response{
			StatusCode:    status,
			ContentLength: 9,
			Header:        http.Header{"Content-Encoding": {"gzip"}},
			Request:       httptest.NewRequest("GET", "http://a.example/robots.txt", nil),
		}, []byte("a body"), nil, time.Now())
		if got := !bytes.Contains(x.header, []byte("\nContent-Encoding: gzip\r\n")); got != decoded {
			t.Errorf("status %d: Content-Encoding renamed: %t, want %t:\n%s", status, got, decoded, x.header)
		}
		if got := x.truncated == ""; got != decoded { // ContentLength shows a truncation only if the body is not decoded
			t.Errorf("status %d: truncated is %q, want empty: %t", status, x.truncated, decoded)
		}
	}
}

// If a body was not read to its end, the record of its response has a
// WARC-Truncated (WARC 1.1: "When a 'response' is known to have been truncated,
// this shall be noted using the WARC-Truncated field"). Some of the responses
// are chunked, because most bodies of errors are chunked and have no
// Content-Length.
func TestTheWARCFileSaysWhatIsTruncated(t *testing.T) {
	answers := []struct {
		name    string
		status  int
		chunked bool
		coding  string
		length  int
		want    string // WARC-Truncated
		bytes   int    // the length of the body in the record
	}{
		{"short", 200, false, "", 100, "", 100},
		{"short-chunked", 200, true, "", 100, "", 100},
		{"long", 200, false, "", 600 << 10, "length", 500<<10 + 1},
		{"long-chunked", 200, true, "", 600 << 10, "length", 500<<10 + 1},
		{"moved", 302, false, "", 100, "", 100},
		{"moved-long", 302, false, "", 3 << 10, "length", 0},
		{"moved-chunked", 302, true, "", 100, "unspecified", 0},
		{"moved-empty", 302, false, "", 0, "", 0},
		{"missing", 404, false, "", 100, "", 100},
		{"missing-chunked", 404, true, "", 100, "", 100},
		{"missing-long", 404, false, "", 20 << 10, "length", 16 << 10},
		{"missing-window", 404, false, "", 16 << 10, "", 16 << 10},
		{"missing-long-chunked", 404, true, "", 20 << 10, "length", 16 << 10},
		{"missing-long-coded", 404, false, "gzip", 20 << 10, "length", 16 << 10},
		{"missing-coded", 404, true, "gzip", 100, "", 100},
		{"busy", 429, false, "", 100, "", 100},
		{"busy-chunked", 429, true, "", 100, "unspecified", 0},
		{"down-chunked", 503, true, "", 100, "unspecified", 0},
		{"down-coded", 503, true, "gzip", 100, "unspecified", 0},
	}
	dir := t.TempDir()
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		for _, a := range answers {
			web.Handle(a.name+".example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				body := bytes.Repeat([]byte("#"), a.length)
				if a.coding != "" {
					var b bytes.Buffer
					z := gzip.NewWriter(&b)
					z.Write(body)
					z.Close()
					body = b.Bytes()
					w.Header().Set("Content-Encoding", a.coding)
				}
				if !a.chunked {
					w.Header().Set("Content-Length", fmt.Sprint(len(body)))
				}
				w.WriteHeader(a.status)
				w.(http.Flusher).Flush()
				w.Write(body)
			}))
		}
		rec := mustOpen(t, dir, Options{})
		client := crawler(t, rec, &web, func(o *robotsmw.Options) { o.Limiter = &politeness.Limiter{Delay: -1} })
		for _, a := range answers {
			if resp, err := client.Get("http://" + a.name + ".example/page"); err == nil {
				resp.Body.Close()
			}
		}
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
	})
	packed, err := os.ReadFile(filepath.Join(dir, chain.WARCName(1)))
	if err != nil {
		t.Fatal(err)
	}
	z, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	found := make(map[string]string)
	for record := range strings.SplitSeq(string(text), "WARC/1.1\r\n") {
		head, block, _ := strings.Cut(record, "\r\n\r\n")
		if !strings.HasPrefix(head, "WARC-Type: response\r\n") {
			continue
		}
		field := func(name string) string {
			_, value, _ := strings.Cut(head, "\r\n"+name+": ")
			value, _, _ = strings.Cut(value, "\r\n")
			return value
		}
		_, body, _ := strings.Cut(strings.TrimSuffix(block, "\r\n\r\n"), "\r\n\r\n")
		found[field("WARC-Target-URI")] = fmt.Sprintf(
			"%q, %d bytes",
			field("WARC-Truncated"),
			len(body),
		)
	}
	for _, a := range answers {
		if got, want := found["http://"+a.name+".example/robots.txt"], fmt.Sprintf("%q, %d bytes", a.want, a.bytes); got != want {
			t.Errorf("%s: WARC-Truncated and the length of the body are %s, want %s", a.name, got, want)
		}
	}
}

// If a robots.txt is loaded from the Store, because an earlier process fetched
// it, the record contains the text of the file, and shows that it is from the
// Store.
func TestARobotsTxtOfTheStoreIsRecorded(t *testing.T) {
	dir := t.TempDir()
	var web robotstest.Internet
	web.Handle("a.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private\n", "/": "page"})
	store := make(mapStore)
	with := func(o *robotsmw.Options) {
		o.Store, o.Limiter = store, &politeness.Limiter{Delay: -1}
		o.Override = map[string]string{"http://mine.example": "User-agent: *\nDisallow: /x\n"}
	}
	for range 2 {
		rec := mustOpen(t, dir, Options{})
		client := crawler(t, rec, &web, with)
		get(t, client, "http://a.example/")
		get(t, client, "http://mine.example/x")
		if err := rec.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(10 * time.Millisecond) // until the robots.txt has been stored, which happens after the response
	}
	var from []string
	for _, l := range of(mustRead(t, dir), "robots") { // mustRead checks that the record has the text of the robots.txt
		from = append(from, l.From)
	}
	if fmt.Sprint(from) != "[fetch store]" {
		t.Errorf("the robots lines are from %v, want [fetch store]", from)
	}
}

// A reader can detect a flipped bit in any byte of a segment or of its WARC
// file.
func TestAnyFlippedByteIsNoticed(t *testing.T) {
	dir := t.TempDir()
	var web robotstest.Internet
	web.Handle("a.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /private\n", "/": "page"})
	rec := mustOpen(t, dir, Options{})
	get(t, crawler(t, rec, &web, func(o *robotsmw.Options) { o.Limiter = &politeness.Limiter{Delay: -1} }), "http://a.example/")
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	whole := len(mustRead(t, dir))
	for _, name := range []string{chain.LinesName(1), chain.WARCName(1)} {
		path := filepath.Join(dir, name)
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		step := 1
		if testmain.RaceEnabled {
			step = 11
		}
		for i := 0; i < len(text); i += step {
			bit := byte(1) << (i % 8)
			text[i] ^= bit
			if err := os.WriteFile(path, text, 0o600); err != nil {
				t.Fatal(err)
			}
			if lines, tail, err := readRecord(dir); err == nil && tail == 0 && len(lines) == whole {
				t.Fatalf("reading the record does not detect the change of byte %d of %s, want an error or fewer lines", i, name)
			}
			text[i] ^= bit
		}
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	mustRead(t, dir)
}

// Open and Observe return an error if two processes or two crawlers would share
// the record, if no request could be recorded, or if the options are invalid.
func TestOpenAndObserveRefuse(t *testing.T) {
	dir := t.TempDir()
	rec := mustOpen(t, dir, Options{})
	defer rec.Close()
	tests := []struct {
		name string
		err  func() error
		want string
	}{
		{
			name: "another process",
			err:  func() error { _, err := Open(dir, Options{}); return err },
			want: "use a directory for each process",
		},
		{
			name: "a size below zero",
			err: func() error {
				_, err := Open(t.TempDir(), Options{
					SegmentBytes: -1,
				})
				return err
			},
			want: "set a size in bytes",
		},
		{
			name: "a file in place of the directory",
			err:  func() error { _, err := Open(filepath.Join(dir, "lock"), Options{}); return err },
			want: "cannot create the directory",
		},
		{
			name: "no Limiter",
			err:  func() error { return rec.Observe(&robotsmw.Options{UserAgent: agent}) },
			want: "call Pace",
		},
		{"an invalid Limiter", func() error {
			opts := robotsmw.Options{UserAgent: agent, Limiter: &politeness.Limiter{Jitter: -1}}
			err := rec.Observe(&opts)
			if opts.Observer != nil || opts.Limiter.Observer != nil {
				t.Error("Observe added observers although it failed, want none")
			}
			return err
		}, "Limiter.Jitter is -1"},
		{
			name: "no User-Agent",
			err:  func() error { return rec.Observe(&robotsmw.Options{Limiter: new(politeness.Limiter)}) },
			want: "UserAgent is empty",
		},
		{"another crawler", func() error {
			if err := rec.Observe(&robotsmw.Options{UserAgent: agent, Limiter: new(politeness.Limiter)}); err != nil {
				t.Fatal(err)
			}
			return rec.Observe(&robotsmw.Options{UserAgent: "OtherBot/1.0", Limiter: new(politeness.Limiter)})
		}, "another crawler"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if err := tt.err(); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("the call returns the error %v, want one that contains %q", err, tt.want)
			}
		})
	}
}

// A request is recorded once, even if Pace is called twice for its Limiter.
// This happens if a client and a checker share a Limiter.
func TestPaceTwice(t *testing.T) {
	dir := t.TempDir()
	rec := mustOpen(t, dir, Options{})
	var web robotstest.Internet
	web.Handle("a.example", robotstest.Site{"/": "page"})
	limiter := &politeness.Limiter{Delay: -1}
	rec.Pace(limiter)
	client := crawler(t, rec, &web, func(o *robotsmw.Options) { o.Limiter = limiter })
	get(t, client, "http://a.example/")
	if err := rec.Close(); err != nil {
		t.Fatal(err)
	}
	if err := rec.Close(); err != nil {
		t.Errorf("the second Close returns the error %v, want nil", err)
	}
	get(t, client, "http://a.example/late") // after Close, a request is not recorded and causes no panic
	if n := len(of(mustRead(t, dir), "request")); n != 2 {
		t.Errorf("there are %d request lines, want 2", n)
	}
}

func lines(text []byte) iter.Seq[[]byte] { return bytes.Lines(text) }

func eventOf(line []byte) string {
	var v recordLine
	json.Unmarshal(line, &v)
	return v.Event
}
