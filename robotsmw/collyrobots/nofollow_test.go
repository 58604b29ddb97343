package collyrobots_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/queue"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

func follow(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) }

// nofollowSite has two pages with nofollow: /closed in a meta element, and
// /header in its header.
func nofollowSite() *robotstest.Internet {
	web := new(robotstest.Internet)
	mux := http.NewServeMux()
	mux.Handle("/", robotstest.Site{
		"/":       "<a href=/closed>1</a> <a href=/header>2</a> <a href=/open>3</a>",
		"/closed": "<meta name=robots content=nofollow><a href=/only-closed>4</a> <a href=/shared>5</a>",
		"/open":   "<a href=/shared>6</a> <a href=/only-open>7</a>",
		"/shared": "<p>shared", "/only-closed": "<p>", "/only-header": "<p>", "/only-open": "<p>",
	})
	mux.HandleFunc("/header", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("X-Robots-Tag", "otherbot: noindex, examplebot: nofollow")
		io.WriteString(w, "<html><a href=/only-header>8</a> <a href=/shared>9</a>")
	})
	web.Handle("site.example", mux)
	return web
}

func TestNoFollow(t *testing.T) {
	t.Run("plain colly follows", func(t *testing.T) {
		web := nofollowSite()
		c := plain(web)
		c.OnHTML("a[href]", follow)
		c.Visit("http://site.example/")
		if got := asked(web); !slices.Contains(got, "GET http://site.example/only-closed") {
			t.Errorf("plain colly: the servers received %v, want /only-closed among the requests"+collyChanged, got)
		}
	})
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprintf("async %v", async), func(t *testing.T) {
			web := nofollowSite()
			c := colly.NewCollector(colly.Async(async))
			var links notes
			c.OnHTML("a[href]", func(e *colly.HTMLElement) { // registered before Attach
				err := e.Request.Visit(e.Attr("href"))
				_, visited := errors.AsType[*colly.AlreadyVisitedError](err) // the link to /shared, if another page was faster
				if errors.Is(err, collyrobots.ErrNoFollow) || visited && e.Request.URL.Path != "/open" {
					links.add(e.Text)
				}
			})
			ext := attachUnpaced(t, c, web)
			var pages notes
			c.OnResponse(func(page *colly.Response) {
				if ext.Directives(page).NoFollow() {
					pages.add(page.Request.URL.Path)
				}
			})
			c.Visit("http://site.example/")
			c.Wait()
			got := asked(web)
			slices.Sort(got)
			want := []string{
				"GET http://site.example/", "GET http://site.example/closed", "GET http://site.example/header",
				"GET http://site.example/only-open", "GET http://site.example/open", "GET http://site.example/shared",
			}
			if !slices.Equal(got, want) {
				t.Errorf("the servers received %v, want %v", got, want)
			}
			if got := links.sorted(); !slices.Equal(got, []string{"4", "5", "8", "9"}) {
				t.Errorf("Visit refused the links %v, want [4 5 8 9]", got)
			}
			if got := pages.sorted(); !slices.Equal(got, []string{"/closed", "/header"}) {
				t.Errorf("Directives reported nofollow for %v, want [/closed /header]", got)
			}
			if got := ext.Counts().NoFollow; got != 2 {
				t.Errorf("Counts().NoFollow = %d, want 2", got)
			}
		})
	}
}

func TestNoFollowLeavesTheUsersContextAlone(t *testing.T) {
	web := nofollowSite()
	c, _ := polite(t, web)
	c.OnRequest(func(r *colly.Request) { r.Ctx.Put("last", r.URL.Path) })
	seen := map[string]string{}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if e.Request.Ctx != e.Response.Ctx {
			t.Error("Request and Response have different Ctx, want the same")
		}
		e.Request.Ctx.Put("found on "+e.Request.URL.Path, e.Text)
		e.Request.Visit(e.Attr("href"))
	})
	ctx := colly.NewContext()
	ctx.Put("start", "mine")
	c.OnScraped(func(r *colly.Response) { seen[r.Request.URL.Path] = r.Ctx.Get("start") })
	if err := c.Request("GET", "http://site.example/", nil, ctx, nil); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/", "/closed", "/open", "/shared"} {
		if seen[path] != "mine" {
			t.Errorf("%s: the value that was put before the crawl is %q, want %q", path, seen[path], "mine")
		}
	}
	// The nofollow page has a Ctx of its own, which shares its values with ctx.
	if got := ctx.Get("found on /closed"); got != "5" {
		t.Errorf("the value that the nofollow page put is %q, want %q", got, "5")
	}
}

// Links of a nofollow page are also refused if they are requested with
// Request.Do instead of Request.Visit.
func TestNoFollow_RequestDo(t *testing.T) {
	web := nofollowSite()
	c, ext := polite(t, web)
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		r, err := e.Request.New("GET", e.Request.AbsoluteURL(e.Attr("href")), nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Do()
	})
	c.Visit("http://site.example/closed")
	wantAsked(t, web, "GET http://site.example/closed")
	if got := ext.Counts().LinksRefused; got != 2 {
		t.Errorf("Counts().LinksRefused = %d, want 2", got)
	}
}

func TestNoFollowPageMayBeRetriedAndKeepsItsDepth(t *testing.T) {
	closed := true
	var web robotstest.Internet
	web.Handle("site.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/":
			io.WriteString(w, "<html><a href=/page>")
		case r.URL.Path == "/page" && closed:
			io.WriteString(w, "<html><meta name=robots content=nofollow><a href=/next>")
		case r.URL.Path == "/page":
			io.WriteString(w, "<html><a href=/next>")
		case r.URL.Path == "/next":
			io.WriteString(w, "<html><a href=/deeper>")
		}
	}))
	c, _ := polite(t, &web, colly.MaxDepth(3))
	c.OnHTML("a[href]", follow)
	c.OnScraped(func(r *colly.Response) {
		if r.Request.URL.Path == "/page" && closed {
			closed = false
			if err := r.Request.Retry(); err != nil {
				t.Error(err)
			}
		}
	})
	c.Visit("http://site.example/")
	wantAsked(t, &web, "GET http://site.example/", "GET http://site.example/page", "GET http://site.example/page",
		"GET http://site.example/next")
}

func TestUsersMaxDepthHolds(t *testing.T) {
	for _, after := range []bool{false, true} {
		web := nofollowSite()
		c, _ := polite(t, web, colly.MaxDepth(2))
		if after {
			c.MaxDepth = 2
		}
		c.OnHTML("a[href]", follow)
		c.Visit("http://site.example/")
		wantAsked(t, web, "GET http://site.example/", "GET http://site.example/closed", "GET http://site.example/header",
			"GET http://site.example/open")
	}
}

func TestMarksOfPagesGoWithThem(t *testing.T) {
	web := nofollowSite()
	c, ext := polite(t, web)
	c.AllowURLRevisit = true
	for range 100 {
		c.Visit("http://site.example/closed")
	}
	for range 1000 { // the runtime runs cleanups on its own goroutine, some time after GC
		if runtime.GC(); collyrobots.Marks(ext) == 0 {
			return
		}
		runtime.Gosched()
	}
	t.Errorf("%d marks are left after their pages were collected, want 0", collyrobots.Marks(ext))
}

func TestFollow(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("site.example", robotstest.Site{
		"/robots.txt": "User-agent: ExampleBot\nDisallow: /no",
		"/":           `<a href=/yes>yes</a> <a href=/no>no</a> <a rel="ugc NoFollow" href=/rel>rel</a> <a href=/closed>closed</a>`,
		"/closed":     "<meta name=examplebot content=none><a href=/inner>inner</a>",
		"/yes":        "<p>", "/no": "<p>", "/rel": "<p>", "/inner": "<p>",
	})
	for _, obey := range []bool{false, true} {
		t.Run(fmt.Sprintf("obey %v", obey), func(t *testing.T) {
			c, ext := polite(t, web)
			ext.ObeyRelNoFollow = obey
			var got notes
			c.OnHTML("a[href]", func(e *colly.HTMLElement) {
				err := ext.Follow(e)
				note := "followed"
				if errors.Is(err, collyrobots.ErrNoFollow) {
					note = "nofollow"
				} else if errors.Is(err, colly.ErrRobotsTxtBlocked) {
					note = "blocked"
				} else if err != nil {
					note = err.Error()
				}
				if visited, _ := c.HasVisited(e.Request.AbsoluteURL(e.Attr("href"))); visited != (note == "followed") {
					t.Errorf("the link %s is %s, and HasVisited = %v; want %v", e.Text, note, visited, note == "followed")
				}
				got.add(e.Text + ": " + note)
			})
			c.Visit("http://site.example/")
			want := []string{"closed: followed", "inner: nofollow", "no: blocked", "rel: followed", "yes: followed"}
			if obey {
				want[3] = "rel: nofollow"
			}
			if !slices.Equal(got.sorted(), want) {
				t.Errorf("Follow of the links: got %v, want %v", got.sorted(), want)
			}
			if n := ext.Counts().LinksRefused; (n == 2) != obey || (n == 1) == obey {
				t.Errorf("Counts().LinksRefused = %d, want 1, or 2 with ObeyRelNoFollow", n)
			}
		})
	}
}

func TestNoIndexPages(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("site.example", robotstest.Site{
		"/":      "<meta name=robots content=noindex><a href=/inner>inner</a>",
		"/inner": "<p>inner",
	})
	c, ext := polite(t, web)
	var kept notes
	c.OnScraped(func(page *colly.Response) {
		kept.add(fmt.Sprint(page.Request.URL.Path, ext.Indexable(page)))
	})
	c.OnHTML("a[href]", follow)
	c.Visit("http://site.example/")
	if want := []string{"/false", "/innertrue"}; !slices.Equal(kept.sorted(), want) {
		t.Errorf("the paths of the pages, with Indexable, are %v, want %v", kept.sorted(), want)
	}
	if got := ext.Counts().NoIndex; got != 1 {
		t.Errorf("Counts().NoIndex = %d, want 1", got)
	}
}

func TestRelNoFollowThroughVisit(t *testing.T) {
	for _, async := range []bool{false, true} {
		for _, obey := range []bool{false, true} {
			web := new(robotstest.Internet)
			web.Handle("site.example", robotstest.Site{
				"/":     `<base href=/dir/><a rel=nofollow href=login#top>1</a> <a href=/twice rel=nofollow>2</a> <a href=/twice>3</a> <a href=/open>4</a>`,
				"/open": `<a href=/more>5</a>`, "/dir/login": "<p>", "/twice": "<p>", "/more": "<p>",
			})
			c := colly.NewCollector(colly.Async(async))
			c.OnHTML("a[href]", follow) // registered before Attach
			ext := attachUnpaced(t, c, web)
			ext.ObeyRelNoFollow = obey
			c.Visit("http://site.example/")
			c.Wait()
			want := []string{
				"GET http://site.example/", "GET http://site.example/dir/login#top", "GET http://site.example/more",
				"GET http://site.example/open", "GET http://site.example/twice",
			}
			if obey {
				want = slices.Delete(want, 1, 2)
			}
			got := asked(web)
			slices.Sort(got)
			if !slices.Equal(got, want) {
				t.Errorf("async %v, obey %v: the servers received %v, want %v", async, obey, got, want)
			}
			if n := ext.Counts().LinksRefused; !obey && n != 0 || obey && n != 1 {
				t.Errorf("obey %v: Counts().LinksRefused = %d, want 0, or 1 if obey is true", obey, n)
			}
		}
	}
}

// Package pagelinks lists the links of colly's pages with the result of
// Directives.
func TestLinksOfPages(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("site.example", robotstest.Site{
		"/":           `<a href=a>a</a> <a rel=nofollow href=/b>b</a> <a href=mailto:x@example.com>c</a>`,
		"/closed":     `<meta name=examplebot content=nofollow> <a href=a>a</a>`,
		"/robots.txt": "",
	})
	c, ext := polite(t, web)
	var got notes
	c.OnResponse(func(r *colly.Response) {
		page := linksOf(t, ext, r)
		got.add(fmt.Sprint(r.Request.URL.Path, " ", len(page.Links), page.Queue(), page.Says.State))
	})
	c.Visit("http://site.example/")
	c.Visit("http://site.example/closed")
	want := []string{"/ 2 [http://site.example/a] complete", "/closed 1 [] complete"}
	if !slices.Equal(got.sorted(), want) {
		t.Errorf("the links of the pages are %q, want %q", got.sorted(), want)
	}
}

func linksOf(t *testing.T, ext *collyrobots.Extension, r *colly.Response) *pagelinks.Page {
	t.Helper()
	page, err := pagelinks.FromHTML(t.Context(), r.Body, r.Request.URL, ext.Directives(r), nil)
	if err != nil {
		t.Fatal(err)
	}
	return page
}

func TestRelNoFollowConcernsThePageAlone(t *testing.T) {
	web := new(robotstest.Internet)
	web.Handle("site.example", robotstest.Site{
		"/":     `<a rel=nofollow href=/deep>not from here</a> <a href=/open>open</a>`,
		"/open": `<a href=/deep>but from here</a>`,
		"/deep": "<p>",
	})
	c, ext := polite(t, web)
	ext.ObeyRelNoFollow = true
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { ext.Follow(e) })
	c.OnScraped(func(r *colly.Response) {
		if r.Ctx != r.Request.Ctx {
			t.Errorf("%s: Request and Response have different Ctx, want the same", r.Request.URL)
		}
	})
	c.Visit("http://site.example/")
	wantAsked(t, web, "GET http://site.example/", "GET http://site.example/open", "GET http://site.example/deep")
}

// Collector.Visit and a queue do not receive the page of a link. For both of
// them, Extension.AbsoluteURL refuses the links of nofollow pages.
func TestAbsoluteURLOfANoFollowPage(t *testing.T) {
	for _, kind := range []string{"Collector.Visit", "queue.AddURL", "in OnResponse", "in OnScraped"} {
		web := nofollowSite()
		c, ext := polite(t, web)
		q, err := queue.New(1, nil)
		if err != nil {
			t.Fatal(err)
		}
		links := func(page *colly.Request, hrefs ...string) {
			for _, href := range hrefs {
				target := ext.AbsoluteURL(page, href)
				if kind == "queue.AddURL" {
					q.AddURL(target)
				} else {
					c.Visit(target)
				}
			}
		}
		hrefs := func(r *colly.Response) (list []string) {
			for _, l := range linksOf(t, ext, r).Links {
				list = append(list, l.URL.String())
			}
			return list
		}
		switch kind {
		case "in OnResponse":
			c.OnResponse(func(r *colly.Response) { links(r.Request, hrefs(r)...) })
		case "in OnScraped":
			c.OnScraped(func(r *colly.Response) { links(r.Request, hrefs(r)...) })
		default:
			c.OnHTML("a[href]", func(e *colly.HTMLElement) { links(e.Request, e.Attr("href")) })
		}
		if kind == "queue.AddURL" {
			q.AddURL("http://site.example/")
			q.Run(c)
		} else {
			c.Visit("http://site.example/")
		}
		got := asked(web)
		slices.Sort(got)
		want := []string{
			"GET http://site.example/", "GET http://site.example/closed", "GET http://site.example/header",
			"GET http://site.example/only-open", "GET http://site.example/open", "GET http://site.example/shared",
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: the servers received %v, want %v", kind, got, want)
		}
		if n := ext.Counts().LinksRefused; n != 4 {
			t.Errorf("%s: Counts().LinksRefused = %d, want 4", kind, n)
		}
	}
}

func TestAbsoluteURLOfRelNoFollowLinks(t *testing.T) {
	for _, obey := range []bool{false, true} {
		web := new(robotstest.Internet)
		web.Handle("a.example", robotstest.Site{
			"/":  `<a rel=nofollow href=/1>1</a> <a href=/2>2</a> <a rel="nofollow ugc" href=/3>3</a> <a href=/3>3</a> <a href="#x">x</a>`,
			"/1": "<p>", "/2": "<p>", "/3": "<p>",
		})
		c, ext := polite(t, web)
		ext.ObeyRelNoFollow = obey
		c.OnHTML("a[href]", func(e *colly.HTMLElement) { c.Visit(ext.AbsoluteURL(e.Request, e.Attr("href"))) })
		c.Visit("http://a.example/")
		want := 4
		if obey {
			want = 3
		}
		if got := asked(web); len(got) != want || obey && slices.Contains(got, "GET http://a.example/1") {
			t.Errorf("ObeyRelNoFollow %v: the servers received %v, want %d requests, and /1 only if ObeyRelNoFollow is false", obey, got, want)
		}
	}
}

// In all callbacks of a nofollow page, Request.Depth is the same as in plain
// colly. The links of the page are refused with an error and stay unvisited.
func TestDepthOfANoFollowPage(t *testing.T) {
	for _, path := range []string{"/closed", "/header"} {
		web := nofollowSite()
		c, _ := polite(t, web, colly.AllowURLRevisit())
		var depths notes
		note := func(r *colly.Request) { depths.add(fmt.Sprint(r.Depth)) }
		c.OnResponseHeaders(func(r *colly.Response) { note(r.Request) })
		c.OnResponse(func(r *colly.Response) { note(r.Request) })
		c.OnScraped(func(r *colly.Response) { note(r.Request) })
		c.OnHTML("a[href]", func(e *colly.HTMLElement) {
			note(e.Request)
			link := e.Request.AbsoluteURL(e.Attr("href"))
			made, err := e.Request.New("GET", link, nil)
			if err != nil {
				t.Fatal(err)
			}
			for name, err := range map[string]error{
				"Visit": e.Request.Visit(link), "Post": e.Request.Post(link, map[string]string{"a": "b"}), "Do": made.Do(),
			} {
				if err == nil {
					t.Errorf("%s: %s returned no error, want one", path, name)
				}
			}
			if visited, err := e.Request.HasVisited(link); visited || err != nil {
				t.Errorf("%s: HasVisited of a refused link = %v, %v; want false, nil", path, visited, err)
			}
		})
		c.Visit("http://site.example" + path)
		if got := slices.Compact(depths.sorted()); !slices.Equal(got, []string{"1"}) {
			t.Errorf("%s: the callbacks saw the depths %v, want [1]", path, got)
		}
		if got := asked(web); len(got) != 1 {
			t.Errorf("%s: the servers received %v, want one request", path, got)
		}
	}
}

func TestContextIsSharedByThePagesOfAPage(t *testing.T) {
	web := nofollowSite()
	c := plain(web)
	leaked := false
	c.OnResponse(func(r *colly.Response) {
		leaked = leaked || r.Request.URL.Path == "/open" && r.Ctx.Get("nofollow") != ""
		if r.Request.URL.Path == "/closed" {
			r.Ctx.Put("nofollow", "yes")
		}
	})
	c.OnHTML("a[href]", follow)
	c.Visit("http://site.example/")
	if !leaked {
		t.Error("plain colly: the siblings of a page do not share its Ctx, want shared" + collyChanged)
	}
	// TestNoFollow checks the same with Attach: although one page has nofollow,
	// the links of its siblings are followed.
}

// A request that is made with Request.New from a nofollow page fails with
// ErrNoFollow, whatever its method.
func TestNewRequestOfANoFollowPage(t *testing.T) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"} {
		web := nofollowSite()
		c, ext := polite(t, web)
		var errs []error
		c.OnHTML("a[href]", func(e *colly.HTMLElement) {
			r, err := e.Request.New(method, e.Request.AbsoluteURL(e.Attr("href")), nil)
			if err != nil {
				t.Fatal(err)
			}
			errs = append(errs, r.Do())
		})
		c.Visit("http://site.example/closed")
		if len(errs) != 2 || !errors.Is(errs[0], collyrobots.ErrNoFollow) || !errors.Is(errs[1], collyrobots.ErrNoFollow) {
			t.Errorf("%s: Do returned the errors %v, want ErrNoFollow twice", method, errs)
		}
		if n := ext.Counts().LinksRefused; n != 2 {
			t.Errorf("%s: Counts().LinksRefused = %d, want 2", method, n)
		}
	}
}

// A callback of a nofollow page calls Retry, which fails. Retry returns the
// error.
func TestRetryOfANoFollowPageReturnsItsError(t *testing.T) {
	web := new(robotstest.Internet)
	var requests atomic.Int32
	mux := http.NewServeMux()
	mux.Handle("/robots.txt", http.NotFoundHandler())
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if requests.Add(1) > 1 {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		w.Header().Set("X-Robots-Tag", "nofollow")
	})
	web.Handle("a.example", mux)
	c, _ := polite(t, web)
	var got error
	c.OnResponse(func(r *colly.Response) { got = r.Request.Retry() })
	c.Visit("http://a.example/")
	if got == nil || !strings.Contains(got.Error(), "Bad Gateway") {
		t.Errorf("Retry = %v, want an error that contains %q", got, "Bad Gateway")
	}
}

// An OnResponse handler that was registered before Attach, or before
// Extension.Add, visits a link of its page. The page has a nofollow directive
// in its HTML, has only rel=nofollow links, or is from bot protection according
// to its body alone. The link is refused, as in a handler that was registered
// later.
func TestNoFollow_OnResponseHandlerBeforeAttach(t *testing.T) {
	const noFollowMeta = `<meta name=robots content=nofollow><a href=/link>link</a>`
	const relNoFollow = `<a rel=nofollow href=/link>link</a>`
	const blockPage = `<title>Access paused</title><a href=/link>link</a>`
	detector, err := refusal.NewDetector(refusal.Rule{By: "Shield", Kind: refusal.Block, Sure: true, Text: []string{"<title>Access paused"}})
	if err != nil {
		t.Fatal(err)
	}
	type setUp func(*robotstest.Internet, colly.ResponseCallback) (*colly.Collector, *collyrobots.Extension)
	attachTo := func(c *colly.Collector, web *robotstest.Internet) *collyrobots.Extension {
		return attach(t, c, robotsmw.Options{UserAgent: agent, Base: web, Refusals: detector, Limiter: unpaced()})
	}
	attached := func(options ...colly.CollectorOption) setUp {
		return func(web *robotstest.Internet, handler colly.ResponseCallback) (*colly.Collector, *collyrobots.Extension) {
			c := colly.NewCollector(options...)
			c.OnResponse(handler)
			return c, attachTo(c, web)
		}
	}
	added := func(newCollector func(first *colly.Collector) *colly.Collector) setUp {
		return func(web *robotstest.Internet, handler colly.ResponseCallback) (*colly.Collector, *collyrobots.Extension) {
			first := colly.NewCollector()
			ext := attachTo(first, web)
			c := newCollector(first)
			c.OnResponse(handler)
			if err := ext.Add(c); err != nil {
				t.Fatal(err)
			}
			return c, ext
		}
	}
	cacheDir := t.TempDir()
	const fromCacheDir = "nofollow, from CacheDir"
	for _, test := range []struct {
		name  string
		page  string
		setUp setUp
	}{
		{"nofollow", noFollowMeta, attached()},
		{"nofollow, asynchronous", noFollowMeta, attached(colly.Async())},
		{"nofollow, ParseHTTPErrorResponse", noFollowMeta, attached(colly.ParseHTTPErrorResponse())},
		{fromCacheDir, noFollowMeta, attached(colly.CacheDir(cacheDir))},
		{"nofollow, on a clone", noFollowMeta, added((*colly.Collector).Clone)},
		{"nofollow, on a new collector", noFollowMeta, added(func(*colly.Collector) *colly.Collector { return colly.NewCollector() })},
		{"rel=nofollow", relNoFollow, attached()},
		{"bot protection", blockPage, attached()},
	} {
		t.Run(test.name, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("a.example", robotstest.Site{"/": test.page, "/link": "<p>"})
			if test.name == fromCacheDir {
				plain(web, colly.CacheDir(cacheDir), colly.IgnoreRobotsTxt()).Visit("http://a.example/")
			}
			isRel := test.page == relNoFollow
			var ext *collyrobots.Extension
			calls := 0
			var c *colly.Collector
			c, ext = test.setUp(web, func(r *colly.Response) {
				calls++
				if u := ext.AbsoluteURL(r.Request, "/link"); u != "" {
					t.Errorf("AbsoluteURL = %q, want \"\"", u)
				}
				err := r.Request.Visit("/link") // a rel=nofollow link is aborted without an error
				if !errors.Is(err, collyrobots.ErrNoFollow) && !isRel {
					t.Errorf("Visit = %v, want ErrNoFollow", err)
				}
				if r.Ctx != r.Request.Ctx {
					t.Error("Request and Response have different Ctx, want the same")
				}
			})
			ext.ObeyRelNoFollow = isRel
			c.Visit("http://a.example/")
			c.Wait()
			if calls != 1 {
				t.Errorf("the handler was called %d times, want once", calls)
			}
			wantAsked(t, web, "GET http://a.example/")
			wantNoFollow := int64(0)
			if test.page == noFollowMeta {
				wantNoFollow = 1
			}
			if n := ext.Counts().NoFollow; n != wantNoFollow {
				t.Errorf("Counts().NoFollow = %d, want %d", n, wantNoFollow)
			}
		})
	}
}

// An OnResponse handler that was registered before Attach decodes the body,
// which has a nofollow directive. The links of the page are refused in all
// later handlers.
func TestNoFollow_BodyThatAHandlerDecodes(t *testing.T) {
	for name, test := range map[string]struct {
		page string
		want []string
	}{
		"nofollow":     {`<meta name=robots content=nofollow><a href=/link>link</a>`, []string{"GET http://a.example/"}},
		"rel=nofollow": {`<a rel=nofollow href=/link>link</a>`, []string{"GET http://a.example/"}},
		"open":         {`<a href=/link>link</a>`, []string{"GET http://a.example/", "GET http://a.example/link"}},
	} {
		t.Run(name, func(t *testing.T) {
			web := new(robotstest.Internet)
			web.Handle("a.example", withRobotsAnd(map[string]string{"Content-Type": "text/html", "Content-Encoding": "x-reversed"}, reversed(test.page)))
			c := colly.NewCollector()
			c.OnResponse(func(r *colly.Response) {
				r.Headers.Del("Content-Encoding")
				r.Body = []byte(reversed(string(r.Body)))
			})
			ext := attachUnpaced(t, c, web)
			ext.ObeyRelNoFollow = true
			c.OnHTML("a[href]", follow)
			c.Visit("http://a.example/")
			wantAsked(t, web, test.want...)
		})
	}
}

func reversed(text string) string {
	b := []byte(text)
	slices.Reverse(b)
	return string(b)
}

// Colly calls OnError and not OnResponse for a page with an error status. The
// body of the page has a nofollow directive, or only links with rel=nofollow.
// An OnError handler may Retry the page, but may not follow its links.
func TestNoFollowInOnError(t *testing.T) {
	for name, body := range map[string]string{
		"meta": "<html><meta name=robots content=nofollow><a href=/next>",
		"rel":  "<html><a rel=nofollow href=/next>",
	} {
		for _, async := range []bool{false, true} {
			web := new(robotstest.Internet)
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", http.NotFoundHandler())
			mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "text/html")
				w.WriteHeader(http.StatusInternalServerError)
				io.WriteString(w, body)
			})
			web.Handle("blog.example", mux)
			c, ext := polite(t, web, colly.Async(async))
			ext.ObeyRelNoFollow = true
			var failures atomic.Int32
			c.OnError(func(r *colly.Response, _ error) {
				if failures.Add(1) == 1 {
					r.Request.Retry()
					return
				}
				if target := ext.AbsoluteURL(r.Request, "/next"); target != "" {
					t.Errorf("%s, async %v: AbsoluteURL returned %q, want \"\"", name, async, target)
				}
				r.Request.Visit("/next")
				c.Request("GET", "http://blog.example/next", nil, r.Ctx, nil)
			})
			c.Visit("http://blog.example/")
			ext.Wait()
			wantAsked(t, web, "GET http://blog.example/", "GET http://blog.example/")
		}
	}
}

// On an asynchronous collector, an OnError handler of a nofollow page calls
// Retry. While the Retry is under way, and after it has failed, the handler
// calls Collector.Request with the Ctx of the page. The request is refused,
// because the links are those of the first response. The new response has no
// nofollow directive, so its links are followed.
func TestNoFollow_RetryIsUnderWay(t *testing.T) {
	for _, second := range []string{"a page", "no response"} {
		synctest.Test(t, func(t *testing.T) {
			web := new(robotstest.Internet)
			var requests atomic.Int32
			respond := make(chan struct{})
			mux := http.NewServeMux()
			mux.Handle("/robots.txt", http.NotFoundHandler())
			mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
				if r.URL.Path != "/" {
					return
				}
				if requests.Add(1) == 1 {
					w.Header().Set("X-Robots-Tag", "nofollow")
					w.WriteHeader(http.StatusNotFound)
					return
				}
				<-respond
				if second == "no response" {
					panic(http.ErrAbortHandler)
				}
			})
			web.Handle("a.example", mux)
			c, ext := polite(t, web, colly.Async())
			request := func(r *colly.Response, path string) {
				c.Request(http.MethodGet, "http://a.example"+path, nil, r.Ctx, nil)
			}
			c.OnError(func(r *colly.Response, err error) {
				if r.StatusCode == 0 {
					request(r, "/linkOfSecondAttempt")
					return
				}
				if err := r.Request.Retry(); err != nil {
					t.Errorf("Retry = %v, want nil", err)
				}
				synctest.Wait() // until the server has received the request of Retry
				request(r, "/linkDuringRetry")
				close(respond)
				synctest.Wait()
				request(r, "/linkAfterRetry")
			})
			c.OnResponse(func(r *colly.Response) {
				if r.Request.URL.Path == "/" {
					request(r, "/linkOfSecondAttempt")
				}
			})
			c.Visit("http://a.example/")
			c.Wait()
			wantAsked(t, web, "GET http://a.example/", "GET http://a.example/", "GET http://a.example/linkOfSecondAttempt")
			if n := ext.Counts().LinksRefused; n != 2 {
				t.Errorf("second attempt: %s: Counts().LinksRefused = %d, want 2", second, n)
			}
		})
	}
}
