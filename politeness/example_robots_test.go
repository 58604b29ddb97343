package politeness_test

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The client of package robotsmw passes its Limiter the Crawl-delay of each
// robots.txt. Here the Crawl-delay is longer than MaxCrawlDelay, so that the
// request for the second page is rejected until the Crawl-delay is over.
func ExampleTransport_robots() {
	var web robotstest.Internet
	web.Handle("slow.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nCrawl-delay: 600\n",
		"/1":          "page 1", "/2": "page 2",
	})
	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Base:      &web,
		Limiter:   &politeness.Limiter{Delay: 20 * time.Millisecond},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, page := range []string{"http://slow.example/1", "http://slow.example/2"} {
		resp, err := client.Get(page)
		if delay, ok := errors.AsType[*politeness.DelayError](err); ok {
			fmt.Println(page, "in", time.Until(delay.Until).Round(time.Minute))
			continue
		} else if err != nil {
			fmt.Println(err)
			return
		}
		resp.Body.Close()
		fmt.Println(page, http.StatusText(resp.StatusCode))
	}
	// Output:
	// http://slow.example/1 OK
	// http://slow.example/2 in 10m0s
}
