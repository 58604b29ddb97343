package collyrobots_test

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"testing"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// walledSite responds to /walled with a challenge and to /paid with a price.
// /marked is a challenge too, but only its body indicates that.
func walledSite() *robotstest.Internet {
	web := new(robotstest.Internet)
	mux := http.NewServeMux()
	mux.Handle("/", robotstest.Site{
		"/":       "<a href=/walled>1</a> <a href=/paid>2</a> <a href=/marked>3</a>",
		"/marked": `<html><script id="anubis_challenge" type="application/json">{}</script><a href=/next>4</a></html>`,
		"/next":   "<p>", "/captcha": "<p>",
	})
	mux.HandleFunc("/walled", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Sg-Captcha", "challenge")
		w.Header().Set("X-Robots-Tag", "noindex")
		w.Header().Set("Content-Type", "text/html")
		w.WriteHeader(http.StatusAccepted)
		io.WriteString(w, "<html><a href=/captcha>prove it</a></html>")
	})
	mux.HandleFunc("/paid", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Crawler-Price", "USD 0.01")
		w.WriteHeader(http.StatusPaymentRequired)
	})
	web.Handle("site.example", mux)
	return web
}

func TestRefusals(t *testing.T) {
	web := walledSite()
	c := colly.NewCollector()
	ext := attachUnpaced(t, c, web)
	var seen notes
	note := func(r *colly.Response) {
		said := ext.Directives(r)
		links := 0
		if said.State == robotsmw.PageComplete {
			links = len(linksOf(t, ext, r).Queue())
		}
		seen.add(fmt.Sprint(r.Request.URL.Path, " ", said.Refusal.Kind, " sure ", said.Refusal.Sure, ", noindex ", said.NoIndex(), ", keep ", ext.Indexable(r), ", links ", links))
	}
	c.OnResponse(note)
	c.OnError(func(r *colly.Response, _ error) { note(r) })
	c.OnHTML("a[href]", follow)
	if err := c.Visit("http://site.example/"); err != nil {
		t.Fatal(err)
	}
	got, want := seen.sorted(), []string{
		"/ none sure false, noindex false, keep true, links 3",
		"/marked challenge sure false, noindex false, keep true, links 1",
		"/next none sure false, noindex false, keep true, links 0",
		"/paid payment sure true, noindex false, keep false, links 0",
		"/walled challenge sure true, noindex false, keep false, links 0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the responses are classified as\n\t%q\nwant\n\t%q", got, want)
	}
	if asked := asked(web); slices.Contains(asked, "GET http://site.example/captcha") {
		t.Errorf("the servers received %v, want no request for the link of the challenge", asked)
	}
}

// Options.Refusals contains a rule that recognizes a block page with status 200
// by its text. The crawler follows none of the links of the block page.
func TestRefusals_Rules(t *testing.T) {
	for name, tt := range map[string]struct {
		rules []refusal.Rule
		keep  bool
		links bool // whether the link of the block page is followed
	}{
		"a rule":           {[]refusal.Rule{{By: "Shield", Kind: refusal.Block, Sure: true, Text: []string{"<title>Access paused"}}}, false, false},
		"without a rule":   {nil, true, true},
		"not sure":         {[]refusal.Rule{{By: "Shield", Kind: refusal.Block, Text: []string{"<title>Access paused"}}}, true, true},
		"of another field": {[]refusal.Rule{{By: "Shield", Kind: refusal.Block, Sure: true, Header: "X-Shield", Text: []string{"<title>Access paused"}}}, true, true},
		"of this field":    {[]refusal.Rule{{By: "Shield", Kind: refusal.Block, Sure: true, Header: "Content-Type", HeaderValue: "html", Text: []string{"<title>Access paused"}}}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			detector, err := refusal.NewDetector(tt.rules...)
			if err != nil {
				t.Fatal(err)
			}
			web := new(robotstest.Internet)
			web.Handle("site.example", robotstest.Site{
				"/":        "<html><title>Access paused</title><a href=/captcha>prove it</a></html>",
				"/captcha": "<p>",
			})
			c := colly.NewCollector()
			ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: web, Refusals: detector, Limiter: &politeness.Limiter{Delay: -1}})
			if err != nil {
				t.Fatal(err)
			}
			c.OnResponse(func(r *colly.Response) {
				if keep := ext.Indexable(r); r.Request.URL.Path == "/" && keep != tt.keep {
					t.Errorf("Indexable = %v, want %v", keep, tt.keep)
				}
			})
			c.OnHTML("a[href]", follow)
			if err := c.Visit("http://site.example/"); err != nil {
				t.Fatal(err)
			}
			if followed := slices.Contains(asked(web), "GET http://site.example/captcha"); followed != tt.links {
				t.Errorf("the link of the block page was followed: %v, want %v", followed, tt.links)
			}
		})
	}
}

// Colly treats a challenge with status 202 as a page. Indexable returns false
// for it, and Directives reports which bot protection sent it.
func ExampleExtension_Directives_refusal() {
	c := colly.NewCollector()
	ext, err := collyrobots.Attach(c, robotsmw.Options{UserAgent: agent, Base: walledSite(), Limiter: &politeness.Limiter{Delay: -1}})
	if err != nil {
		panic(err)
	}
	c.OnResponse(func(r *colly.Response) {
		fmt.Println("keep:", ext.Indexable(r), "because of", ext.Directives(r).Refusal)
	})
	c.Visit("http://site.example/walled")
	// Output:
	// keep: false because of SiteGround: challenge (202, sg-captcha: challenge)
}
