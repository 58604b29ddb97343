package integration

import (
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/extensions"
	collyproxy "github.com/gocolly/colly/v2/proxy"
	"github.com/gocolly/colly/v2/queue"
	"github.com/gocolly/colly/v2/storage"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
)

// A collySite is an HTTP server that logs its requests. Its pages link to each
// other, to allowed and disallowed URLs, and to URLs that redirect to these.
type collySite struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int // how often each path was requested
	busy  bool           // whether every third page answers its first request with 503
}

const collyPages = 40

func newCollySite(t *testing.T) *collySite {
	s := &collySite{asked: make(map[string]int)}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *collySite) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	path := r.URL.Path
	if path == "/robots.txt" {
		io.WriteString(w, "User-agent: *\nDisallow: /private/\nAllow: /private/open\nDisallow: /*.pdf$\n")
		return
	}
	s.mu.Lock()
	s.asked[path]++
	first := s.asked[path] == 1
	s.mu.Unlock()
	var n int
	switch _, err := fmt.Sscanf(path, "/page/%d", &n); {
	case strings.HasPrefix(path, "/go/"):
		http.Redirect(w, r, strings.TrimPrefix(path, "/go"), http.StatusFound)
		return
	case err == nil && s.busy && n%3 == 0 && first:
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.Header().Set("Content-Type", "text/html")
	if path != "/" && !strings.HasPrefix(path, "/page/") {
		io.WriteString(w, "<p>a leaf")
		return
	}
	for _, next := range []int{2*n + 1, 2*n + 2} {
		if next < collyPages {
			fmt.Fprintf(w, "<a class=page href=/page/%d>page</a>\n", next)
		}
	}
	for _, leaf := range []string{"/private/%d", "/doc/%d.pdf", "/private/open/%d", "/go/private/%d", "/go/leaf/%d"} {
		fmt.Fprintf(w, "<a class=leaf href="+leaf+">leaf</a>\n", n)
	}
}

func collyAllowed(path string) bool {
	return strings.HasPrefix(path, "/private/open/") || !strings.HasPrefix(path, "/private/") && !strings.HasSuffix(path, ".pdf")
}

func (s *collySite) log() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	paths := make([]string, 0, len(s.asked))
	for path := range s.asked {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func forward(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		out := r.Clone(r.Context())
		out.RequestURI = ""
		resp, err := http.DefaultTransport.RoundTrip(out)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		defer resp.Body.Close()
		for name, lines := range resp.Header {
			w.Header()[name] = lines
		}
		w.WriteHeader(resp.StatusCode)
		io.Copy(w, resp.Body)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// collyShapes are typical colly crawlers. Each calls attach twice: with
// late=false before it sets up its collector, and with late=true just before it
// crawls.
var collyShapes = map[string]func(t *testing.T, sites []*collySite, attach func(c *colly.Collector, late bool)){
	"asynchronous, with proxies": func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		c := colly.NewCollector(colly.Async())
		attach(c, false)
		c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 4})
		rotate, err := collyproxy.RoundRobinProxySwitcher(forward(t), forward(t), forward(t))
		if err != nil {
			t.Fatal(err)
		}
		c.SetProxyFunc(rotate)
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		attach(c, true)
		for _, s := range sites {
			c.Visit(s.URL)
		}
		c.Wait()
	},
	"sub-collectors by domain": func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		list := colly.NewCollector(colly.Async())
		attach(list, false)
		list.OnHTML("a.page", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		details := make(map[string]*colly.Collector)
		for _, s := range sites {
			u, _ := url.Parse(s.URL)
			details[u.Host] = list.Clone()
			details[u.Host].SetRequestTimeout(5 * time.Second)
			details[u.Host].OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		}
		list.OnHTML("a.leaf", func(e *colly.HTMLElement) {
			details[e.Request.URL.Host].Visit(e.Request.AbsoluteURL(e.Attr("href")))
		})
		attach(list, true)
		for _, s := range sites {
			list.Visit(s.URL)
		}
		list.Wait()
		for _, d := range details {
			d.Wait()
		}
	},
	"header randomisers": func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		c := colly.NewCollector()
		attach(c, false)
		extensions.RandomUserAgent(c)
		extensions.Referer(c)
		c.OnRequest(func(r *colly.Request) {
			r.Headers.Set("Accept-Language", []string{"en", "de", "fr"}[rand.N(3)])
			r.Headers.Set("X-Requested-With", fmt.Sprint(rand.Int()))
		})
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		attach(c, true)
		for _, s := range sites {
			c.Visit(s.URL)
		}
	},
	"a queue with a storage": func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		c := colly.NewCollector()
		attach(c, false)
		if err := c.SetStorage(&storage.InMemoryStorage{}); err != nil {
			t.Fatal(err)
		}
		q, err := queue.New(4, &queue.InMemoryQueueStorage{MaxSize: 10_000})
		if err != nil {
			t.Fatal(err)
		}
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { q.AddURL(e.Request.AbsoluteURL(e.Attr("href"))) })
		attach(c, true)
		for _, s := range sites {
			q.AddURL(s.URL)
		}
		if err := q.Run(c); err != nil {
			t.Fatal(err)
		}
	},
	"an OnError that retries": func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		for _, s := range sites {
			s.busy = true
		}
		c := colly.NewCollector()
		attach(c, false)
		c.OnError(func(r *colly.Response, err error) { r.Request.Retry() })
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
		attach(c, true)
		for _, s := range sites {
			c.Visit(s.URL)
		}
	},
	"a cache directory": func(t *testing.T, sites []*collySite, attach func(*colly.Collector, bool)) {
		dir := t.TempDir()
		var pages [2]int
		for run := range pages {
			c := colly.NewCollector(colly.CacheDir(dir))
			attach(c, false)
			c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
			c.OnScraped(func(*colly.Response) { pages[run]++ })
			attach(c, true)
			for _, s := range sites {
				c.Visit(s.URL)
			}
		}
		if pages[0] != pages[1] {
			t.Errorf("the second run, which uses the cache, visited %d pages; want %d as in the first run", pages[1], pages[0])
		}
		for _, s := range sites {
			for path, n := range s.asked {
				if n != 1 && !strings.HasPrefix(path, "/go/private/") { // colly caches no redirect to a refused URL, so the second run requests it too
					t.Errorf("%s was requested %d times, want once because of the cache", path, n)
				}
			}
		}
	},
}

// With Courtesy attached, a crawler requests the same URLs as without it,
// except for disallowed ones. The sites' own logs show this.
func TestColly_ShapesOfCrawlers(t *testing.T) {
	t.Parallel()
	testmain.SkipIfOverloaded(t)
	for name, shape := range collyShapes {
		t.Run(name, func(t *testing.T) {
			var logs [3][]string // the logs of three crawls: plain, attached early, attached late
			var ran [3]*collyrobots.Extension
			for i, when := range []string{"plain", "early", "late"} {
				sites := []*collySite{newCollySite(t), newCollySite(t)}
				shape(t, sites, func(c *colly.Collector, late bool) {
					if when == "plain" || late != (when == "late") {
						return
					}
					ext, err := collyrobots.Attach(c, robotsmw.Options{
						UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
						Limiter:   &politeness.Limiter{Delay: -1, Concurrency: -1, BackOff: time.Millisecond},
						Logger:    slog.New(slog.DiscardHandler),
					})
					if err != nil {
						t.Fatal(err)
					}
					ran[i] = ext
				})
				for n, s := range sites {
					for _, path := range s.log() {
						logs[i] = append(logs[i], fmt.Sprint(n, path))
					}
				}
			}
			path := func(line string) string { return line[strings.IndexByte(line, '/'):] }
			want := slices.DeleteFunc(slices.Clone(logs[0]), func(line string) bool { return !collyAllowed(path(line)) })
			if len(want) == len(logs[0]) || len(want) < collyPages {
				t.Fatalf("plain colly requested %d pages, of which %d are allowed; want at least %d allowed and some disallowed", len(logs[0]), len(want), collyPages)
			}
			for i, when := range []string{"plain", "early", "late"} {
				if when == "plain" {
					continue
				}
				for _, line := range logs[i] {
					if !collyAllowed(path(line)) {
						t.Errorf("attached %s: %s was requested, although robots.txt disallows it", when, line)
					}
				}
				for _, line := range want {
					if !slices.Contains(logs[i], line) {
						t.Errorf("attached %s: %s was not requested, want a request as by plain colly", when, line)
					}
				}
				if n := ran[i].Counts(); n.Lost != 0 || n.Disallowed == 0 {
					t.Errorf("attached %s: the Counts of the crawl are %v, want Lost 0 and Disallowed above 0", when, n)
				}
			}
		})
	}
}
