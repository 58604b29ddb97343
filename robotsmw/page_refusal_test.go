package robotsmw

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness/refusal"
)

// Some rows are responses that bot protection or a server sends instead of the
// page. The other rows look similar, but are pages.
func TestRefusalsOfPages(t *testing.T) {
	const html = "Content-Type: text/html"
	const noindex = "X-Robots-Tag: noindex"
	anubis := strings.Replace(anubisPage, "<title>", `<meta name="robots" content="noindex,nofollow"><title>`, 1)
	const article = "<html><body>hello</body></html>"
	for _, tt := range []struct {
		name    string
		status  int
		headers []string
		body    string
		by      string
		kind    refusal.Kind // 0 means no refusal
		likely  bool         // whether the refusal is a guess, so that Sure is false
		noIndex bool         // whether the page's directives have noindex
	}{
		// These 14 responses were received from real sites for /robots.txt.
		// Here, the requests are for a page.
		{name: "Cloudflare's challenge", status: 403, headers: []string{html, "Cf-Mitigated: challenge"},
			body: noIndexPage, by: "Cloudflare", kind: refusal.Challenge},
		{name: "AWS WAF's challenge", status: 202, headers: []string{"X-Amzn-Waf-Action: challenge"}, by: "AWS WAF",
			kind: refusal.Challenge},
		{name: "AWS WAF's captcha", status: 405, headers: []string{html, "X-Amzn-Waf-Action: captcha"},
			body: noIndexPage, by: "AWS WAF", kind: refusal.Captcha},
		{name: "SiteGround's challenge", status: 202, headers: []string{html, noindex, "Sg-Captcha: challenge"},
			body: siteGroundPage, by: "SiteGround", kind: refusal.Challenge},
		{name: "Anubis' challenge", status: 200, headers: []string{html}, body: anubis, by: "Anubis",
			kind: refusal.Challenge, likely: true, noIndex: true},
		{name: "DataDome's challenge", status: 403, headers: []string{"X-Datadome: protected", "X-Dd-B: 1"},
			by: "DataDome", kind: refusal.Challenge},
		{name: "go-away's challenge", status: 418, headers: []string{html, "Refresh: 2; url=/?__goaway=1"},
			body: article, by: "go-away", kind: refusal.Challenge, likely: true},
		{name: "legal reasons", status: 451, headers: []string{html}, body: noIndexPage, kind: refusal.Legal},
		{name: "Cloudflare's price", status: 402, headers: []string{html, "Crawler-Price: USD 0.01"}, body: article,
			by: "Cloudflare", kind: refusal.Payment},
		{name: "RSL's license", status: 401, headers: []string{"Www-Authenticate: License"}, kind: refusal.License},
		{name: "no content", status: 204},
		{name: "a rate limit", status: 429, headers: []string{html, noindex, "Retry-After: 30"}, body: article,
			kind: refusal.RateLimit},
		{name: "Shopify's rate limit", status: 430, headers: []string{html, noindex}, body: article,
			kind: refusal.RateLimit},
		{name: "Vercel's challenge", status: 429, headers: []string{"X-Vercel-Mitigated: challenge"}, by: "Vercel",
			kind: refusal.Challenge},
		{name: "an unrequested part", status: 206, headers: []string{html}, body: article},

		// These refusals are guesses. The response may be the page after all,
		// so its directives are reported too.
		{name: "SiteGround's page without its field", status: 202, headers: []string{html}, body: siteGroundPage,
			by: "SiteGround", kind: refusal.Challenge, likely: true},
		{name: "Cloudflare's block", status: 403, headers: []string{html},
			body: `<html><div id="cf-error-details">Sorry, you have been blocked</div></html>`, by: "Cloudflare",
			kind: refusal.Block, likely: true},
		{name: "HUMAN's captcha", status: 403, headers: []string{html},
			body: `<html><meta name="description" content="px-captcha"></html>`, by: "HUMAN", kind: refusal.Captcha,
			likely: true},
		{name: "Akamai's denial", status: 403, headers: []string{html},
			body: "<HTML><TITLE>Access Denied</TITLE>Reference #18.8c2d1502.17.2</HTML>", by: "Akamai",
			kind: refusal.Block, likely: true},
		{name: "Imperva's incident", status: 200, headers: []string{html},
			body: `<html><META NAME="ROBOTS" CONTENT="NOINDEX">Incapsula incident ID: 877000250</html>`, by: "Imperva",
			kind: refusal.Block, likely: true, noIndex: true},
		{name: "Anubis' challenge in UTF-16", status: 200, headers: []string{html + "; charset=utf-16le"},
			body: utf16le(anubis), by: "Anubis", kind: refusal.Challenge, likely: true, noIndex: true},
		{name: "Anubis' challenge, packed", status: 200, headers: []string{html, "Content-Encoding: gzip"},
			body: gzipped(anubis), by: "Anubis", kind: refusal.Challenge, likely: true, noIndex: true},
		{name: "a cookie and a mark", status: 200, headers: []string{html, "Set-Cookie: _fs_ch_st_x4=abc"},
			body: anubis, by: "Fastly", kind: refusal.Challenge, likely: true, noIndex: true},

		// These responses look like refusals but are not.
		{name: "a page", status: 200, headers: []string{html}, body: article},
		{name: "a page with noindex", status: 200, headers: []string{html}, body: noIndexPage, noIndex: true},
		{name: "not found", status: 404, headers: []string{html}, body: noIndexPage, noIndex: true},
		{name: "forbidden", status: 403, headers: []string{html}, body: noIndexPage, noIndex: true},
		{name: "a page with a password", status: 401,
			headers: []string{html, `Www-Authenticate: Basic realm="License"`}, body: noIndexPage, noIndex: true},
		{name: "the server is down", status: 503, headers: []string{html, "Retry-After: 30"}, body: article},
		{name: "a page about captchas", status: 200, headers: []string{html},
			body: "<html>Just a moment... px-captcha, cf-mitigated: challenge, Access Denied</html>"},
		{name: "a page about Anubis", status: 200, headers: []string{html},
			body: `<html><pre>&lt;script id="anubis_challenge"</pre></html>`},
		{name: "a long article on Anubis, with its source", status: 200, headers: []string{html},
			body: "<html>" + strings.Repeat("<p>words</p>", 2000) + anubis, noIndex: true},
		{name: "Anubis' page beyond 16 KiB", status: 200, headers: []string{html},
			body: "<html>" + strings.Repeat(" ", 16<<10) + anubis, noIndex: true},
		{name: "a form with a reCAPTCHA", status: 200, headers: []string{html},
			body: `<html><form><div class="g-recaptcha" data-sitekey="6L"></div></form></html>`},
		{name: "Cloudflare's script on an ordinary page", status: 200, headers: []string{html, "Server: cloudflare"},
			body: `<html><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script></html>`},
		{name: "Cloudflare's script on a page not found", status: 404, headers: []string{html, "Server: cloudflare"},
			body: `<html><script>window._cf_chl_opt={};</script></html>`},
		{name: "a page behind DataDome", status: 200,
			headers: []string{html, "X-Datadome: protected", "Set-Cookie: datadome=x"}, body: article},
		{name: "a page behind HUMAN", status: 200, headers: []string{html, "Set-Cookie: _px3=abc"},
			body: `<html><script>window._pxAppId = 'PX1';</script></html>`},
		{name: "a page behind Akamai", status: 200,
			headers: []string{html, "Akamai-Grn: 0.8c2", "Set-Cookie: _abck=1"}, body: article},
		{name: "a page behind AWS WAF", status: 200, headers: []string{html, "X-Amzn-Waf-Action: allow"},
			body: article},
		{name: "a page behind Vercel", status: 200, headers: []string{html, "X-Vercel-Id: fra1::1"}, body: article},
		{name: "a page that was paid for", status: 200, headers: []string{html, "Crawler-Charged: USD 0.01"},
			body: article},
		{name: "a page with a license", status: 200,
			headers: []string{html, `Link: <https://a.example/license.xml>; rel="license"`}, body: article},
		{name: "payment required, by the site itself", status: 402, headers: []string{html}, body: article},
		{name: "a mark in what is no HTML", status: 200, headers: []string{"Content-Type: text/plain"}, body: anubis},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for how, opts := range map[string]PageOptions{"": {}, "read ahead": {ReadAhead: time.Second}} {
				web := pageWeb(respond(tt.status, tt.body, tt.headers...).ServeHTTP)
				client := &http.Client{Transport: newTestTransport(t, web, func(o *Options) { o.Page = opts })}
				resp := getPage(t, client, func(r *http.Request) { r.Header.Set("Accept-Encoding", "identity") })
				before := PageDirectives(resp)
				io.Copy(io.Discard, iotest.OneByteReader(resp.Body))
				directives := PageDirectives(resp)
				resp.Body.Close()
				got := directives.Refusal
				isSure := tt.kind != 0 && !tt.likely
				if got.By != tt.by || got.Kind != tt.kind || got.Sure != isSure {
					t.Errorf("%s: refusal %v (%+v), want by %q, kind %v, sure %t", how, got, got, tt.by, tt.kind,
						isSure)
				}
				if directives.NoIndex() != tt.noIndex {
					t.Errorf("%s: noindex is %v, want %v", how, directives.NoIndex(), tt.noIndex)
				}
				isKnown := before.Refusal == got && directives.State == PageNotExamined
				if got.Sure && (!isKnown || len(resp.Header) == 0) {
					t.Errorf("%s: a sure refusal: before the body %+v, and the state is %v; want the same refusal, and not examined",
						how, before.Refusal, directives.State)
				}
				if again := PageDirectives(resp); again.Refusal != got || again.State != directives.State && got.Sure {
					t.Errorf("%s: after Close, refusal %+v and state %v, want the same as before", how, again.Refusal,
						again.State)
				}
			}
		})
	}
}

func utf16le(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		b.WriteByte(c)
		b.WriteByte(0)
	}
	return b.String()
}

// A page of bot protection is recognized by a substring, such as
// "anubis_challenge". The refusal is reported as soon as the caller has read
// the whole substring.
func TestLikelyRefusals_OfPagesInPieces(t *testing.T) {
	split := strings.Index(anubisPage, "anubis_challenge") + len("anub")
	web := pageWeb(respond(200, anubisPage, "Content-Type: text/html").ServeHTTP)
	client := &http.Client{Transport: newTestTransport(t, web)}
	resp := getPage(t, client)
	io.ReadFull(resp.Body, make([]byte, split))
	if r := PageDirectives(resp).Refusal; r.Kind != 0 {
		t.Errorf("after half of the substring, Refusal is %v, want none", r)
	}
	io.ReadFull(resp.Body, make([]byte, len(anubisPage)-split))
	if r := PageDirectives(resp).Refusal; r.By != "Anubis" || r.Sure {
		t.Errorf("after the whole substring, Refusal is %+v, want By Anubis and Sure false", r)
	}
	resp.Body.Close()

	resp = getPage(t, client)
	io.ReadFull(resp.Body, make([]byte, len(anubisPage)-1))
	resp.Body.Close() // the body is closed before the first call of PageDirectives
	if r := PageDirectives(resp).Refusal; r.By != "Anubis" {
		t.Errorf("after an early Close, Refusal is %+v, want By Anubis", r)
	}
}

// For a response that did not come through a Transport, PageDirectives finds a
// refusal by the status and the header.
func TestPageDirectives_OfARefusalThatCameThroughNoTransport(t *testing.T) {
	for name, request := range map[string]*http.Request{"no request": nil, "another's": new(http.Request)} {
		resp := &http.Response{StatusCode: 403, Request: request,
			Header: http.Header{"Cf-Mitigated": {"challenge"}, "X-Robots-Tag": {"noindex"}}}
		if directives := PageDirectives(resp); directives.Refusal.By != "Cloudflare" || directives.NoIndex() {
			t.Errorf("%s: got %+v, want a refusal of Cloudflare without noindex", name, directives)
		}
		resp.Header.Del("Cf-Mitigated")
		if directives := PageDirectives(resp); directives.Refusal != (refusal.Refusal{}) || !directives.NoIndex() {
			t.Errorf("%s: got %+v, want noindex without a refusal", name, directives)
		}
	}
}

// The caller receives the response of bot protection unchanged, and the client
// does not retry the request.
func TestARefusalIsHandedOnAndNotTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, header := range []string{"Cf-Mitigated: challenge", "Crawler-Price: USD 0.01"} {
			web := pageWeb(respond(402, "<html>pay</html>", "Content-Type: text/html", header).ServeHTTP)
			client, err := NewClient(Options{UserAgent: testAgent, Base: web, Logger: quiet()})
			if err != nil {
				t.Fatal(err)
			}
			resp := getPage(t, client)
			body, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if string(body) != "<html>pay</html>" || err != nil || resp.StatusCode != 402 {
				t.Errorf("got status %d and body %q (error %v), want the response unchanged", resp.StatusCode, body,
					err)
			}
			time.Sleep(time.Hour)
			if n := len(web.Log()); n != 2 {
				t.Errorf("%d requests, want robots.txt and the page", n)
			}
		}
	})
}

// A long page with Imperva's script is not a challenge, even if only its
// beginning is examined. Its noindex applies.
func TestLikelyRefusals_OfLongPages(t *testing.T) {
	const head = `<html><head><script src="/_Incapsula_Resource?SWJIYLWA=71"></script><meta name="robots" content="noindex"></head>`
	for how, opts := range map[string]PageOptions{"": {}, "read ahead": {ReadAhead: time.Second}} {
		for _, coding := range []string{"", "gzip"} {
			page := head + strings.Repeat("<p>text", 10_000)
			headers := []string{"Content-Type: text/html"}
			if coding != "" {
				page, headers = gzipped(page+strings.Repeat("\n", 1<<16)), append(headers, "Content-Encoding: gzip")
			}
			for _, known := range []bool{false, true} {
				lines := headers
				if known {
					lines = append(lines, "Content-Length: "+strconv.Itoa(len(page)))
				}
				web := pageWeb(respond(200, page, lines...).ServeHTTP)
				client := &http.Client{Transport: newTestTransport(t, web, func(o *Options) { o.Page = opts })}
				get := func() *http.Response {
					return getPage(t, client,
						func(r *http.Request) { r.Header.Set("Accept-Encoding", "gzip, identity") })
				}
				begun := get()
				io.ReadFull(begun.Body, make([]byte, len(head)))
				if directives := PageDirectives(begun); known && coding == "" && directives.Refusal.Kind != 0 {
					t.Errorf("%s: after the beginning of the body, refusal %v, want none", how, directives.Refusal)
				}
				for _, resp := range []*http.Response{begun, get()} {
					io.Copy(io.Discard, resp.Body)
					resp.Body.Close()
					if directives := PageDirectives(resp); directives.Refusal.Kind != 0 || !directives.NoIndex() {
						t.Errorf("%s %s, length %v: refusal %v and noindex %v, want none and true", how, coding,
							resp.ContentLength, directives.Refusal, directives.NoIndex())
					}
				}
			}
		}
	}
}
