package robotsmw

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// An auditedSite is a kind of origin. allowed reports which paths its
// robots.txt allows. allowed is written by hand, so that the test does not
// depend on a parser.
type auditedSite struct {
	kind    string
	robots  http.Handler
	allowed func(path string) bool
	fetches int // how many times the crawl fetches robots.txt; -1 means at least once
}

func everything(string) bool { return true }
func nothing(string) bool    { return false }
func public(path string) bool {
	return !strings.HasPrefix(path, "/private/") || strings.HasPrefix(path, "/private/but-open")
}

const auditRules = `User-agent: *
Disallow: /

User-agent: OtherBot
User-agent: examplebot/9
Crawl-delay: 0.1
Disallow: /private/
Allow: /private/but-open
Disallow: /*?print=1$
`

func auditedSites(web *robotstest.Internet) []auditedSite {
	good := robots(auditRules)
	web.Handle("rules.example", good)
	return []auditedSite{
		{"rules", good, public, 1},
		{"rules, CRLF and a BOM", robots("\ufeff" + strings.ReplaceAll(auditRules, "\n", "\r\n")), public, 1},
		{"rules, slowly", slowly(3*time.Second, good), public, 1},
		{"rules, compressed", encoded("gzip", gzipped(auditRules)), public, 1},
		{"rules, elsewhere on the host", redirectRobots("/static/robots.txt", good), public, 1},
		{"rules, of another host", status(301, "Location: http://rules.example/robots.txt"), public, 1},
		{"shut", robots(shutRules), nothing, 1},
		{"open", robots(""), everything, 1},
		{"404", status(404), everything, 1},
		{"403", status(403), everything, 1},
		{"redirect loop", status(302, "Location: /robots.txt"), everything, 1},
		{"503", status(503, "Retry-After: 86400"), nothing, 1},
		{"429", status(429, "Retry-After: 86400"), nothing, 1},
		{"reset", robotstest.Reset(""), nothing, -1},
		{"truncated", robotstest.Raw("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n" + auditRules), nothing, -1},
		{"tarpit", robotstest.Trickle{Chunk: "#", Every: time.Second}, nothing, -1},
		{"HTML", robots("<!doctype html><title>Not found</title>", "Content-Type: text/html"), everything, 1},
	}
}

func redirectRobots(to string, h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", http.RedirectHandler(to, http.StatusFound))
	mux.HandleFunc(to, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, auditRules) })
	return mux
}

// TestCrawlAuditedFromTheServersSide crawls 300 origins of the kinds above. The
// servers must receive every allowed request, no disallowed request, and no
// needless request for robots.txt.
func TestCrawlAuditedFromTheServersSide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		kinds := auditedSites(&web)
		sites := make(map[string]auditedSite)
		for i := range 300 {
			host := fmt.Sprintf("h%d.example", i)
			site := kinds[i%len(kinds)]
			sites[host] = site
			web.Handle(host, auditedPages(site.robots, fmt.Sprintf("http://h%d.example", (i+1)%300)))
		}
		shared := kinds[0]
		shared.fetches = -1 // the origins that redirect there fetch it for themselves
		sites["rules.example"] = shared
		web.Fail("gone.example", syscall.ECONNREFUSED)

		client := &http.Client{Transport: newTestTransport(t, &web)}
		paths := []string{"/", "/a", "/private/x", "/private/but-open/y", "/a?print=1", "/a?print=1&x", "/to-private",
			"/away-to-private", "/post"}
		var mu sync.Mutex
		refused := make(map[string]error) // the key is the URL of a request that failed, the value its error
		var wg sync.WaitGroup
		for host := range sites {
			if host == "rules.example" {
				continue
			}
			for range 3 { // three workers request the same pages
				wg.Go(func() {
					for _, path := range paths {
						method := http.MethodGet
						switch path {
						case "/post":
							method = http.MethodPost
						case "/a":
							method = http.MethodHead
						}
						req, _ := http.NewRequestWithContext(t.Context(), method, "http://"+host+path, nil)
						resp, err := client.Do(req)
						if err != nil {
							mu.Lock()
							refused[req.URL.String()] = err
							mu.Unlock()
							continue
						}
						io.Copy(io.Discard, resp.Body)
						resp.Body.Close()
					}
				})
			}
		}
		wg.Wait()

		asked := make(map[string]bool)
		robotsTxt := make(map[string]int)
		for _, r := range web.Log() {
			u := mustURL(t, r.URL)
			site, ok := sites[u.Host]
			if !ok {
				t.Errorf("%s was requested, but want only requests to this test's origins", r.URL)
				continue
			}
			if u.Path == "/robots.txt" {
				robotsTxt[u.Host]++
				continue
			}
			if u.Path == "/static/robots.txt" {
				continue
			}
			asked[r.URL] = true
			if path := u.RequestURI(); !isAllowed(site, path) {
				t.Errorf("the server received %s %s, want no such request, because robots.txt disallows it (%s)", r.Method, r.URL, site.kind)
			}
		}
		for host, site := range sites {
			if n := robotsTxt[host]; n != site.fetches && (site.fetches >= 0 || n == 0) {
				t.Errorf("%s (%s): robots.txt was fetched %d times, want %d (-1 means at least once)", host, site.kind,
					n, site.fetches)
			}
			for _, path := range paths {
				u := "http://" + host + path
				err := refused[u]
				if host == "rules.example" {
					continue
				}
				if isAllowed(site, path) {
					if !asked[u] {
						t.Errorf("%s was not requested (error %v), want a request, because robots.txt allows it (%s)", u, err, site.kind)
					}
				} else if !errors.Is(err, ErrDisallowed) && !errors.Is(err, ErrUnreachable) {
					t.Errorf("%s is disallowed (%s): got error %v, want ErrDisallowed or ErrUnreachable", u, site.kind,
						err)
				}
			}
		}
	})
}

func isAllowed(site auditedSite, path string) bool {
	if strings.HasSuffix(path, "?print=1") && site.allowed("/private/") != site.allowed("/") {
		return false // disallowed by the wildcard rule of auditRules
	}
	return site.allowed(path)
}

// auditedPages serves an origin: its robots.txt, its pages, and two redirects
// to private pages. One redirect stays on this origin. The other leads to the
// origin next.
func auditedPages(robots http.Handler, next string) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", robots)
	mux.Handle("/static/robots.txt", robots)
	mux.Handle("/to-private", http.RedirectHandler("/private/x", http.StatusMovedPermanently))
	mux.Handle("/away-to-private", http.RedirectHandler(next+"/private/x", http.StatusTemporaryRedirect))
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "a page") })
	return mux
}
