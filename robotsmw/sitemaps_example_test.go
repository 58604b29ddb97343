package robotsmw_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net/http"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A crawler begins with the sitemaps of a site. The Checker keeps the
// robots.txt for later checks, so Sitemaps costs no additional request.
func ExampleChecker_Sitemaps() {
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w, "User-agent: *\nDisallow: /drafts/\n\nSitemap: http://a.example/map.xml\n")
	}))
	web.Handle("down.example", robotstest.Status(http.StatusServiceUnavailable))
	checker, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &web})
	if err != nil {
		log.Fatal(err)
	}
	for _, host := range []string{"a.example", "down.example"} {
		sitemaps, err := checker.Sitemaps(context.Background(), &url.URL{Scheme: "http", Host: host})
		switch {
		case errors.Is(err, robotsmw.ErrUnreachable):
			fmt.Println(host, "should be retried later")
		case err != nil:
			log.Fatal(err)
		default:
			fmt.Println(host, sitemaps)
		}
	}
	// Output:
	// a.example [http://a.example/map.xml]
	// down.example should be retried later
}
