package robotstest_test

import (
	"net/http"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// BenchmarkRoundTrip measures the cost of one request in a test.
func BenchmarkRoundTrip(b *testing.B) {
	var web robotstest.Internet
	web.Handle("a.example", robotstest.Site{"/": "<p>hello"})
	req, _ := http.NewRequest("GET", "http://a.example/", nil)
	b.ReportAllocs()
	for b.Loop() {
		resp, err := web.RoundTrip(req)
		if err != nil {
			b.Fatal(err)
		}
		resp.Body.Close()
	}
}
