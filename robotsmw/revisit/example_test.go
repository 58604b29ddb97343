package revisit_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/revisit"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A feed has a lifetime. The page has the directive noindex, and has not
// changed when it is requested again.
func Example() {
	var web robotstest.Internet
	web.Handle("site.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/robots.txt":
			http.NotFound(w, r)
		case r.URL.Path == "/feed":
			w.Header().Set("Cache-Control", "max-age=3600")
			fmt.Fprint(w, "news")
		case r.Header.Get("If-None-Match") == `"v1"`:
			w.WriteHeader(http.StatusNotModified)
		default:
			w.Header().Set("Etag", `"v1"`)
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<meta name=robots content=noindex>")
		}
	}))
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0",
		Base:      &web,
		Limiter:   &politeness.Limiter{Delay: time.Millisecond},
		Wrap:      func(robots http.RoundTripper) http.RoundTripper { return &revisit.Transport{Base: robots} },
	})
	if err != nil {
		log.Fatal(err)
	}
	for _, path := range []string{"/feed", "/feed", "/page", "/page"} {
		resp, err := client.Get("https://site.example" + path)
		if err != nil {
			log.Fatal(err)
		}
		io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		visit, _ := revisit.Of(resp)
		fmt.Printf("%s: sent %v, unchanged %v, noindex %v\n",
			path, visit.Sent, visit.Unchanged, visit.Directives.NoIndex())
	}
	// Output:
	// /feed: sent true, unchanged false, noindex false
	// /feed: sent false, unchanged true, noindex false
	// /page: sent true, unchanged false, noindex true
	// /page: sent true, unchanged true, noindex true
}
