package refusal_test

import (
	"fmt"
	"net/http"

	"github.com/goodbots/courtesy/politeness/refusal"
)

// An answer with a good status can be a challenge. This one has status 202.
func ExampleOf() {
	resp := &http.Response{StatusCode: 202, Header: http.Header{"Sg-Captcha": {"challenge"}}}
	if r, ok := refusal.Of(resp); ok {
		fmt.Println(r.By, r.Kind, r.Sure)
		fmt.Println(r.Evidence)
	}
	// Output:
	// SiteGround challenge true
	// 202, sg-captcha: challenge
}

// Some services respond with status 200 and no indicator in the header.
func ExampleOfPage() {
	resp := &http.Response{StatusCode: 200}
	page := []byte(`<!doctype html><script id="anubis_challenge" type="application/json">{}</script>`)
	r, ok := refusal.OfPage(resp, page)
	fmt.Println(r.By, r.Kind, r.Sure, ok)
	// Output:
	// Anubis challenge false true
}

// A refusal can name the price of the page, and the address of the terms.
func ExampleRefusal_price() {
	resp := &http.Response{StatusCode: 402, Header: http.Header{
		"Crawler-Price": {"USD 0.01"},
		"Link":          {`<https://example.com/license.xml>; rel="license"`},
	}}
	r, _ := refusal.Of(resp)
	fmt.Println(r.Kind, r.Price, r.Currency, r.License)
	fmt.Println(r)
	// Output:
	// payment 0.01 USD https://example.com/license.xml
	// Cloudflare: payment (402, crawler-price: USD 0.01)
}
