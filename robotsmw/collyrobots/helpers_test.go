package collyrobots_test

import (
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func TestMain(m *testing.M) {
	if duration, err := time.ParseDuration(os.Getenv(stressVariable)); err == nil {
		if err := stress(duration); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// In a synctest bubble, all timers share one context of the race detector.
	// If two processors run such timers at the same time, the race detector of
	// Go 1.26 crashes. Each body that is read has a timer.
	if testmain.RaceEnabled {
		runtime.GOMAXPROCS(1)
	}
	testmain.Quiet()
	goleak.VerifyTestMain(m)
}

const agent = "ExampleBot/1.0 (+https://example.com/bot)"

func unpaced() *politeness.Limiter { return &politeness.Limiter{Delay: -1, Concurrency: 100} }

// collyChanged ends a message about plain colly. Some tests first check what a
// collector without the extension does, and then what an attached one does.
const collyChanged = "; colly's behavior has changed, so this comparison can be removed"

// plain returns a collector without the extension, with colly's own check of
// robots.txt.
func plain(web *robotstest.Internet, options ...colly.CollectorOption) *colly.Collector {
	own := func(c *colly.Collector) { c.UserAgent, c.IgnoreRobotsTxt = agent, false }
	c := colly.NewCollector(slices.Insert(options, 0, own)...)
	c.WithTransport(web)
	return c
}

// polite returns an attached collector whose requests are not delayed.
func polite(t testing.TB, web *robotstest.Internet, options ...colly.CollectorOption) (*colly.Collector, *collyrobots.Extension) {
	t.Helper()
	c := colly.NewCollector(options...)
	return c, attachUnpaced(t, c, web)
}

func attachUnpaced(t testing.TB, c *colly.Collector, web *robotstest.Internet) *collyrobots.Extension {
	t.Helper()
	return attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Limiter: unpaced(), Logger: slog.New(slog.DiscardHandler)})
}

func attach(t testing.TB, c *colly.Collector, opts robotsmw.Options) *collyrobots.Extension {
	t.Helper()
	ext, err := collyrobots.Attach(c, opts)
	if err != nil {
		t.Fatal(err)
	}
	return ext
}

// asked returns the requests that the servers received, except those for
// robots.txt, in order and in the form "METHOD URL".
func asked(web *robotstest.Internet) []string {
	var list []string
	for _, r := range web.Log() {
		if !strings.HasSuffix(r.URL, "/robots.txt") {
			list = append(list, r.Method+" "+r.URL)
		}
	}
	return list
}

func wantAsked(t *testing.T, web *robotstest.Internet, want ...string) {
	t.Helper()
	if got := asked(web); !slices.Equal(got, want) {
		t.Errorf("the servers received the requests\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

// notes collects lines from callbacks that may run at the same time.
type notes struct {
	mu   sync.Mutex
	list []string
}

func (n *notes) add(line string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.list = append(n.list, line)
}

func (n *notes) sorted() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(slices.Values(n.list))
}

// newProxy starts an HTTP proxy that leads to a fake network, and returns the
// URL of the proxy.
func newProxy(t testing.TB, web *robotstest.Internet) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		resp, err := web.RoundTrip(out)
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		defer resp.Body.Close()
		maps.Copy(w.Header(), resp.Header)
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// withRobotsAnd returns a site without a robots.txt. For all other paths, it
// responds with the given header and body.
func withRobotsAnd(header map[string]string, body string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", http.NotFoundHandler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		for name, value := range header {
			w.Header().Set(name, value)
			if value == "" {
				w.Header()[name] = nil // so that net/http does not add a Content-Type
			}
		}
		io.WriteString(w, body)
	})
	return mux
}

func robotsFetches(web *robotstest.Internet) (n int) {
	for _, r := range web.Log() {
		if strings.HasSuffix(r.URL, "/robots.txt") {
			n++
		}
	}
	return n
}

// withRobots returns a site that serves /robots.txt with the given handler, and
// a small page at all other paths.
func withRobots(robots http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<p>"+r.URL.Path) })
	mux.Handle("/robots.txt", robots)
	return mux
}

// redirectTo returns a site that redirects all paths except /robots.txt, which
// does not exist.
func redirectTo(target string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", http.RedirectHandler(target, http.StatusFound))
	mux.Handle("/robots.txt", http.NotFoundHandler())
	return mux
}

func robotsText(text string) http.Handler { return withRobots(robotstest.Site{"/robots.txt": text}) }

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

// wantPace checks that the requests for the pages of a host are at least the
// given interval apart.
func wantPace(t *testing.T, web *robotstest.Internet, host string, interval time.Duration) {
	t.Helper()
	var last time.Time
	for _, r := range web.Log() {
		if r.Host != host || strings.HasSuffix(r.URL, "/robots.txt") {
			continue
		}
		if gap := r.Time.Sub(last); !last.IsZero() && gap < interval {
			t.Errorf("%s was requested %v after the page before it, want at least %v", r.URL, gap, interval)
		}
		last = r.Time
	}
}
