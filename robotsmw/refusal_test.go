package robotsmw

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const (
	anubisPage     = "<!doctype html><html lang=\"en\"><head><title>Making sure you&#39;re not a bot!</title><script id=\"anubis_challenge\" type=\"application/json\">{}</script></head></html>"
	siteGroundPage = "<html><head><link rel=\"icon\" href=\"data:;\"><meta http-equiv=\"refresh\" content=\"0;/.well-known/sgcaptcha/?r=%2Frobots.txt&y=ipr:192.0.2.1\"></head></html>"
	notFoundPage   = "<!doctype html><html><body><h1>Not found</h1></body></html>"
	rulesWithMarks = someRules + "# noindex http-equiv=\"refresh\" <script id=\"anubis_challenge\"\nDisallow: /_Incapsula_Resource?\nDisallow: /.well-known/sgcaptcha/\nDisallow: /.within.website/x/cmd/anubis/\n"
)

// TestAnswersOfWalls tests responses to requests for robots.txt. If bot
// protection responds, the site's rules are unknown, so robots.txt is
// unreachable (RFC 9309 §2.3.1.4). A response that only looks like bot
// protection counts as the site's own.
func TestAnswersOfWalls(t *testing.T) {
	html := "Content-Type: text/html; charset=utf-8"
	for _, tt := range []struct {
		name    string
		status  int
		headers []string
		body    string
		want    verdict
		cause   string
		next    time.Duration // 0 means a minute if unreachable, otherwise a day
	}{
		// These fourteen responses were received from real sites.
		{name: "Cloudflare's challenge", status: 403, headers: []string{"Cf-Mitigated: challenge", "Server: cloudflare", html}, body: "<!DOCTYPE html><title>Just a moment...</title>",
			want: unreachable, cause: "Cloudflare: challenge (403, cf-mitigated: challenge)"},
		{name: "AWS WAF's challenge, which is empty", status: 202, headers: []string{"X-Amzn-Waf-Action: challenge"},
			want: unreachable, cause: "AWS WAF: challenge (202, x-amzn-waf-action: challenge)"},
		{name: "AWS WAF's captcha", status: 405, headers: []string{"X-Amzn-Waf-Action: captcha", html}, body: "<html>",
			want: unreachable, cause: "AWS WAF: captcha (405, x-amzn-waf-action: captcha)"},
		{name: "SiteGround's challenge", status: 202, headers: []string{"Sg-Captcha: challenge", html}, body: siteGroundPage,
			want: unreachable, cause: "SiteGround: challenge (202, sg-captcha: challenge)"},
		{name: "Anubis' challenge", status: 200, headers: []string{html}, body: anubisPage,
			want: unreachable, cause: `Anubis: challenge (200, the page has <script id="anubis_challenge")`},
		{name: "DataDome's challenge", status: 403, headers: []string{"X-Datadome: protected", "X-Dd-B: 1"},
			want: unreachable, cause: "DataDome: challenge (403, x-dd-b: 1)"},
		{name: "go-away's challenge", status: 418, headers: []string{"Refresh: 2; url=/?__goaway=1", html}, body: "<html>",
			want: unreachable, cause: "go-away: challenge (418, refresh: 2; url=/?__goaway=1)"},
		{name: "legal reasons", status: 451, headers: []string{`Link: <https://spqr.example.org/>; rel="blocked-by"`},
			want: allowAll},
		{name: "Cloudflare's price", status: 402, headers: []string{"Crawler-Price: USD 0.01"},
			want: unreachable, cause: "Cloudflare: payment (402, crawler-price: USD 0.01)"},
		{name: "RSL's license", status: 401, headers: []string{`Www-Authenticate: License error="invalid_request"`},
			want: unreachable, cause: `the server: license (401, www-authenticate: License error="invalid_request")`},
		{name: "no content", status: 204, want: allowAll},
		{name: "Cloudflare's rate limit", status: 429, headers: []string{"Retry-After: 30", "Server: cloudflare"},
			want: unreachable, cause: "status 429 Too Many Requests", next: 30 * time.Second},
		{name: "Vercel's challenge", status: 429, headers: []string{"X-Vercel-Mitigated: challenge"},
			want: unreachable, cause: "Vercel: challenge (429, x-vercel-mitigated: challenge)"},
		{name: "an unrequested part", status: 206, headers: []string{"Content-Range: bytes 0-33/34"}, body: someRules,
			want: unreachable, cause: "status 206 Partial Content, although no range was requested"},

		// A proxy responds instead of the site, such as one whose quota is
		// spent. Its 4xx must not allow every page of the site for a day.
		{name: "a proxy that requires a password", status: 407, headers: []string{`Proxy-Authenticate: Basic realm="p"`},
			want: unreachable, cause: "a proxy requires authentication (status 407): set the user and password in the proxy's URL"},
		{name: "a proxy that finds no address", status: 404, headers: []string{"Proxy-Status: p.example; error=dns_error"},
			want: unreachable, cause: "the proxy p.example reports an error: dns_error (status 404, Proxy-Status)"},
		{name: "the second of two proxies", status: 403, headers: []string{`Proxy-Status: a.example, "b"; error=http_request_denied; details="quota"`},
			want: unreachable, cause: `the proxy "b" reports an error: http_request_denied (status 403, Proxy-Status)`},
		{name: "Squid's rules", status: 403, headers: []string{"X-Squid-Error: ERR_ACCESS_DENIED 0", html}, body: "<html>",
			want: unreachable, cause: "the proxy Squid reports an error: ERR_ACCESS_DENIED 0 (status 403, X-Squid-Error)"},
		{name: "a proxy that passes the site's 404 on", status: 404,
			headers: []string{"Proxy-Status: p.example; received-status=404"}, want: allowAll},
		{name: "a CDN that knows that there is no file", status: 404,
			headers: []string{"Proxy-Status: cdn.example; error=proxy_internal_response"}, want: allowAll},
		{name: "a proxy that blocks by itself", status: 403, headers: []string{"Proxy-Status: p.example; error=proxy_internal_response"},
			want: unreachable, cause: "the proxy p.example reports an error: proxy_internal_response (status 403, Proxy-Status)"},
		{name: "a field that is not Proxy-Status", status: 404, headers: []string{"Proxy-Status: error=dns_error;"},
			want: allowAll},
		{name: "a proxy that has an error, and a body of the site", status: 200,
			headers: []string{"Proxy-Status: p.example; error=http_response_incomplete"}, body: someRules, want: obey},

		// These are more responses of bot protection.
		{name: "a challenge with Retry-After", status: 403, headers: []string{"Cf-Mitigated: challenge", "Retry-After: 7200"},
			want: unreachable, cause: "Cloudflare: challenge (403, cf-mitigated: challenge)", next: 2 * time.Hour},
		{name: "a challenge with rules in it", status: 202, headers: []string{"X-Amzn-Waf-Action: challenge"}, body: someRules,
			want: unreachable, cause: "AWS WAF: challenge (202, x-amzn-waf-action: challenge)"},
		{name: "a challenge in an unknown coding", status: 202, headers: []string{"X-Amzn-Waf-Action: challenge", "Content-Encoding: br"}, body: "x",
			want: unreachable, cause: "AWS WAF: challenge (202, x-amzn-waf-action: challenge)"},
		{name: "a challenge instead of a redirect", status: 302, headers: []string{"X-Dd-B: 2", "Location: https://captcha.example/"},
			want: unreachable, cause: "DataDome: block (302, x-dd-b: 2)"},
		{name: "a challenge with a status of 503", status: 503, headers: []string{"Cf-Mitigated: challenge"},
			want: unreachable, cause: "Cloudflare: challenge (503, cf-mitigated: challenge)"},
		{name: "SiteGround's page without its field", status: 202, headers: []string{html}, body: siteGroundPage,
			want: unreachable, cause: `SiteGround: challenge (202, the page has http-equiv="refresh" and /.well-known/sgcaptcha/)`},
		{name: "a page of unknown bot protection, accepted", status: 202, headers: []string{html}, body: "<html>wait</html>",
			want: unreachable, cause: "status 202 Accepted with an HTML page, which is typical of a challenge"},
		{name: "a page of unknown bot protection, accepted, labeled as text", status: 202, headers: []string{"Content-Type: text/plain"}, body: "\ufeff\r\n <html>wait</html>",
			want: unreachable, cause: "status 202 Accepted with an HTML page, which is typical of a challenge"},
		{name: "an HTML page without a byte, accepted", status: 202, headers: []string{html},
			want: unreachable, cause: "status 202 Accepted with an HTML page, which is typical of a challenge"},
		{name: "Anubis' challenge with a status of its operator's", status: 403, headers: []string{html}, body: anubisPage,
			want: unreachable, cause: `Anubis: challenge (403, the page has <script id="anubis_challenge")`},
		{name: "Anubis' challenge, packed", status: 401, headers: []string{html, "Content-Encoding: gzip"}, body: gzipped(anubisPage),
			want: unreachable, cause: `Anubis: challenge (401, the page has <script id="anubis_challenge")`},
		{name: "Anubis' challenge, labeled as text", status: 200, headers: []string{"Content-Type: text/plain"}, body: anubisPage,
			want: unreachable, cause: `Anubis: challenge (200, the page has <script id="anubis_challenge")`},
		{name: "Cloudflare's error 1020, as text", status: 403, headers: []string{"Content-Type: text/plain"}, body: "error code: 1020",
			want: unreachable, cause: "Cloudflare: block (403, the page has error code: 1)"},
		{name: "Akamai's denial", status: 403, headers: []string{html}, body: "<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY>Reference #18.8c2d1502.17.2</BODY></HTML>",
			want: unreachable, cause: "Akamai: block (403, the page has Access Denied and Reference #18.)"},
		{name: "Cloudflare's price after an invalid offer", status: 402, headers: []string{"Crawler-Error: InvalidCrawlerMaxPrice"},
			want: unreachable, cause: "Cloudflare: payment (402, crawler-error: InvalidCrawlerMaxPrice)"},
		{name: "x402's price", status: 402, headers: []string{"Payment-Required: eyJ4NDAyVmVyc2lvbiI6Mn0="},
			want: unreachable, cause: "the server: payment (402, payment-required: eyJ4NDAyVmVyc2lvbiI6Mn0=)"},
		{name: "a cookie that begins a challenge, with a page", status: 200, headers: []string{html, "Set-Cookie: techaro.lol-anubis-cookie-verification=0198; Path=/"}, body: notFoundPage,
			want: unreachable, cause: "Anubis: challenge (200, set-cookie: techaro.lol-anubis-cookie-verification=0198; Path=/)"},

		// These are responses of the site itself.
		{name: "401", status: 401, body: notFoundPage, want: allowAll},
		{name: "401 with a password", status: 401, headers: []string{`Www-Authenticate: Basic realm="x"`},
			want: allowAll},
		{name: "402", status: 402, headers: []string{html}, body: notFoundPage, want: allowAll},
		{name: "403", status: 403, headers: []string{"Server: nginx", html},
			body: "<html><h1>403 Forbidden</h1></html>", want: allowAll},
		{name: "403 behind Cloudflare", status: 403, headers: []string{"Server: cloudflare", "Cf-Ray: 8c1", html},
			body: "<html><h1>Forbidden</h1></html>", want: allowAll},
		{name: "404", status: 404, headers: []string{html}, body: notFoundPage, want: allowAll},
		{name: "404 behind DataDome", status: 404, headers: []string{"X-Datadome: protected"}, want: allowAll},
		{name: "404 in an unknown coding", status: 404, headers: []string{html, "Content-Encoding: br"}, body: "x",
			want: allowAll},
		{name: "404 in a coding that is broken", status: 404, headers: []string{html, "Content-Encoding: gzip"},
			body: gzipped(notFoundPage)[:30], want: allowAll},
		{name: "404 with a page about bot protection", status: 404, headers: []string{html},
			body: "<html>Just a moment... px-captcha, cf-mitigated: challenge, Access Denied</html>", want: allowAll},
		{name: "a short 404 behind Imperva", status: 404, headers: []string{html},
			body: `<html><head><meta name="robots" content="noindex"><script src="/_Incapsula_Resource?SWJIYLWA=5074"></script></head><body>Not found</body></html>`,
			want: allowAll},
		{name: "410 with a substring of bot protection", status: 410, headers: []string{html}, body: anubisPage,
			want: allowAll},
		{name: "410", status: 410, headers: []string{html}, body: notFoundPage, want: allowAll},
		{name: "418", status: 418, body: "I'm a teapot", want: allowAll},
		{name: "451", status: 451, want: allowAll},
		{name: "a soft 404", status: 200, headers: []string{html}, body: notFoundPage, want: allowAll},
		{name: "a soft 404 with a form against robots", status: 200, headers: []string{html},
			body: `<html><form><div class="g-recaptcha" data-sitekey="6L"></div></form></html>`, want: allowAll},
		{name: "a soft 404 behind Cloudflare", status: 200, headers: []string{html, "Server: cloudflare"},
			body: `<html><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script></html>`,
			want: allowAll},
		{name: "a soft 404 whose mark is beyond 16 KiB", status: 200, headers: []string{html},
			body: "<html>" + strings.Repeat(" ", 16<<10) + anubisPage, want: allowAll},
		{name: "rules behind DataDome", status: 200, headers: []string{"X-Datadome: protected"}, body: someRules,
			want: obey},
		{name: "rules behind AWS WAF", status: 200, headers: []string{"X-Amzn-Waf-Action: allow"}, body: someRules,
			want: obey},
		{name: "rules on paths of bot protection", status: 200, body: rulesWithMarks, want: obey},
		{name: "rules as HTML", status: 200, headers: []string{html}, body: someRules, want: obey},
		{name: "rules and a cookie that may begin a challenge", status: 200,
			headers: []string{"Set-Cookie: _fs_ch_st_x4=abc; Path=/"}, body: someRules, want: obey},
		{name: "rules, accepted", status: 202, headers: []string{"Content-Type: text/plain"}, body: someRules,
			want: obey},
		{name: "rules, accepted, without a type", status: 202, headers: []string{"Content-Type: "}, body: someRules,
			want: obey},
		{name: "nothing, accepted", status: 202, want: allowAll},
		{name: "rules that were paid for", status: 200, headers: []string{"Crawler-Charged: USD 0.01"},
			body: someRules, want: obey},
		{name: "rules with a legal link", status: 200,
			headers: []string{`Link: <https://a.example/>; rel="blocked-by"`}, body: someRules, want: obey},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", onlyRobots(respond(tt.status, tt.body, tt.headers...)))
				c := newTestTransport(t, &web).Checker()
				private, public := decide(t, c, "http://a.example/private/x"), decide(t, c, "http://a.example/x")
				if got := classify(private, public); got != tt.want {
					t.Errorf("the verdict is %s, want %s; the decisions are\n%v\n%v", got, tt.want, private, public)
				}
				if private.Cause != tt.cause {
					t.Errorf("the cause is %q, want %q", private.Cause, tt.cause)
				}
				next, want := private.Expires, 24*time.Hour
				if tt.want == unreachable {
					next, want = private.NextTry, time.Minute
					if private.Status != tt.status {
						t.Errorf("the status is %d, want %d", private.Status, tt.status)
					}
				}
				if tt.next != 0 {
					want = tt.next
				}
				if got := time.Until(next); got != want {
					t.Errorf("robots.txt is due again in %v, want %v", got, want)
				}
			})
		})
	}
}

// respond returns a handler that responds with this status and body. The
// headers have the form "Name: value".
func respond(code int, body string, headers ...string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status(code, headers...).ServeHTTP(w, r)
		io.WriteString(w, body)
	})
}

// While bot protection responds, the good copy is obeyed. The time to the next
// try doubles, as it does after any failure, unless the response has a
// Retry-After.
func TestTheGoodCopyOutlastsAWall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		var site switchable
		site.set(robots(someRules, `ETag: "1"`))
		web.Handle("a.example", &site)
		store := new(memoryStore)
		c := newTestTransport(t, &web, withStore(store)).Checker()
		decide(t, c, "http://a.example/")
		time.Sleep(25 * time.Hour)
		site.set(status(403, "Cf-Mitigated: challenge"))
		for n, want := range []time.Duration{time.Minute, 2 * time.Minute, 4 * time.Minute} {
			private, public := decide(t, c, "http://a.example/private/"), decide(t, c, "http://a.example/")
			if classify(private, public) != obey || !private.Stale {
				t.Errorf("try %d: got %v and %v; want the rules of the stale copy", n+1, private, public)
			}
			if got := time.Until(private.NextTry); got != want {
				t.Errorf("try %d: the next try is in %v, want %v", n+1, got, want)
			}
			time.Sleep(want)
		}
		site.set(status(403, "Cf-Mitigated: challenge", "Retry-After: 600"))
		if d := decide(t, c, "http://a.example/"); time.Until(d.NextTry) != 10*time.Minute {
			t.Errorf("the next try is in %v, want 10m", time.Until(d.NextTry))
		}
		synctest.Wait()
		c = newTestTransport(t, &web, withStore(store)).Checker()
		if d := decide(t, c, "http://a.example/private/"); d.Allowed || !d.Stale || d.Cause != "Cloudflare: challenge (403, cf-mitigated: challenge)" {
			t.Errorf("after a restart: got %v; want disallowed by the stale copy, with the cause", d)
		}
		site.set(robots(someRules))
		time.Sleep(10 * time.Minute)
		if d := decide(t, c, "http://a.example/private/"); d.Allowed || d.Stale || d.Cause != "" {
			t.Errorf("without bot protection: got %v; want disallowed by the new file", d)
		}
	})
}

// If the status of robots.txt is 4xx, the client searches the body for
// indicators of bot protection, but only at its beginning and for at most five
// seconds. If there is none, the status decides.
func TestPagesOfErrors(t *testing.T) {
	for name, tt := range map[string]struct {
		body http.Handler
		took time.Duration
	}{
		"without an end":  {robotstest.Trickle{Chunk: "<p>no such page</p>"}, 0},
		"a tarpit":        {robotstest.Trickle{Chunk: "<p>", Every: time.Second}, 5 * time.Second},
		"none":            {robotstest.Hang{}, 5 * time.Second},
		"one that breaks": {robotstest.Raw("HTTP/1.1 404 Not Found\r\nContent-Length: 1000\r\n\r\n<html>"), 0},
		"a wrong encoding": {robotstest.Raw("HTTP/1.1 404 Not Found\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n<html>"),
			0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var web robotstest.Internet
				web.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, raw := tt.body.(robotstest.Raw); !raw {
						w.WriteHeader(404)
						w.(http.Flusher).Flush()
					}
					tt.body.ServeHTTP(w, r)
				}))
				start := time.Now()
				d := decide(t, newTestTransport(t, &web).Checker(), "http://a.example/")
				if d.Reason != Unavailable || !d.Allowed || d.Status != 404 {
					t.Errorf("got %v, status %d; want allowed, because there is no robots.txt (404)", d, d.Status)
				}
				if took := time.Since(start); took != tt.took {
					t.Errorf("the check took %v, want %v", took, tt.took)
				}
			})
		})
	}
}

// If bot protection responds for the target of a redirect, the redirecting
// origin is unreachable too.
func TestWallBehindARedirect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var web robotstest.Internet
		web.Handle("b.example", status(202, "X-Amzn-Waf-Action: challenge", "Retry-After: 90"))
		for i, location := range []string{"http://b.example/robots.txt", "http://b.example/r.txt"} {
			host := fmt.Sprintf("h%d.example", i)
			web.Handle(host, status(301, "Location: "+location))
			d := decide(t, newTestTransport(t, &web).Checker(), "http://"+host+"/")
			if d.Reason != Unreachable || d.Cause != "AWS WAF: challenge (202, x-amzn-waf-action: challenge)" || time.Until(d.NextTry) != 90*time.Second {
				t.Errorf("%s: got %v; want unreachable because of AWS WAF, with a next try in 90s", location, d)
			}
		}
	})
}
