package pagelinks_test

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/url"
	"strings"

	"github.com/PuerkitoBio/goquery"

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

// This crawler has parsed the page already. It skips advertisements and links
// that readers have posted.
func ExampleFromDocument() {
	doc, err := goquery.NewDocumentFromReader(strings.NewReader(`<base href="/forum/">
		<link rel=canonical href=hats> <link rel=license href=/terms>
		<a href=felt>felt</a> <a href=//ads.example/ rel=sponsored>ad</a> <a href=//me.example/ rel="ugc nofollow">my site</a>`))
	if err != nil {
		log.Fatal(err)
	}
	u, _ := url.Parse("https://shop.example/forum/hats?page=1")
	page, err := pagelinks.FromDocument(context.Background(), doc, u, robotsmw.Page{}, pagelinks.Options{FollowRelNoFollow: true})
	if err != nil {
		log.Fatal(err)
	}
	for _, l := range page.Links {
		fmt.Println(l.Href, "ugc:", l.UGC, "sponsored:", l.Sponsored, "follow:", page.Follows(l) && !l.UGC && !l.Sponsored)
	}
	fmt.Println(page.URL, "counts links from", page.Base)
	fmt.Println("this is", page.Canonical, "by the terms of", page.Licenses)
	// Output:
	// felt ugc: false sponsored: false follow: true
	// //ads.example/ ugc: false sponsored: true follow: false
	// //me.example/ ugc: true sponsored: false follow: false
	// https://shop.example/forum/hats?page=1 counts links from https://shop.example/forum/
	// this is https://shop.example/forum/hats by the terms of [https://shop.example/terms]
}

// MaxBytes limits how much is read of a page that may never end.
func ExampleRead_begin() {
	var web robotstest.Internet
	web.Handle("endless.example", robotstest.Trickle{Chunk: "<a href=/>more</a><meta name=robots content=nofollow>"})
	transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: &web,
		Override: map[string]string{"http://endless.example": ""}})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := (&http.Client{Transport: transport}).Get("http://endless.example/")
	if err != nil {
		log.Fatal(err)
	}
	page, err := pagelinks.Read(context.Background(), resp, pagelinks.Options{MaxBytes: 1 << 10})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(page.Links), "links, truncated:", page.Truncated)
	fmt.Println("nofollow:", page.Says.NoFollow(), "as far as it was looked at:", page.Says.State)
	// Output:
	// 20 links, truncated: true
	// nofollow: true as far as it was looked at: partial
}
