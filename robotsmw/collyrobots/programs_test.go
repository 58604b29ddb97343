package collyrobots_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/debug"
	"github.com/gocolly/colly/v2/queue"

	"github.com/goodbots/courtesy/robotsmw"
)

// These programs are like colly's own examples, and use real sockets. With the
// extension, each must do the same as without it. If robots.txt disallows one
// path, only the output for that path may be missing.

type program struct {
	options func(site *url.URL) []colly.CollectorOption
	run     func(c *colly.Collector, site string, say func(format string, args ...any))
	without []string // lines that are missing when /private is disallowed
}

var programs = map[string]program{
	"basic": {
		options: func(site *url.URL) []colly.CollectorOption {
			return []colly.CollectorOption{colly.AllowedDomains(site.Hostname())}
		},
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.OnHTML("a[href]", func(e *colly.HTMLElement) {
				say("on %s: %q %s", e.Request.URL.Path, e.Text, e.Attr("href"))
				c.Visit(e.Request.AbsoluteURL(e.Attr("href")))
			})
			c.OnResponse(func(r *colly.Response) { say("visited %s", r.Request.URL.Path) })
			c.Visit(site + "/")
		},
		without: []string{"visited /private", `on /private: "back" /`},
	},
	"queue": {
		options: func(*url.URL) []colly.CollectorOption { return []colly.CollectorOption{colly.AllowURLRevisit()} },
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			q, err := queue.New(2, &queue.InMemoryQueueStorage{MaxSize: 10000})
			if err != nil {
				say("%v", err)
				return
			}
			c.OnRequest(func(r *colly.Request) {
				if n := r.URL.Query().Get("n"); n != "" {
					if more, err := r.New("GET", site+"/private?x="+n, nil); err == nil {
						q.AddRequest(more)
					}
				}
			})
			c.OnResponse(func(r *colly.Response) { say("visited %s", r.Request.URL.RequestURI()) })
			for i := range 5 {
				q.AddURL(fmt.Sprintf("%s/?n=%d", site, i))
			}
			q.Run(c)
		},
		without: []string{"visited /private?x=0", "visited /private?x=1", "visited /private?x=2", "visited /private?x=3", "visited /private?x=4"},
	},
	"parallel": {
		options: func(*url.URL) []colly.CollectorOption {
			return []colly.CollectorOption{colly.MaxDepth(2), colly.Async()}
		},
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.Limit(&colly.LimitRule{DomainGlob: "*", Parallelism: 2})
			c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
			c.OnResponse(func(r *colly.Response) { say("visited %s at depth %d", r.Request.URL.Path, r.Request.Depth) })
			c.Visit(site + "/")
			c.Wait()
		},
		without: []string{"visited /private at depth 2"},
	},
	"rate_limit": {
		options: func(*url.URL) []colly.CollectorOption {
			return []colly.CollectorOption{colly.Async(), colly.Debugger(&debug.LogDebugger{Output: io.Discard})}
		},
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.Limit(&colly.LimitRule{DomainGlob: "*127.0.*", Parallelism: 2})
			c.OnResponse(func(r *colly.Response) { say("visited %s", r.Request.URL.RequestURI()) })
			for i := range 5 {
				c.Visit(fmt.Sprintf("%s/private?n=%d", site, i))
			}
			c.Wait()
		},
		without: []string{"visited /private?n=0", "visited /private?n=1", "visited /private?n=2", "visited /private?n=3", "visited /private?n=4"},
	},
	"request_context": {
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.OnRequest(func(r *colly.Request) { r.Ctx.Put("url", r.URL.Path) })
			c.OnResponse(func(r *colly.Response) { say("context of %s", r.Ctx.Get("url")) })
			c.Visit(site + "/")
			c.Visit(site + "/private")
		},
		without: []string{"context of /private"},
	},
	"max_depth": {
		options: func(*url.URL) []colly.CollectorOption { return []colly.CollectorOption{colly.MaxDepth(1)} },
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.OnHTML("a[href]", func(e *colly.HTMLElement) {
				say("link %s: %v", e.Attr("href"), e.Request.Visit(e.Attr("href")))
			})
			c.OnResponse(func(r *colly.Response) { say("visited %s", r.Request.URL.Path) })
			c.Visit(site + "/")
		},
	},
	"error_handling": {
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.OnHTML("*", func(e *colly.HTMLElement) { say("an element") })
			c.OnError(func(r *colly.Response, err error) {
				say("%s failed with %d", r.Request.URL.Path, r.StatusCode)
			})
			c.Visit(site + "/missing")
			c.Visit("http://127.0.0.1:1/nobody")
		},
	},
	"url_filter": {
		options: func(site *url.URL) []colly.CollectorOption {
			host := regexp.QuoteMeta(site.Host)
			return []colly.CollectorOption{colly.URLFilters(
				regexp.MustCompile("http://"+host+"/(|p.+)$"),
				regexp.MustCompile("http://"+host+"/h.+"),
			)}
		},
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			c.OnHTML("a[href]", func(e *colly.HTMLElement) { c.Visit(e.Request.AbsoluteURL(e.Attr("href"))) })
			c.OnResponse(func(r *colly.Response) { say("visited %s", r.Request.URL.Path) })
			c.Visit(site + "/")
		},
		without: []string{"visited /private"},
	},
	"multipart": {
		options: func(*url.URL) []colly.CollectorOption {
			return []colly.CollectorOption{colly.AllowURLRevisit(), colly.MaxDepth(5)}
		},
		run: func(c *colly.Collector, site string, say func(string, ...any)) {
			form := func() map[string][]byte {
				return map[string][]byte{"name": []byte("one"), "file": bytes.Repeat([]byte("x"), 5000)}
			}
			c.OnHTML("html", func(e *colly.HTMLElement) {
				say("%s at depth %d", e.Text, e.Request.Depth)
				e.Request.PostMultipart(site+"/private/upload", form())
			})
			c.PostMultipart(site+"/upload", form())
			c.Wait()
		},
		without: []string{
			"uploaded true at depth 2", "uploaded true at depth 3", "uploaded true at depth 4", "uploaded true at depth 5",
		},
	},
}

// loopback serves a small site on a real socket.
func loopback(t testing.TB, robots string) (site string, base *http.Transport) {
	mux := http.NewServeMux()
	mux.HandleFunc("/robots.txt", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, robots) })
	mux.HandleFunc("/{$}", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "<html><a href=/private>p</a><a href=/harmless>h</a><a href=/other>o</a>")
	})
	for _, path := range []string{"/private", "/harmless", "/other"} {
		mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, "<html><a href=/>back</a>") })
	}
	upload := func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<html>uploaded %v", err == nil && len(body) > 5000 && strings.HasPrefix(r.Header.Get("Content-Type"), "multipart/form-data"))
	}
	mux.HandleFunc("/upload", upload)
	mux.HandleFunc("/private/upload", upload)
	server := httptest.NewServer(mux)
	base = &http.Transport{}
	t.Cleanup(func() {
		base.CloseIdleConnections()
		server.Close()
	})
	return server.URL, base
}

func TestProgramsOfCollysExamples(t *testing.T) {
	for name, p := range programs {
		t.Run(name, func(t *testing.T) {
			run := func(robots string, polite bool) []string {
				site, base := loopback(t, robots)
				u, err := url.Parse(site)
				if err != nil {
					t.Fatal(err)
				}
				var options []colly.CollectorOption
				if p.options != nil {
					options = p.options(u)
				}
				c := colly.NewCollector(options...)
				if polite {
					attach(t, c, robotsmw.Options{UserAgent: agent, Base: base, Limiter: unpaced()})
				} else {
					c.WithTransport(base)
				}
				var said notes
				p.run(c, site, func(format string, args ...any) { said.add(fmt.Sprintf(format, args...)) })
				return said.sorted()
			}
			want := run("", false)
			if got := run("", true); !slices.Equal(got, want) {
				t.Errorf("with Attach, the output is\n\t%s\nwant the output without Attach\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
			want = slices.DeleteFunc(want, func(line string) bool { return slices.Contains(p.without, line) })
			if got := run("User-agent: ExampleBot\nDisallow: /private", true); !slices.Equal(got, want) {
				t.Errorf("with /private disallowed, the output is\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
			}
		})
	}
}
