package collyrobots_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/proxy"
	"github.com/gocolly/colly/v2/queue"
	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/redislimit"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/redisstore"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Attach is the only line to add to an existing crawler.
func ExampleAttach() {
	var web robotstest.Internet // a fake internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart",
		"/":           "<a href=/cart>cart</a> <a href=/shoes>shoes</a>",
		"/shoes":      "<p>shoes",
	})

	c := colly.NewCollector()
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnResponse(func(r *colly.Response) { fmt.Println("fetched", r.Request.URL) })
	c.OnError(func(r *colly.Response, err error) {
		if errors.Is(err, colly.ErrRobotsTxtBlocked) {
			fmt.Println("blocked", r.Request.URL)
		}
	})

	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.Visit("http://shop.example/")
	fmt.Println(ext.Counts())
	// Output:
	// fetched http://shop.example/
	// blocked http://shop.example/cart
	// fetched http://shop.example/shoes
	// fetched 2, disallowed 1
}

// Colly's proxy switchers work, whether they are set before Attach or after.
func ExampleAttach_proxies() {
	var seen [2]atomic.Int32 // requests that each proxy received
	var proxies [2]*httptest.Server
	for i := range proxies {
		proxies[i] = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			seen[i].Add(1)
			if r.URL.Path == "/robots.txt" {
				fmt.Fprint(w, "User-agent: *\nDisallow: /cart")
			}
		}))
		defer proxies[i].Close()
	}
	for _, when := range []string{"before", "after"} {
		c := colly.NewCollector(colly.AllowURLRevisit())
		rotate, err := proxy.RoundRobinProxySwitcher(proxies[0].URL, proxies[1].URL)
		if err != nil {
			fmt.Println(err)
			return
		}
		if when == "before" {
			c.SetProxyFunc(rotate)
		}
		if _, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Limiter: unpaced()}); err != nil {
			fmt.Println(err)
			return
		}
		if when == "after" {
			c.SetProxyFunc(rotate)
		}
		c.OnResponse(func(r *colly.Response) {
			if r.Request.ProxyURL == "" {
				fmt.Println("by no proxy:", r.Request.URL)
			}
		})
		for range 3 {
			c.Visit("http://shop.example/shoes")
		}
		err = c.Visit("http://shop.example/cart")
		fmt.Println(when, seen[0].Swap(0), seen[1].Swap(0), errors.Is(err, colly.ErrRobotsTxtBlocked))
	}
	// Output:
	// before 2 2 true
	// after 2 2 true
}

// Several processes, on one machine or many, crawl the same hosts. Through
// Redis, they share the request rate of each host and the robots.txt files.
// Colly has a storage in Redis for the visited URLs and the queue.
func ExampleAttach_fleet() {
	client := redis.NewUniversalClient(&redis.UniversalOptions{
		Addrs:                 []string{"127.0.0.1:6379"},
		ContextTimeoutEnabled: true, // for redislimit
		DialTimeout:           100 * time.Millisecond,
		ReadTimeout:           100 * time.Millisecond, // short for redisstore
	})
	defer client.Close()
	fleet, err := redislimit.New(client, redislimit.Options{Namespace: "mybot"})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer fleet.Close() // gives this process's hosts to the others at once
	store, err := redisstore.New(client, "mybot:")
	if err != nil {
		fmt.Println(err)
		return
	}

	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Limiter:   &politeness.Limiter{Fleet: fleet}, // the same settings in each process
		Store:     store,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ext.Active()) // from here on, crawl as with one process
	// Output: true
}

// An OnError handler repeats requests that may succeed later: those that
// received no response or a 5xx. It repeats each request at most three times.
func ExampleAttach_retries() {
	var web robotstest.Internet
	var asked atomic.Int32
	web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			fmt.Fprint(w, "User-agent: *\nDisallow: /cart")
		case r.URL.Path == "/gone":
			w.WriteHeader(http.StatusNotFound)
		case r.URL.Path == "/moved":
			http.Redirect(w, r, "http://other.example/", http.StatusFound)
		case r.URL.Path == "/down" || asked.Add(1) == 1:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	c := colly.NewCollector(colly.AllowedDomains("shop.example"))
	c.OnError(func(r *colly.Response, err error) {
		fmt.Println(r.Request.URL.Path, r.StatusCode)
		if c.Context.Err() != nil {
			return // the job is over
		}
		if errors.Is(err, colly.ErrRobotsTxtBlocked) && !errors.Is(err, robotsmw.ErrUnreachable) {
			return // a rule disallows the URL
		}
		if _, ok := errors.AsType[*politeness.DelayError](err); ok {
			return // the host is not due: with PutBack, the extension repeats the request
		}
		_, isVisited := errors.AsType[*colly.AlreadyVisitedError](err)
		isAborted := errors.Is(err, colly.ErrAbortedBeforeRequest) || errors.Is(err, colly.ErrAbortedAfterHeaders)
		isForbidden := errors.Is(err, colly.ErrForbiddenDomain) || errors.Is(err, colly.ErrForbiddenURL)
		if isVisited || isAborted || isForbidden || errors.Is(err, colly.ErrNoURLFiltersMatch) {
			return // colly or a handler of the program refused the request
		}
		hasAnswered := r.StatusCode != 0 && r.StatusCode < 500
		if hasAnswered && r.StatusCode != http.StatusProxyAuthRequired {
			return // a Retry would get the same response; for 429, set RetryThrottled
		}
		key := "tries of " + r.Request.URL.String() // pages may share a Ctx
		tries, _ := r.Ctx.GetAny(key).(int)
		if tries == 3 {
			return
		}
		r.Ctx.Put(key, tries+1)
		time.Sleep(200 * time.Millisecond) // a Retry at once after a refusal only returns the refusal
		r.Request.Retry()
	})
	c.OnResponse(func(r *colly.Response) { fmt.Println("fetched", r.Request.URL) })
	if _, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()}); err != nil {
		fmt.Println(err)
		return
	}
	for _, path := range []string{"/cart", "/gone", "/moved", "/flaky", "/down"} {
		c.Visit("http://shop.example" + path)
	}
	// Output:
	// /cart 0
	// /gone 404
	// /moved 0
	// /flaky 500
	// fetched http://shop.example/flaky
	// /down 500
	// /down 500
	// /down 500
	// /down 500
}

// A Retry of a request that the extension repeats itself sends no request, and
// returns the same error that OnError received. An OnError handler can thereby
// distinguish the two cases.
func ExampleAttach_whoRepeats() {
	var web robotstest.Internet
	var busy, broken atomic.Int32
	web.Handle("shop.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/busy" && busy.Add(1) == 1:
			w.WriteHeader(http.StatusTooManyRequests)
		case r.URL.Path == "/broken" && broken.Add(1) == 1:
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: agent,
		Base:      &web,
		Limiter:   &politeness.Limiter{Delay: -1, BackOff: 10 * time.Millisecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ext.RetryThrottled = 3
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.Request.URL.Path, r.StatusCode) })
	c.OnError(func(r *colly.Response, err error) {
		if errors.Is(err, colly.ErrRobotsTxtBlocked) {
			return // a Retry at once after a refusal returns its error too
		}
		who := "the handler"
		if r.Request.Retry() == err {
			who = "the extension"
		}
		fmt.Println(r.Request.URL.Path, r.StatusCode, "repeated by", who)
	})
	c.Visit("http://shop.example/busy")
	c.Visit("http://shop.example/broken")
	// Output:
	// /busy 200
	// /busy 429 repeated by the extension
	// /broken 200
	// /broken 500 repeated by the handler
}

// In a crawler that calls Collector.Visit, replace Request.AbsoluteURL with
// Extension.AbsoluteURL.
func ExampleExtension_AbsoluteURL() {
	var web robotstest.Internet
	web.Handle("blog.example", robotstest.Site{
		"/":     `<a href=/post>post</a>`,
		"/post": `<meta name=robots content=nofollow> <a href=/spam>spam</a>`,
		"/spam": "<p>",
	})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.OnResponse(func(r *colly.Response) { fmt.Println("fetched", r.Request.URL) })
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { c.Visit(ext.AbsoluteURL(e.Request, e.Attr("href"))) })
	c.Visit("http://blog.example/")
	// Output:
	// fetched http://blog.example/
	// fetched http://blog.example/post
}

// In a callback of a running queue, Queue.AddRequest wakes an idle thread. New
// returns an error if AbsoluteURL returns "".
func ExampleExtension_AbsoluteURL_queue() {
	var web robotstest.Internet
	web.Handle("blog.example", robotstest.Site{
		"/":     `<a href=/post>post</a>`,
		"/post": `<meta name=robots content=nofollow> <a href=/spam>spam</a>`,
		"/spam": "<p>",
	})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	q, err := queue.New(2, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	c.OnResponse(func(r *colly.Response) { fmt.Println("fetched", r.Request.URL) })
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		r, err := e.Request.New("GET", ext.AbsoluteURL(e.Request, e.Attr("href")), nil)
		if err == nil {
			q.AddRequest(r)
		}
	})
	q.AddURL("http://blog.example/")
	q.Run(c)
	// Output:
	// fetched http://blog.example/
	// fetched http://blog.example/post
}

func ExampleExtension_OnBlocked() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: ExampleBot\nDisallow: /cart"})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ext.OnBlocked(func(r *colly.Request, d robotsmw.Decision) {
		fmt.Printf("%s %s: %s: %s, line %d of %s\n", r.Method, r.URL.Path, d.Kind, d.Rule, d.Line, d.RobotsURL)
	})
	c.Visit("http://shop.example/cart/7")
	// Output: GET /cart/7: Disallow: /cart, line 2 of http://shop.example/robots.txt
}

// Follow returns the reason why a link is not followed.
func ExampleExtension_Follow() {
	var web robotstest.Internet
	web.Handle("blog.example", robotstest.Site{
		"/":      `<a href=/post>post</a> <a rel=nofollow href=/login>login</a>`,
		"/post":  `<meta name=robots content=nofollow> <a href=/spam>spam</a>`,
		"/login": "<p>", "/spam": "<p>",
	})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	ext.ObeyRelNoFollow = true
	c.OnHTML("a[href]", func(e *colly.HTMLElement) {
		if err := ext.Follow(e); errors.Is(err, collyrobots.ErrNoFollow) {
			fmt.Println(err)
		}
	})
	c.Visit("http://blog.example/")
	// Output:
	// collyrobots: nofollow: the link from http://blog.example/post to http://blog.example/spam must not be followed
	// collyrobots: nofollow: the link from http://blog.example/ to http://blog.example/login must not be followed
}

func ExampleExtension_Indexable() {
	var web robotstest.Internet
	web.Handle("wiki.example", robotstest.Site{
		"/":     `<meta name=robots content="noindex"> <a href=/cats>cats</a>`,
		"/cats": `<p>Cats`,
	})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.Request.URL.Path, ext.Indexable(r)) })
	c.Visit("http://wiki.example/")
	// Output:
	// / false
	// /cats true
}

// Clone does not copy callbacks. Add registers those of the extension on the
// clone.
func ExampleExtension_Add() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart",
		"/item/1":     `<meta name=robots content=nofollow> <a href=/item/2>2</a>`,
	})
	list := colly.NewCollector()
	ext, err := collyrobots.Attach(list, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	detail := list.Clone() // detail already obeys robots.txt
	if err := ext.Add(detail); err != nil {
		fmt.Println(err)
		return
	}
	detail.OnHTML("a[href]", func(e *colly.HTMLElement) { fmt.Println(e.Request.Visit(e.Attr("href"))) })
	detail.Visit("http://shop.example/item/1")
	fmt.Println(detail.Visit("http://shop.example/cart"))
	// Output:
	// collyrobots: nofollow: the links of http://shop.example/item/1 must not be followed
	// Get "http://shop.example/cart": robotsmw: disallowed: rule "Disallow: /cart", line 2 of robots.txt
}

// A URL that Extension.Visit refuses stays unvisited.
func ExampleExtension_Visit() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{"/robots.txt": "User-agent: *\nDisallow: /cart"})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: &web, Limiter: unpaced()})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = ext.Visit("http://shop.example/cart")
	visited, _ := c.HasVisited("http://shop.example/cart")
	fmt.Println(errors.Is(err, colly.ErrRobotsTxtBlocked), visited)
	// Output: true false
}

// An OnError handler repeats the requests that the extension does not repeat.
func ExampleExtension_WillRepeat() {
	var web robotstest.Internet
	web.Handle("slow.example", robotstest.Site{"/robots.txt": "User-agent: *\nCrawl-delay: 2", "/": "", "/a": ""})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      &web,
		Limiter:   &politeness.Limiter{MaxWait: -1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ext.PutBack = true
	repeated := make(map[string]bool)
	c.OnError(func(r *colly.Response, err error) {
		if ext.WillRepeat(r.Request) {
			repeated[r.Request.URL.Path] = true
			return
		}
		r.Request.Retry()
	})
	c.Visit("http://slow.example/a")
	ext.Wait()
	fmt.Println(repeated, ext.Counts().Fetched)
	// Output: map[/a:true] 1
}

// With PutBack, a slow host does not occupy the queue's only thread.
func ExampleExtension_Wait() {
	var web robotstest.Internet
	web.Handle("slow.example", robotstest.Site{"/robots.txt": "User-agent: *\nCrawl-delay: 0.2", "/1": "<p>", "/2": "<p>"})
	web.Handle("quick.example", robotstest.Site{"/": "<p>"})
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: agent,
		Base:      &web,
		Limiter:   &politeness.Limiter{Delay: -1, MaxWait: -1},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ext.PutBack = true
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.Request.URL) })

	q, err := queue.New(1, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	q.AddURL("http://slow.example/1")
	q.AddURL("http://slow.example/2")
	q.AddURL("http://quick.example/")
	for !q.IsEmpty() {
		q.Run(c)
		q.Stop() // otherwise colly's queue cannot Run again
		ext.Wait()
	}
	// Output:
	// http://slow.example/1
	// http://quick.example/
	// http://slow.example/2
}

// If a transport is set that hides addresses from Options.RefuseAddress, Active
// returns false and no request is sent.
func ExampleExtension_Active() {
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent:     agent,
		RefuseAddress: robotsmw.PublicOnly,
		Limiter:       unpaced(),
		Logger:        slog.New(slog.DiscardHandler), // otherwise one warning is logged
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(ext.Active())
	c.WithTransport(&http.Transport{DialContext: new(net.Dialer).DialContext})
	fmt.Println(ext.Active(), errors.Is(c.Visit("http://shop.example/"), collyrobots.ErrBypassed))
	// Output:
	// true
	// false true
}

// RetryThrottled repeats a request whose response was a 429, after the back-off
// of the host.
func ExampleExtension_Counts() {
	var web robotstest.Internet
	var asked atomic.Int32
	web.Handle("busy.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/page" && asked.Add(1) == 1 {
			w.WriteHeader(http.StatusTooManyRequests)
		}
	}))
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: agent,
		Base:      &web,
		Limiter:   &politeness.Limiter{Delay: -1, BackOff: 10 * time.Millisecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ext.RetryThrottled = 3
	c.Visit("http://busy.example/page")
	ext.Wait()
	n := ext.Counts()
	fmt.Println("fetched:", n.Fetched, "retried:", n.Retried, "given up:", n.GivenUp)
	// Output: fetched: 2 retried: 1 given up: 0
}
