package pagelinks_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"strings"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/pagelinks"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A crawler queues those links of a page that it may follow.
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
	page, err := pagelinks.Read(context.Background(), resp, transport.Checker())
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

// This crawler has read the page already. It skips advertisements and links
// that readers have posted.
func ExampleFromHTML() {
	html := []byte(`<base href="/forum/">
		<link rel=canonical href=hats> <link rel=license href=/terms>
		<a href=felt>felt</a> <a href=//ads.example/ rel=sponsored>ad</a> <a href=//me.example/ rel="ugc nofollow">my site</a>`)
	u, _ := url.Parse("https://shop.example/forum/hats?page=1")
	page, err := pagelinks.FromHTML(context.Background(), html, u, robotsmw.Page{}, nil)
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range page.Links {
		isOthers := strings.Contains(l.Rel, "ugc") || strings.Contains(l.Rel, "sponsored")
		fmt.Println(l.URL, "follow:", page.Follows(l) && !isOthers)
	}
	fmt.Println("canonical:", page.Canonical)
	fmt.Println("licenses:", page.Licenses)
	// Output:
	// https://shop.example/forum/felt follow: true
	// https://ads.example/ follow: false
	// https://me.example/ follow: false
	// canonical: https://shop.example/forum/hats
	// licenses: [https://shop.example/terms]
}
