package robotsmw

import (
	"io"
	"net/http"
	"testing"
	"testing/iotest"

	"github.com/goodbots/courtesy/politeness/refusal"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// shieldRules returns a Detector with rules for a site that has its own bot
// protection.
func shieldRules(t *testing.T) *refusal.Detector {
	t.Helper()
	detector, err := refusal.NewDetector(
		refusal.Rule{By: "Shield", Kind: refusal.Block, Sure: true, Header: "X-Shield",
			Text: []string{"Access paused"}},
		refusal.Rule{By: "Gate", Kind: refusal.Challenge, Sure: true, Header: "X-Gate"},
		refusal.Rule{By: "Perhaps", Kind: refusal.Block, Text: []string{"please wait"}})
	if err != nil {
		t.Fatal(err)
	}
	return detector
}

// A page matches an additional rule, or fails one of its conditions. The body
// is read in one piece or byte by byte, and may be compressed.
func TestRefusals_Pages(t *testing.T) {
	const html = "Content-Type: text/html"
	const paused = `<html><meta name="robots" content="noindex"><title>Access paused</title></html>`
	for _, tt := range []struct {
		name    string
		headers []string
		body    string
		by      string
		sure    bool
		noIndex bool
	}{
		{name: "a field and a text", headers: []string{html, "X-Shield: 9f3c"}, body: paused, by: "Shield", sure: true},
		{name: "a field and a text, packed", headers: []string{html, "X-Shield: 9f3c", "Content-Encoding: gzip"},
			body: gzipped(paused), by: "Shield", sure: true},
		{name: "the text without the field", headers: []string{html}, body: paused, noIndex: true},
		{name: "the field without the text", headers: []string{html, "X-Shield: 9f3c"}, body: noIndexPage,
			noIndex: true},
		{name: "a field alone", headers: []string{html, "X-Gate: 1", "X-Robots-Tag: noindex"}, body: noIndexPage,
			by: "Gate", sure: true},
		{name: "a text that is not sure", headers: []string{html, "X-Robots-Tag: noindex"}, body: "<p>please wait</p>",
			by: "Perhaps", noIndex: true},
		{name: "a guess from a cookie, and a rule that is sure",
			headers: []string{html, "X-Shield: 9f3c", "Set-Cookie: techaro.lol-anubis-cookie-verification=1"},
			body:    paused, by: "Shield", sure: true},
		{name: "an indicator of the table", headers: []string{html}, body: anubisPage, by: "Anubis"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			web := pageWeb(respond(200, tt.body, tt.headers...).ServeHTTP)
			client, err := NewClient(Options{UserAgent: testAgent, Base: web, Refusals: shieldRules(t),
				Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			for how, read := range map[string]func(io.Reader) io.Reader{
				"whole":     func(r io.Reader) io.Reader { return r },
				"in pieces": iotest.OneByteReader,
			} {
				resp := getPage(t, client, func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") })
				io.Copy(io.Discard, read(resp.Body))
				resp.Body.Close()
				directives := PageDirectives(resp)
				if directives.Refusal.By != tt.by || directives.Refusal.Sure != tt.sure || directives.NoIndex() != tt.noIndex {
					t.Errorf("%s: refusal %+v, noindex %v; want %s, sure %v, noindex %v", how, directives.Refusal,
						directives.NoIndex(), tt.by, tt.sure, tt.noIndex)
				}
			}
		})
	}
}

// If a server sends a block page that is not HTML, with status 200, instead of
// robots.txt, the page counts as a file without rules unless a rule recognizes
// it. The rule applies whatever its Kind is, even if the built-in table uses
// that Kind only with other statuses.
func TestRefusals_RobotsTxt(t *testing.T) {
	detector, err := refusal.NewDetector(refusal.Rule{By: "Shield", Kind: refusal.Block, Sure: true,
		Text: []string{`"blocked":true`}})
	if err != nil {
		t.Fatal(err)
	}
	ofKind := func(kind refusal.Kind) *refusal.Detector {
		d, err := refusal.NewDetector(refusal.Rule{By: "Shield", Kind: kind, Sure: true,
			Text: []string{`"blocked":true`}})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, tt := range []struct {
		name     string
		refusals *refusal.Detector
		status   int
		body     string
		want     verdict
		cause    string
	}{
		{"a rule", detector, 200, `{"blocked":true}`, unreachable, `Shield: block (200, the page has "blocked":true)`},
		{"without the rule", nil, 200, `{"blocked":true}`, allowAll, ""},
		{"rules of the site", detector, 200, someRules, obey, ""},
		{"a rate limit, 200", ofKind(refusal.RateLimit), 200, `{"blocked":true}`, unreachable,
			`Shield: rate limit (200, the page has "blocked":true)`},
		{"a rate limit, 403", ofKind(refusal.RateLimit), 403, `{"blocked":true}`, unreachable,
			`Shield: rate limit (403, the page has "blocked":true)`},
		{"legal reasons, 200", ofKind(refusal.Legal), 200, `{"blocked":true}`, unreachable,
			`Shield: legal (200, the page has "blocked":true)`},
		{"legal reasons, 403", ofKind(refusal.Legal), 403, `{"blocked":true}`, unreachable,
			`Shield: legal (403, the page has "blocked":true)`},
		{"legal reasons, 451", ofKind(refusal.Legal), 451, `{"blocked":true}`, allowAll, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var web robotstest.Internet
			web.Handle("a.example", onlyRobots(respond(tt.status, tt.body)))
			c, err := NewChecker(Options{UserAgent: testAgent, Base: &web, Refusals: tt.refusals, Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			private, public := decide(t, c, "http://a.example/private/x"), decide(t, c, "http://a.example/x")
			if got := classify(private, public); got != tt.want || private.Cause != tt.cause {
				t.Errorf("the verdict is %v, and the cause %q; want %v and %q", got, private.Cause, tt.want, tt.cause)
			}
		})
	}
}
