package pagelinks_test

import (
	"context"
	"fmt"
	"log"
	"net/http"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// What a crawler queues next.
func ExampleRead() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart",
		"/":           `<a href="/hats">hats</a> <a href="/cart">cart</a> <a href="/ad" rel="nofollow">ad</a>`,
	})
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: &web})
	if err != nil {
		log.Fatal(err)
	}
	client := &http.Client{Transport: transport}

	resp, err := client.Get("https://shop.example/")
	if err != nil {
		log.Fatal(err)
	}
	page, err := pagelinks.Read(context.Background(), resp, pagelinks.Options{Checker: transport.Checker()})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range page.Links {
		fmt.Println(l.URL, "nofollow:", l.NoFollow, "follow:", page.Follows(l))
	}
	fmt.Println("queue:", page.Queue())
	// Output:
	// https://shop.example/hats nofollow: false follow: true
	// https://shop.example/cart nofollow: false follow: false
	// https://shop.example/ad nofollow: true follow: false
	// queue: [https://shop.example/hats]
}
