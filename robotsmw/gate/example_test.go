package gate_test

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/gate"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// A crawler in any language sends requests to the gate. Here, the gate sends
// its own requests to an in-memory internet.
func ExampleNew() {
	var web robotstest.Internet
	web.Handle("shop.example", robotstest.Site{
		"/robots.txt": "User-agent: *\nDisallow: /cart",
		"/":           "<h1>Shop</h1>",
	})
	h, err := gate.New(robotsmw.Options{UserAgent: "ExampleBot/1.0 (+https://example.com/bot)", Base: &web})
	if err != nil {
		log.Fatal(err)
	}
	h.MaxBody = 1 << 20
	server := httptest.NewServer(h) // or http.ListenAndServe("127.0.0.1:8500", h)
	defer server.Close()

	for _, ask := range []string{"/check?url=", "/fetch?url="} {
		for _, page := range []string{"http://shop.example/cart", "http://shop.example/"} {
			resp, err := http.Get(server.URL + ask + url.QueryEscape(page))
			if err != nil {
				log.Fatal(err)
			}
			text, _ := io.ReadAll(resp.Body)
			resp.Body.Close()
			fmt.Printf("%d %.58s\n", resp.StatusCode, text)
		}
	}
	// Output:
	// 200 {"allowed":false,"reason":"rule","rule":"/cart","line":2,"
	// 200 {"allowed":true,"reason":"no-match","robots_url":"http://s
	// 451 {"allowed":false,"reason":"rule","rule":"/cart","line":2,"
	// 200 <h1>Shop</h1>
}
