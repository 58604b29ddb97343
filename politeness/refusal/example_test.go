package refusal_test

import (
	"fmt"
	"log"
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

// A site has bot protection of its own, which responds with status 200. The
// crawler's operator has seen its page, and describes it with a rule.
func ExampleNewDetector() {
	detector, err := refusal.NewDetector(refusal.Rule{
		By:     "example.com",
		Kind:   refusal.Block,
		Sure:   true,
		Header: "X-Shield",
		Text:   []string{"<title>Access paused</title>"},
	})
	if err != nil {
		log.Fatal(err)
	}
	resp := &http.Response{StatusCode: 200, Header: http.Header{"X-Shield": {"9f3c"}}}
	page := []byte(`<html><head><title>Access paused</title></head></html>`)
	r, ok := detector.OfPage(resp, page)
	fmt.Println(ok, r)

	// The built-in indicators apply, too.
	resp = &http.Response{StatusCode: 403, Header: http.Header{"Cf-Mitigated": {"challenge"}}}
	r, ok = detector.Of(resp)
	fmt.Println(ok, r)
	// Output:
	// true example.com: block (200, x-shield: 9f3c, the page has <title>Access paused</title>)
	// true Cloudflare: challenge (403, cf-mitigated: challenge)
}

// A rule that would match every ordinary response is an error.
func ExampleNewDetector_error() {
	_, err := refusal.NewDetector(refusal.Rule{Kind: refusal.Block, Statuses: []int{200}})
	fmt.Println(err)
	// Output:
	// refusal: rule 0: status 200 in Statuses needs a Header or a Text; otherwise all responses with this status would be refusals
}
