package robotsmw

import (
	"net/http"
	"testing"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/refusal"
)

// A politeness.Transport searches the status and the header for a refusal. If
// it finds none, a robotsmw.Transport directly above it does not repeat the
// search. If another RoundTripper is between the two, the robotsmw.Transport
// searches again, because the header may have changed.
func TestRefusal_IsFoundAboveThePace(t *testing.T) {
	challenge := []string{"Content-Type: text/html", "Cf-Mitigated: challenge"}
	page := []string{"Content-Type: text/html"}
	for _, tt := range []struct {
		name    string
		status  int
		headers []string
		above   string // a header field that is added above the politeness.Transport
		kind    refusal.Kind
	}{
		{"a challenge", 403, challenge, "", refusal.Challenge},
		{"a challenge with status 200", 200, challenge, "", refusal.Challenge},
		{"a rate limit", 429, page, "", refusal.RateLimit},
		{"legal reasons", 451, page, "", refusal.Legal},
		{"a page", 200, page, "", 0},
		{"a page above which a challenge is added", 200, page, "Cf-Mitigated", refusal.Challenge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := pageWeb(respond(tt.status, "<p>words</p>", tt.headers...).ServeHTTP)
			limiter := &politeness.Limiter{Delay: -1}
			tr := newTestTransport(t, web, func(o *Options) { o.Limiter = limiter })
			if tt.above != "" {
				paced := &politeness.Transport{Base: web, Limiter: limiter}
				tr = newTestTransport(t, roundTripperFunc(func(r *http.Request) (*http.Response, error) {
					resp, err := paced.RoundTrip(r)
					if err == nil && r.URL.Path != "/robots.txt" {
						resp.Header.Set(tt.above, "challenge")
					}
					return resp, err
				}))
			}
			resp := getPage(t, &http.Client{Transport: tr})
			defer resp.Body.Close()
			if got := PageDirectives(resp).Refusal; got.Kind != tt.kind {
				t.Errorf("Refusal is %+v, want the kind %v", got, tt.kind)
			}
		})
	}
}
