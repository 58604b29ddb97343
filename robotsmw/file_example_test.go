package robotsmw_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/preference"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// With KeepFiles, a decision has the whole robots.txt. A crawler can then read
// lines that are not rules, without a second fetch.
func ExampleDecision_File() {
	var web robotstest.Internet
	web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w,
			"User-agent: *\nDisallow: /drafts/\nContent-Usage: train-ai=n\nSitemap: http://a.example/map.xml\n")
	}))
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &web, KeepFiles: true})
	if err != nil {
		log.Fatal(err)
	}
	checker := transport.Checker()

	u := &url.URL{Scheme: "http", Host: "a.example", Path: "/essay"}
	decision, err := checker.Check(context.Background(), u)
	if err != nil {
		log.Fatal(err)
	}
	said := preference.Input{Robots: decision.File(), Tokens: checker.Tokens(), Target: u.RequestURI()}
	fmt.Println("fetch:", decision.Allowed)
	fmt.Println("train:", said.For(preference.TrainAI))
	fmt.Println("pages:", decision.File().Sitemaps())
	// Output:
	// fetch: true
	// train: deny by Content-Usage in robots.txt, line 3: train-ai=n
	// pages: [http://a.example/map.xml]
}
