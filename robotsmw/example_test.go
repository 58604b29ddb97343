package robotsmw_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/netip"
	"net/url"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// web returns the internet of these examples. It has two sites.
func web() *robotstest.Internet {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart\nCrawl-delay: 2\nSitemap: https://shop.example/map.xml\n",
		"/":           "welcome",
		"/cart":       "3 things",
	})
	web.Handle("down.example", robotstest.Status(http.StatusServiceUnavailable))
	return &web
}

// The client obeys robots.txt. It returns a DisallowedError for a URL that it
// may not fetch.
func ExampleNewClient() {
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      web(),
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := client.Get("https://shop.example/")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status)

	_, err = client.Get("https://shop.example/cart")
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		d := blocked.Decision
		fmt.Printf("%v: %s, line %d of %s\n", d.Kind, d.Rule, d.Line, d.RobotsURL)
	}
	// Output:
	// 200 OK
	// Disallow: /cart, line 2 of https://shop.example/robots.txt
}

// A DisallowedError has one of three reasons: the rules forbid the URL,
// robots.txt is unreachable, or Options.RefuseAddress refuses the address (see
// the example of ErrAddressRefused).
func ExampleDisallowedError() {
	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web()})
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range []string{"https://shop.example/cart", "https://down.example/"} {
		_, err := client.Get(u)
		switch {
		case errors.Is(err, robotsmw.ErrDisallowed):
			fmt.Println(u, "is disallowed")
		case errors.Is(err, robotsmw.ErrUnreachable):
			fmt.Println(u, "may be requested later")
		}
	}
	// Output:
	// https://shop.example/cart is disallowed
	// https://down.example/ may be requested later
}

// A fetch tool distinguishes a host name that its user has mistyped from a URL
// that robots.txt disallows, and from a site that is down.
func ExampleDisallowedError_cause() {
	client, err := robotsmw.NewClient(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web()})
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range []string{"https://shpo.example/", "https://shop.example/cart", "https://down.example/"} {
		_, err := client.Get(u)
		dns, isDNS := errors.AsType[*net.DNSError](err)
		switch {
		case isDNS && dns.IsNotFound:
			fmt.Println("There is no host", dns.Name)
		case errors.Is(err, robotsmw.ErrDisallowed):
			fmt.Println("The site does not allow", u)
		case err != nil:
			fmt.Println("Try later:", u)
		}
	}
	// Output:
	// There is no host shpo.example
	// The site does not allow https://shop.example/cart
	// Try later: https://down.example/
}

// A program that receives URLs from its users refuses addresses in its own
// network. errors.Is distinguishes a refused address from a site that is down.
// It also finds the error of the program's own function.
func ExampleErrAddressRefused() {
	errNotOurs := errors.New("ask the network team first")
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		RefuseAddress: func(addr netip.Addr) error {
			if addr == netip.MustParseAddr("127.0.0.7") {
				return errNotOurs
			}
			return robotsmw.PublicOnly(addr)
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, u := range []string{"http://127.0.0.1/admin", "http://127.0.0.7/"} {
		_, err := client.Get(u)
		if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok && errors.Is(err, robotsmw.ErrAddressRefused) {
			fmt.Println(blocked.Decision.Cause)
		}
		fmt.Println(errors.Is(err, errNotOurs), errors.Is(err, robotsmw.ErrUnreachable))
	}
	// Output:
	// RefuseAddress refuses the address: 127.0.0.1 is not a public address: loopback, RFC 1122 §3.2.1.3
	// false false
	// RefuseAddress refuses the address: 127.0.0.7: ask the network team first
	// true false
}

// The robotsmw.Transport is outermost. The crawler's own layers, such as
// retries, are below it. The politeness.Transport is innermost.
func ExampleNewTransport() {
	paced := &politeness.Transport{Base: web(), Limiter: &politeness.Limiter{}}
	retrying := retries{paced} // the crawler's own cache and retries
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: retrying})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}
	_, err = client.Get("https://shop.example/cart")
	fmt.Println(errors.Is(err, robotsmw.ErrDisallowed))
	// Output: true
}

type retries struct{ http.RoundTripper }

// A program plans how long a crawl takes. It opens no page. To open pages in a
// browser, see the example of Transport.Admit.
func ExampleNewChecker() {
	checker, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base: web()})
	if err != nil {
		log.Fatal(err)
	}
	u, _ := url.Parse("https://shop.example/")
	decision, err := checker.Check(context.Background(), u)
	if err != nil {
		log.Fatal(err)
	}
	if decision.Allowed {
		fmt.Println(u, "may be opened, one page every", decision.CrawlDelay)
	}
	// Output: https://shop.example/ may be opened, one page every 2s
}

// A crawler can check a URL before it queues the URL.
func ExampleChecker_Check() {
	checker, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: web()})
	if err != nil {
		log.Fatal(err)
	}
	u, _ := url.Parse("https://shop.example/cart?add=1")
	decision, err := checker.Check(context.Background(), u)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(decision.Allowed)
	fmt.Println(decision)
	// Output:
	// false
	// disallowed: https://shop.example/cart?add=1 (rule "Disallow: /cart", line 2 of https://shop.example/robots.txt)
}

// A decision as JSON fits on one line of a log. The hash in the JSON proves
// which robots.txt the crawler obeyed.
func ExampleDecision_MarshalJSON() {
	checker, err := robotsmw.NewChecker(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Override:  map[string]string{"https://mine.example": "User-agent: *\nDisallow: /admin\n"},
	})
	if err != nil {
		log.Fatal(err)
	}
	u, _ := url.Parse("https://mine.example/admin")
	decision, err := checker.Check(context.Background(), u)
	if err != nil {
		log.Fatal(err)
	}
	line, _ := json.Marshal(decision)
	fmt.Println(string(line))
	// Output: {"url":"https://mine.example/admin","allowed":false,"reason":"rule","rule":"Disallow: /admin","line":2,"group":["*"],"sha256":"f5a63dd98adcb4e30ee468ebb6dbe216a1aba4b2b3dd0d25b6062d1f2929a50b"}
}

// Override allows everything on a site of your own. If an option is invalid,
// the error contains the valid form.
func ExampleOptions() {
	_, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent:     "ExampleBot/1.0 (+https://example.com/bot)",
		ProductTokens: []string{"ExampleBot", "ExampleBot-Image"},
		Override:      map[string]string{"https://example.com": ""},
		RefuseAddress: robotsmw.PublicOnly,
	})
	fmt.Println(err)

	_, err = robotsmw.NewClient(robotsmw.Options{UserAgent: "My Bot"})
	fmt.Println(err)
	// Output:
	// <nil>
	// robotsmw: no product token can be derived from Options.UserAgent "My Bot": begin it with a single word and its version, such as "MyBot/1.0", or set Options.ProductTokens
}

// Join combines two Observers: that of a metrics library and the program's own.
// Each sets only the functions that it needs.
func ExampleObserver() {
	var refused int
	metrics := &robotsmw.Observer{
		Decided: func(_ context.Context, d robotsmw.Decision) {
			if !d.Allowed {
				refused++
			}
		},
	}
	mine := &robotsmw.Observer{
		Fetched: func(_ context.Context, f robotsmw.Fetch) { fmt.Println(f.URL, "returned status", f.Status) },
	}
	transport, err := robotsmw.NewTransport(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      web(),
		Observer:  robotsmw.Join(metrics, mine),
	})
	if err != nil {
		log.Fatal(err)
	}

	for _, s := range []string{"http://shop.example/", "http://shop.example/cart", "http://down.example/"} {
		u, _ := url.Parse(s)
		if _, err := transport.Checker().Check(context.Background(), u); err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(refused, "URLs may not be fetched")
	// Output:
	// http://shop.example/robots.txt returned status 200
	// http://down.example/robots.txt returned status 503
	// 2 URLs may not be fetched
}

// The Limiter's Observer receives the context of each request. DecisionOf
// returns the decision that allowed the request from this context.
func ExampleDecisionOf() {
	opts := robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      web(),
		Limiter: &politeness.Limiter{Observer: &politeness.Observer{
			Granted: func(ctx context.Context, e politeness.Event) {
				if d := robotsmw.DecisionOf(ctx); d != nil {
					fmt.Printf("%v: every %v, %v\n", e.URL, max(e.Delay, e.CrawlDelay), d.Reason)
				}
			},
			Ended: func(_ context.Context, e politeness.Event) {
				fmt.Println(e.URL, e.Status)
			},
		}},
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		log.Fatal(err)
	}
	resp, err := client.Get("https://shop.example/")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	// Output:
	// https://shop.example/robots.txt 200
	// https://shop.example/: every 2s, no-match
	// https://shop.example/ 200
}
