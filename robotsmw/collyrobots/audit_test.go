package collyrobots_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The audit crawls 500 origins of the kinds in kinds. Then it reads the log of
// the servers, which contains the crawler's requests. The expectations are
// written by hand from RFC 9309, and do not use the parser of this module.

type kind struct {
	name   string
	robots http.Handler
	// Paths with their queries. The front page links to all of them, and
	// crawlAll also visits all of them directly, except /shared.
	allowed, refused []string
	interval         time.Duration           // between pages; 0 means the Limiter's default, one second
	pages            map[string]http.Handler // paths that need a handler; the others serve a text
	behind           []string                // paths that must not be fetched; the front page does not link to them
	setUp            func(web *robotstest.Internet, host string)
}

func text(robots string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, robots) })
}

func html(body, robotsTag string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if robotsTag != "" {
			w.Header().Set("X-Robots-Tag", robotsTag)
		}
		io.WriteString(w, "<!doctype html>"+body)
	})
}

// hops returns a handler that redirects robots.txt n times and then serves
// the given text. The first redirect leads to another host.
func hops(n int, robots string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		at := 0
		fmt.Sscanf(r.URL.RawQuery, "hop=%d", &at)
		if at == n {
			io.WriteString(w, robots)
			return
		}
		next := r.Host
		if at%2 == 0 {
			next = "hop." + strings.TrimPrefix(next, "hop.")
		}
		http.Redirect(w, r, fmt.Sprintf("http://%s/robots.txt?hop=%d", next, at+1), http.StatusFound)
	})
}

// throttling returns a handler that responds to the first n requests to each
// host with the given status and "Retry-After: 90".
func throttling(status, n int) http.Handler {
	var mu sync.Mutex
	seen := map[string]int{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if seen[r.Host]++; seen[r.Host] <= n {
			w.Header().Set("Retry-After", "90")
			w.WriteHeader(status)
			return
		}
		io.WriteString(w, "<p>here you are")
	})
}

func kinds() []kind {
	all := []string{"/", "/a", "/b?c=d"}
	return []kind{
		{name: "own group beats *", robots: text("User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\nDisallow: /a\n"),
			allowed: []string{"/", "/b"}, refused: []string{"/a", "/abc"}},
		{name: "own groups merge", robots: text("User-agent: examplebot\nDisallow: /a\n\nUser-agent: *\nDisallow: /c\n\nUser-agent: EXAMPLEBOT/2.0\nDisallow: /b\n"),
			allowed: []string{"/", "/c"}, refused: []string{"/a", "/b"}},
		{name: "groups for * merge", robots: text("User-agent: *\nDisallow: /a\n\nUser-agent: other\nDisallow: /\n\nUser-agent: *\nDisallow: /b\n"),
			allowed: []string{"/", "/c"}, refused: []string{"/a", "/b"}},
		{name: "no group for us", robots: text("User-agent: other\nDisallow: /\n"), allowed: all},
		{name: "a group for a longer name", robots: text("User-agent: ExampleBot-News\nDisallow: /\n"), allowed: all},
		{name: "empty Disallow", robots: text("User-agent: *\nDisallow:\n"), allowed: all},
		{name: "own empty group", robots: text("User-agent: *\nDisallow: /\n\nUser-agent: ExampleBot\n"), allowed: all},
		{name: "wildcards", robots: text("User-agent: *\nDisallow: /*.php$\nDisallow: /*/private/\nDisallow: *.gif\n"),
			allowed: []string{"/", "/a.php5", "/x.php?y", "/private/x"}, refused: []string{"/a.php", "/b/a.php.php", "/b/private/x", "/i.gif?x"}},
		{name: "longest match, tie to Allow", robots: text("User-agent: *\nDisallow: /\nAllow: /p\nDisallow: /page\nAllow: /page\nAllow: /$\n"),
			allowed: []string{"/", "/p", "/page"}, refused: []string{"/x", "/y?p"}},
		{name: "a query in its own order", robots: text("User-agent: *\nDisallow: /q?b=1&a=2\nDisallow: /*?session\n"),
			allowed: []string{"/", "/q?a=2&b=1"}, refused: []string{"/q?b=1&a=2", "/x?session=1"}},
		{name: "percent-encoding", robots: text("User-agent: *\nDisallow: /%7ejoe\nDisallow: /a%2fb\nDisallow: /ツ\nDisallow: /bl%61ck\n"),
			allowed: []string{"/", "/a/b"}, refused: []string{"/~joe", "/a%2Fb", "/%E3%83%84", "/black"}},
		{name: "index.html opens nothing else", robots: text("User-agent: *\nDisallow: /d\nAllow: /d/index.html\n"),
			allowed: []string{"/", "/d/index.html"}, refused: []string{"/d/", "/d/x"}},
		{name: "misspelled", robots: text("useragent: *\ndisalow: /a\nDisallow /b\nallow-from: /c\ndisallow: /c\n"),
			allowed: []string{"/"}, refused: []string{"/a", "/b", "/c"}},
		{name: "a rule without a slash", robots: text("User-agent: *\nDisallow: a\nDisallow: b\n"), allowed: all},
		{name: "other lines between user agents", robots: text("User-agent: other\nCrawl-delay: 9\nSitemap: http://x/\nUser-agent: *\nCrawl-delay: 3\nDisallow: /a\n"),
			allowed: []string{"/", "/b"}, refused: []string{"/a"}, interval: 3 * time.Second},
		{name: "rules before any group", robots: text("Disallow: /\nUser-agent: other\nDisallow: /\n"), allowed: all},
		{name: "BOM and CR", robots: text("\xef\xbb\xbfUser-agent: *\rDisallow: /a\r"),
			allowed: []string{"/"}, refused: []string{"/a"}},
		{name: "a page for a file", robots: html("<title>404</title><p>Disallow: no such page", ""), allowed: all},
		{name: "binary", robots: text("\x00\x01\x02\xff\xfe\nUser-agent: *\nDisallow: /a\x00\n"),
			allowed: []string{"/"}, refused: []string{"/a"}},
		{name: "beyond 500 KiB", robots: text("User-agent: *\nDisallow: /a\n" + strings.Repeat("# "+strings.Repeat("x", 97)+"\n", 5200) + "Disallow: /b\n"),
			allowed: []string{"/", "/b"}, refused: []string{"/a"}},
		{name: "not found", robots: robotstest.Status(404), allowed: all},
		{name: "gone", robots: robotstest.Status(410), allowed: all},
		{name: "forbidden", robots: robotstest.Status(403), allowed: all},
		{name: "server error", robots: robotstest.Status(500), refused: all},
		{name: "unavailable", robots: robotstest.Status(503), refused: all},
		{name: "too many requests", robots: robotstest.Status(429), refused: all},
		{name: "reset", robots: robotstest.Reset(""), refused: all},
		{name: "truncated", robots: robotstest.Raw("HTTP/1.1 200 OK\r\nContent-Length: 900\r\n\r\nUser-agent: *\nDisallow: /a\n"), refused: all},
		{name: "hangs", robots: robotstest.Hang{}, refused: all},
		{name: "connection refused", refused: all,
			setUp: func(web *robotstest.Internet, host string) { web.Fail(host, syscall.ECONNREFUSED) }},
		{name: "five redirects", robots: hops(5, "User-agent: *\nDisallow: /a\n"),
			allowed: []string{"/", "/b"}, refused: []string{"/a"}},
		{name: "six redirects", robots: hops(6, "User-agent: *\nDisallow: /\n"), allowed: all},
		{name: "a redirect loop", robots: http.RedirectHandler("/robots.txt", http.StatusFound), allowed: all},
		{name: "Crawl-delay", robots: text("User-agent: *\nCrawl-delay: 5.5\nDisallow: /a\n"),
			allowed: []string{"/", "/1", "/2", "/3", "/4"}, refused: []string{"/a"}, interval: 5500 * time.Millisecond},
		{name: "a redirect into what is forbidden", robots: text("User-agent: *\nDisallow: /secret\n"),
			allowed: []string{"/", "/go", "/far"}, behind: []string{"/secret/1", "/secret/2"},
			pages: map[string]http.Handler{
				"/go": http.RedirectHandler("/hop", http.StatusFound), "/hop": http.RedirectHandler("/secret/1", http.StatusFound),
				"/far": http.RedirectHandler("/secret/2", http.StatusMovedPermanently),
			}},
		{name: "nofollow", robots: text(""), allowed: []string{"/", "/meta", "/header", "/open", "/shared"},
			behind: []string{"/behind-meta", "/behind-header"},
			pages: map[string]http.Handler{
				"/meta":   html("<meta name=robots content=nofollow><a href=/behind-meta>x</a><a href=/shared>y</a>", ""),
				"/header": html("<a href=/behind-header>x</a>", "nofollow"),
				"/open":   html("<a href=/shared>y</a>", "otherbot: none"),
			}},
		{name: "429 now and then", robots: text(""), allowed: []string{"/", "/busy", "/calm"},
			pages: map[string]http.Handler{"/busy": throttling(429, 2)}},
		{name: "503 now and then", robots: text(""), allowed: []string{"/", "/busy", "/calm"},
			pages: map[string]http.Handler{"/busy": throttling(503, 1)}},
	}
}

type site struct {
	kind
	origin string // "http://k03-1.example"
}

func (s *site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch page := s.pages[r.URL.Path]; {
	case r.URL.Path == "/robots.txt":
		s.robots.ServeHTTP(w, r)
	case page != nil:
		page.ServeHTTP(w, r)
	case r.URL.Path == "/":
		var body bytes.Buffer
		for _, target := range slices.Concat(s.allowed, s.refused) {
			fmt.Fprintf(&body, "<a href=%q>x</a>\n", target)
		}
		html(body.String(), "").ServeHTTP(w, r)
	default:
		io.WriteString(w, "<p>text")
	}
}

// world returns n origins. A third of them use https, and some of the others
// use port 8080.
func world(n int) (*robotstest.Internet, []*site) {
	web := new(robotstest.Internet)
	var sites []*site
	kinds := kinds()
	for i := range n {
		k := kinds[i%len(kinds)]
		host := fmt.Sprintf("k%02d-%d.example", i%len(kinds), i/len(kinds))
		name := "http://" + host
		switch {
		case k.name == "five redirects" || k.name == "six redirects": // the handlers of these kinds redirect to http
		case i%3 == 0:
			name = "https://" + host
		case i%5 == 0:
			name = "http://" + host + ":8080"
		}
		s := &site{kind: k, origin: name}
		web.Handle(name, s)
		if strings.HasSuffix(k.name, "redirects") {
			web.Handle("hop."+host, k.robots)
		}
		if k.setUp != nil {
			k.setUp(web, name)
		}
		sites = append(sites, s)
	}
	return web, sites
}

func crawlAll(c *colly.Collector, sites []*site) {
	c.OnHTML("a[href]", follow)
	for _, s := range sites {
		c.Visit(s.origin + "/")
		for _, page := range slices.Concat(s.allowed, s.refused) {
			if page != "/shared" { // only links lead to /shared
				c.Visit(s.origin + page)
			}
		}
	}
	c.Wait()
}

type findings struct {
	requests int // requests for pages
	refused  int // requests for pages that robots.txt or nofollow forbids
	missed   int // allowed pages that were not fetched
	early    int // requests that were sent sooner than the host's interval allows
	ignored  int // requests that were sent before the end of a Retry-After
	robots   int // origins of which robots.txt was fetched more than once
	first    []string
}

func (f *findings) note(count *int, format string, args ...any) {
	if *count++; *count <= 3 {
		f.first = append(f.first, fmt.Sprintf(format, args...))
	}
}

func audit(web *robotstest.Internet, sites []*site) findings {
	var f findings
	log := map[string][]robotstest.Request{} // by origin
	for _, r := range web.Log() {
		scheme, rest, _ := strings.Cut(r.URL, "://")
		host, _, _ := strings.Cut(rest, "/")
		log[scheme+"://"+host] = append(log[scheme+"://"+host], r)
	}
	for _, s := range sites {
		interval := max(s.interval, time.Second)
		fetched := map[string]bool{}
		robots := 0
		var start, last, retryAfter time.Time
		for _, r := range log[s.origin] {
			target := strings.TrimPrefix(r.URL, s.origin)
			if gap := r.Time.Sub(start); !start.IsZero() && gap < time.Second { // the interval applies to robots.txt too
				f.note(&f.early, "%s: %s was requested after %v, want at least 1s", s.name, r.URL, gap)
			}
			start = r.Time
			if target == "/robots.txt" {
				robots++
				continue
			}
			if strings.HasPrefix(target, "/robots.txt?hop=") {
				continue
			}
			f.requests++
			if slices.Contains(s.refused, target) || slices.Contains(s.behind, target) {
				f.note(&f.refused, "%s: %s was requested, although it is disallowed", s.name, r.URL)
			}
			if gap := r.Time.Sub(last); !last.IsZero() && gap < interval && gap >= time.Second {
				f.note(&f.early, "%s: %s was requested after %v, want at least %v", s.name, r.URL, gap, interval)
			}
			if r.Time.Before(retryAfter) {
				f.note(&f.ignored, "%s: %s was requested %v before the end of Retry-After", s.name, r.URL, retryAfter.Sub(r.Time))
			}
			last = r.Time
			fetched[target] = fetched[target] || r.Err == nil && r.Status < 400
			if r.Status == 429 || r.Status == 503 {
				retryAfter = r.Time.Add(90 * time.Second)
			}
		}
		for _, page := range s.allowed {
			if !fetched[page] {
				f.note(&f.missed, "%s: %s was not fetched, although it is allowed", s.name, s.origin+page)
			}
		}
		if s.name != "a redirect loop" && robots > 1 {
			f.note(&f.robots, "%s: %s: robots.txt was fetched %d times, want once", s.name, s.origin, robots)
		}
	}
	return f
}

func TestAuditOf500Origins(t *testing.T) {
	t.Parallel()
	const origins = 500
	synctest.Test(t, func(t *testing.T) {
		web, sites := world(origins)
		c := plain(web, colly.Async())
		crawlAll(c, sites)
		f := audit(web, sites)
		t.Logf("plain colly, IgnoreRobotsTxt=false, %d origins: %d requests for pages, of which %d were disallowed; %d allowed pages were not fetched; "+
			"%d requests were too early; %d were before the end of Retry-After; robots.txt was fetched more than once from %d origins",
			origins, f.requests, f.refused, f.missed, f.early, f.ignored, f.robots)
		if f.refused == 0 || f.missed == 0 || f.early == 0 || f.ignored == 0 || f.robots == 0 {
			t.Errorf("plain colly: got %+v, want violations of each kind"+collyChanged, f)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		web, sites := world(origins)
		c := colly.NewCollector(colly.Async())
		ext := attach(t, c, robotsmw.Options{UserAgent: agent, Base: web})
		ext.RetryThrottled = 3
		start := time.Now()
		crawlAll(c, sites)
		f := audit(web, sites)
		t.Logf("attached, %d origins in %v: %d requests for pages; %v", origins, time.Since(start), f.requests, ext.Counts())
		f.requests = 0
		if first := f.first; f.refused+f.missed+f.early+f.ignored+f.robots > 0 {
			t.Errorf("attached: got %+v, want no violations\n%s", f, strings.Join(first, "\n"))
		}
	})
}
