// Colly is a crawler that uses package colly and obeys robots.txt. An existing
// collector needs only the call of Attach.
package main

import (
	"fmt"
	"log"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
)

func main() {
	c := colly.NewCollector(colly.AllowedDomains("example.com"))
	opts := robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)"}
	if _, err := collyrobots.Attach(c, opts); err != nil {
		log.Fatal(err)
	}
	c.OnHTML("a[href]", func(e *colly.HTMLElement) { e.Request.Visit(e.Attr("href")) })
	c.OnResponse(func(r *colly.Response) { fmt.Println(r.StatusCode, r.Request.URL) })
	c.OnError(func(r *colly.Response, err error) { fmt.Println(err) })
	c.Visit("https://example.com/")
}
