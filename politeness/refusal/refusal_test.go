package refusal

import (
	"encoding/json"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// answer returns a response with header lines such as "Server: nginx".
func answer(status int, header ...string) *http.Response {
	h := make(http.Header)
	for _, line := range header {
		name, value, _ := strings.Cut(line, ": ")
		h.Add(name, value)
	}
	return &http.Response{StatusCode: status, Header: h}
}

func TestOf(t *testing.T) {
	tests := []struct {
		name   string
		answer *http.Response
		want   Refusal // what Of returns, except for the Evidence
	}{
		{
			name:   "Cloudflare's challenge",
			answer: answer(403, "cf-mitigated: challenge", "server: cloudflare"),
			want:   Refusal{By: "Cloudflare", Kind: Challenge, Sure: true},
		},
		{
			name:   "Cloudflare's challenge with status 503",
			answer: answer(503, "cf-mitigated: challenge"),
			want:   Refusal{By: "Cloudflare", Kind: Challenge, Sure: true},
		},
		{
			name:   "AWS WAF's challenge without a body",
			answer: answer(202, "x-amzn-waf-action: challenge"),
			want:   Refusal{By: "AWS WAF", Kind: Challenge, Sure: true},
		},
		{
			name:   "AWS WAF's captcha",
			answer: answer(405, "x-amzn-waf-action: captcha"),
			want:   Refusal{By: "AWS WAF", Kind: Captcha, Sure: true},
		},
		{
			name:   "Vercel's challenge",
			answer: answer(429, "x-vercel-mitigated: challenge"),
			want:   Refusal{By: "Vercel", Kind: Challenge, Sure: true},
		},
		{
			name:   "Vercel's denial",
			answer: answer(403, "x-vercel-mitigated: deny"),
			want:   Refusal{By: "Vercel", Kind: Block, Sure: true},
		},
		{
			name:   "Vercel's token alone",
			answer: answer(429, "x-vercel-challenge-token: 2.1795"),
			want:   Refusal{By: "Vercel", Kind: Challenge, Sure: true},
		},
		{
			name:   "SiteGround's captcha",
			answer: answer(202, "sg-captcha: challenge"),
			want:   Refusal{By: "SiteGround", Kind: Challenge, Sure: true},
		},
		{
			name:   "DataDome's challenge",
			answer: answer(403, "x-datadome: protected", "x-dd-b: 1"),
			want:   Refusal{By: "DataDome", Kind: Challenge, Sure: true},
		},
		{
			name:   "DataDome's block",
			answer: answer(403, "x-datadome: protected", "x-dd-b: 2"),
			want:   Refusal{By: "DataDome", Kind: Block, Sure: true},
		},
		{
			name:   "DataDome's field with status 401",
			answer: answer(401, "x-datadome: protected"),
			want:   Refusal{By: "DataDome", Kind: Challenge, Sure: true},
		},
		{
			name:   "DataDome's own server",
			answer: answer(403, "server: DataDome"),
			want:   Refusal{By: "DataDome", Kind: Challenge, Sure: true},
		},
		{
			name: "Sucuri's block",
			answer: answer(
				403,
				"server: Sucuri/Cloudproxy",
				"x-sucuri-id: 12013",
				"x-sucuri-block: EVA079",
			),
			want: Refusal{By: "Sucuri", Kind: Block, Sure: true},
		},
		{
			name: "Radware's redirect to its captcha",
			answer: answer(
				302,
				"location: https://validate.perfdrive.com/0a1b?ssa=1&ssc=https%3A%2F%2Fa.example%2F",
			),
			want: Refusal{By: "Radware", Kind: Captcha, Sure: true},
		},
		{
			name:   "Cloudflare's price",
			answer: answer(402, "crawler-price: usd 0.01"),
			want: Refusal{
				By:       "Cloudflare",
				Kind:     Payment,
				Sure:     true,
				Currency: "USD",
				Price:    "0.01",
			},
		},
		{
			name:   "an invalid price of Cloudflare",
			answer: answer(402, "crawler-price: free of charge"),
			want:   Refusal{By: "Cloudflare", Kind: Payment, Sure: true},
		},
		{
			name:   "Cloudflare's error about a missing price",
			answer: answer(402, "crawler-error: MissingCrawlerPrice"),
			want:   Refusal{By: "Cloudflare", Kind: Payment, Sure: true},
		},
		{
			name:   "Cloudflare's error about a failed payment",
			answer: answer(403, "crawler-error: PaymentFailed"),
			want:   Refusal{By: "Cloudflare", Kind: Payment, Sure: true},
		},
		{
			name:   "Cloudflare's error about a forbidden crawler",
			answer: answer(403, "crawler-error: CrawlerForbidden"),
			want:   Refusal{By: "Cloudflare", Kind: Block, Sure: true},
		},
		{
			name:   "Cloudflare's error about a missing signature",
			answer: answer(400, "crawler-error: StrongAuthRequired"),
			want:   Refusal{By: "Cloudflare", Kind: Block, Sure: true},
		},
		{
			name:   "Cloudflare's error about an invalid signature",
			answer: answer(400, "crawler-error: InvalidSignature"),
			want:   Refusal{By: "Cloudflare", Kind: Block, Sure: true},
		},
		{
			name:   "Cloudflare's error about two prices",
			answer: answer(400, "crawler-error: ConflictingPriceHeaders"),
			want:   Refusal{By: "Cloudflare", Kind: Payment, Sure: true},
		},
		{
			name:   "x402, version 2",
			answer: answer(402, "payment-required: eyJ4NDAyVmVyc2lvbiI6Mn0="),
			want:   Refusal{Kind: Payment, Sure: true},
		},
		{
			name:   "a challenge for an RSL license",
			answer: answer(401, `www-authenticate: License error="invalid_request"`),
			want:   Refusal{Kind: License, Sure: true},
		},
		{
			name: "a challenge for an RSL license with its URL",
			answer: answer(
				401,
				`www-authenticate: License error="invalid_request"`,
				`link: </style.css>; rel=preload, <https://a.example/license.xml>; rel="license"; type="application/rsl+xml"`,
			),
			want: Refusal{Kind: License, Sure: true, License: "https://a.example/license.xml"},
		},
		{
			name: "Cloudflare's price with a license",
			answer: answer(
				402,
				"crawler-price: EUR 2",
				`link: <https://a.example/a,b;c>; title="x, y\">"; REL="terms License"`,
			),
			want: Refusal{
				By:       "Cloudflare",
				Kind:     Payment,
				Sure:     true,
				Currency: "EUR",
				Price:    "2",
				License:  "https://a.example/a,b;c",
			},
		},
		{"RFC 7725 §3", answer(451), Refusal{Kind: Legal, Sure: true}},
		{
			name:   "RFC 7725 §4",
			answer: answer(451, `link: <https://spqr.example.org/legislatione>; rel="blocked-by"`),
			want:   Refusal{By: "https://spqr.example.org/legislatione", Kind: Legal, Sure: true},
		},
		{
			name: "a blocked-by link after another link",
			answer: answer(
				451,
				`link: <http://a.example/blocked-by>; rel="next", <http://b.example/>; rel=blocked-by`,
			),
			want: Refusal{By: "http://b.example/", Kind: Legal, Sure: true},
		},
		{
			name:   "DataDome's cookie with status 403",
			answer: answer(403, "set-cookie: datadome=x; Path=/"),
			want:   Refusal{By: "DataDome", Kind: Challenge},
		},
		{
			name:   "HUMAN's rate limit",
			answer: answer(429, "set-cookie: _pxhd=1"),
			want:   Refusal{Kind: RateLimit, Sure: true},
		},
		{
			name:   "Cloudflare's error 1015",
			answer: answer(429, "server: cloudflare", "retry-after: 30"),
			want:   Refusal{Kind: RateLimit, Sure: true},
		},
		{
			name:   "Anubis' cookie",
			answer: answer(200, "set-cookie: techaro.lol-anubis-cookie-verification=0198; Path=/"),
			want:   Refusal{By: "Anubis", Kind: Challenge},
		},
		{
			name:   "Fastly's cookie",
			answer: answer(406, "set-cookie: _fs_ch_st_x4=abc; Path=/"),
			want:   Refusal{By: "Fastly", Kind: Challenge},
		},
		{
			name:   "go-away's challenge",
			answer: answer(418, "refresh: 2; url=/?__goaway=1"),
			want:   Refusal{By: "go-away", Kind: Challenge},
		},
		{"Akamai's edge", answer(403, "server: AkamaiGHost"), Refusal{By: "Akamai", Kind: Block}},
		{"Shopify's 430", answer(430, "retry-after: 30"), Refusal{Kind: RateLimit, Sure: true}},
		{"RFC 6585 §4", answer(429, "retry-after: 30"), Refusal{Kind: RateLimit, Sure: true}},
	}
	covered := make(map[*headerIndicator]bool)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := Of(tt.answer)
			evidence := got.Evidence
			got.Evidence = ""
			if !ok || got != tt.want {
				t.Errorf("Of = %+v, %t, want %+v, true", got, ok, tt.want)
			}
			if n := len(evidence); n == 0 || n > 300 {
				t.Errorf("Of returns an Evidence of %d bytes, want 1 to 300: %q", n, evidence)
			}
			got, ok = OfPage(tt.answer, []byte("<html>"))
			got.Evidence = ""
			if !ok || got != tt.want {
				t.Errorf("OfPage = %+v, %t, want the result of Of: %+v, true", got, ok, tt.want)
			}
		})
		if ind, _ := findHeader(tt.answer); ind != nil {
			covered[ind] = true
		}
	}
	for _, s := range headerIndicators {
		if !covered[s] {
			t.Errorf("the indicator %s %s %s (%s) has no test",
				s.by, s.kind, s.field.name, s.source)
		}
	}
}

const (
	anubisChallenge     = "<!doctype html><html lang=\"en\"><head><title>Making sure you&#39;re not a bot!</title><meta name=\"robots\" content=\"noindex,nofollow\"><script id=\"anubis_version\" type=\"application/json\">\"v1.25\"</script><script id=\"anubis_challenge\" type=\"application/json\">{}</script></head><body></body></html>"
	anubisDenial        = "<!doctype html><html><head><title>Oh noes!</title><link rel=\"stylesheet\" href=\"/.within.website/x/cmd/anubis/static/css/xess.css\"></head><body>Access Denied: error code 3f</body></html>"
	siteGroundRefresh   = "<html><head><link rel=\"icon\" href=\"data:;\"><meta http-equiv=\"refresh\" content=\"0;/.well-known/sgcaptcha/?r=%2Frobots.txt&y=ipr:192.0.2.1\"></head></html>"
	impervaIncident     = "<html style=\"height:100%\"><head><META NAME=\"ROBOTS\" CONTENT=\"NOINDEX, NOFOLLOW\"></head><body><iframe src=\"/_Incapsula_Resource?CWUDNSAI=9\">Request unsuccessful. Incapsula incident ID: 877000250</iframe></body></html>"
	impervaScript       = "<html><head><META NAME=\"robots\" CONTENT=\"noindex,nofollow\"><script src=\"/_Incapsula_Resource?SWJIYLWA=5074\"></script><body></body></html>"
	impervaCapitals     = "<html><head><META NAME=\"robots\" CONTENT=\"NOINDEX,NOFOLLOW\"><script src=\"/_Incapsula_Resource?SWJIYLWA=5074\"></script><body></body></html>"
	cloudflareChallenge = "<!DOCTYPE html><html><head><title>Just a moment...</title></head><body><script>window._cf_chl_opt={cvId:'3'};</script></body></html>"
	cloudflareBlock     = "<!DOCTYPE html><html><head><title>Attention Required! | Cloudflare</title></head><body><div id=\"cf-wrapper\"><div id=\"cf-error-details\">Sorry, you have been blocked</div></div></body></html>"
	humanCaptcha        = "<!DOCTYPE html><html><head><meta name=\"description\" content=\"px-captcha\"><title>Access to this page has been denied</title></head><body></body></html>"
	humanBlock          = "<!DOCTYPE html><html><head><title>Access to this page has been denied</title></head><body><script>window._pxAppId = 'PX1';</script></body></html>"
	akamaiDenial        = "<HTML><HEAD>\n" +
		"<TITLE>Access Denied</TITLE>\n" +
		"</HEAD><BODY>\n" +
		"<H1>Access Denied</H1>\n" +
		"Reference&#32;&#35;18&#46;8c2d1502&#46;1&#46;2\n" +
		"</BODY>\n" +
		"</HTML>"
	akamaiPlainDenial = "<HTML><HEAD><TITLE>Access Denied</TITLE></HEAD><BODY>Reference #18.8c2d1502.17.2</BODY></HTML>"
	sucuriBlock       = "<!DOCTYPE html>\n" +
		"<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n" +
		"<head>\n" +
		"<link rel=\"stylesheet\" href=\"https://cdn.sucuri.net/sucuri-firewall-block.css\" />\n" +
		"<title>Sucuri WebSite Firewall - Access Denied</title>\n" +
		"</head>\n" +
		"<body>blocked</body>\n" +
		"</html>"
	wordfenceBlock = "<!DOCTYPE html>\n" +
		"<html>\n" +
		"<head>\n" +
		"<title>403 Forbidden</title>\n" +
		"<style>\n" +
		".wf-btn {\n" +
		"cursor: pointer;\n" +
		"}\n" +
		"</style>\n" +
		"</head>\n" +
		"<body>\n" +
		"<table border=\"0\" class=\"block-data\"></table>\n" +
		"</body>\n" +
		"</html>"
	wordfenceEarlierBlock = "<!DOCTYPE html>\n" +
		"<html>\n" +
		"<head>\n" +
		"<title>403 Forbidden</title>\n" +
		"</head>\n" +
		"<body>\n" +
		"<p><em>Generated by Wordfence at Tue, 5 Oct 2021 10:15:28 GMT.<br></em></p>\n" +
		"</body>\n" +
		"</html>"
	modSecurityBlock = "<head><title>Not Acceptable!</title></head><body><h1>Not Acceptable!</h1><p>Not found. This error was generated by Mod_Security.</p></body>"
	appWallBlock     = "<HTML><HEAD><TITLE>Unauthorized Request Blocked</TITLE></HEAD><BODY><A HREF=\"mailto:CloudWebSec@radware.com\">write</A></BODY></HTML>"
	radwareCaptcha   = "<!DOCTYPE html>\n" +
		"<html lang=\"en\">\n" +
		"<head>\n" +
		"<title>Radware Bot Manager Captcha</title>\n" +
		"</head>\n" +
		"<body><script>window.SSJSInternal = 1;</script></body></html>"
	x402Version1 = `{"error":"payment required","x402Version":1,"accepts":[]}`
)

func TestOfPage(t *testing.T) {
	tests := []struct {
		name   string
		status int
		page   string
		by     string
		kind   Kind
	}{
		{"Anubis' challenge, with status 200", 200, anubisChallenge, "Anubis", Challenge},
		{
			name:   "Anubis' challenge in a long page",
			status: 200,
			page:   strings.Repeat("<p>why</p>", 860) + anubisChallenge,
			by:     "Anubis",
			kind:   Challenge,
		},
		{
			name:   "Anubis' challenge, with a byte order mark",
			status: 200,
			page:   "\ufeff\r\n" + anubisChallenge,
			by:     "Anubis",
			kind:   Challenge,
		},
		{"Anubis' denial, with status 200", 200, anubisDenial, "Anubis", Block},
		{
			name:   "Anubis' denial in a long page",
			status: 200,
			page:   strings.Repeat("<p>why</p>", 860) + anubisDenial,
			by:     "Anubis",
			kind:   Block,
		},
		{"SiteGround's page without its header field", 202, siteGroundRefresh, "SiteGround", Challenge},
		{"Imperva's incident", 200, impervaIncident, "Imperva", Block},
		{
			name:   "Imperva's incident in a customized page",
			status: 200,
			page:   "<html>" + strings.Repeat("<p>why</p>", 250) + impervaIncident,
			by:     "Imperva",
			kind:   Block,
		},
		{"Imperva's script alone", 200, impervaScript, "Imperva", Challenge},
		{"Imperva's script alone, in capitals", 200, impervaCapitals, "Imperva", Challenge},
		{"Cloudflare's challenge without its header field", 503, cloudflareChallenge, "Cloudflare", Challenge},
		{"Cloudflare's block by the site's rule", 403, cloudflareBlock, "Cloudflare", Block},
		{"Cloudflare's error 1020 as text", 403, "error code: 1020", "Cloudflare", Block},
		{"HUMAN's captcha", 403, humanCaptcha, "HUMAN", Captcha},
		{"HUMAN's block", 403, humanBlock, "HUMAN", Block},
		{"Akamai's denial", 403, akamaiDenial, "Akamai", Block},
		{"Akamai's denial without escapes", 403, akamaiPlainDenial, "Akamai", Block},
		{"Sucuri's block without its header field", 403, sucuriBlock, "Sucuri", Block},
		{
			name:   "Sucuri's block in the colors of GoDaddy",
			status: 403,
			page: strings.Replace(
				sucuriBlock,
				"Sucuri WebSite Firewall",
				"GoDaddy Security",
				1,
			),
			by:   "Sucuri",
			kind: Block,
		},
		{"Wordfence's firewall", 403, wordfenceBlock, "Wordfence", Block},
		{
			name:   "Wordfence's list of blocked addresses, in German",
			status: 503,
			page:   strings.Replace(wordfenceBlock, "403 Forbidden", "Zugriff beschränkt", 1),
			by:     "Wordfence",
			kind:   Block,
		},
		{"an earlier page of Wordfence's firewall", 403, wordfenceEarlierBlock, "Wordfence", Block},
		{"ModSecurity's page of hosting providers", 406, modSecurityBlock, "ModSecurity", Block},
		{"Radware's firewall", 200, appWallBlock, "Radware", Block},
		{"Radware's captcha", 200, radwareCaptcha, "Radware", Captcha},
		{
			name:   "Radware's captcha in a page of 17 KB",
			status: 200,
			page:   radwareCaptcha + strings.Repeat("<p>why</p>", 1700),
			by:     "Radware",
			kind:   Captcha,
		},
		{
			name:   "the title of Radware's captcha after other elements",
			status: 403,
			page:   "<html>" + strings.Repeat("<meta>", 300) + radwareCaptcha,
			by:     "Radware",
			kind:   Captcha,
		},
		{
			name:   "Radware's captcha under its earlier name",
			status: 200,
			page:   strings.Replace(radwareCaptcha, "Radware Bot Manager", "\n\tShieldSquare", 1),
			by:     "Radware",
			kind:   Captcha,
		},
		{
			name:   "Radware's challenge",
			status: 200,
			page:   strings.Replace(radwareCaptcha, "Bot Manager Captcha", "Page", 1),
			by:     "Radware",
			kind:   Challenge,
		},
		{"x402, version 1", 402, x402Version1, "", Payment},
	}
	covered := make(map[*pageIndicator]bool)
	coveredTitles := make(map[*titleIndicator]bool)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := OfPage(answer(tt.status), []byte(tt.page))
			if !ok || got.By != tt.by || got.Kind != tt.kind || got.Sure {
				t.Errorf("OfPage = %+v, %t, want By %q and Kind %s, not Sure", got, ok, tt.by, tt.kind)
			}
			if n := len(got.Evidence); n == 0 || n > 300 {
				t.Errorf("OfPage returns an Evidence of %d bytes, want 1 to 300: %q", n, got.Evidence)
			}
			if r, ok := Of(answer(tt.status)); ok {
				t.Errorf("Of = %+v, true without the page, want false", r)
			}
		})
		if ind := findPage(tt.status, []byte(tt.page), -1); ind != nil {
			covered[ind] = true
		}
		if ind := findTitle([]byte(tt.page)); ind != nil {
			coveredTitles[ind] = true
		}
	}
	for i := range titleIndicators {
		if s := &titleIndicators[i]; !coveredTitles[s] {
			t.Errorf("the title %q has no test", s.title)
		}
	}
	for i := range pageIndicators {
		if s := &pageIndicators[i]; !covered[s] {
			t.Errorf("the indicator %s %s %v has no test", s.by, s.kind, s.substrings)
		}
	}
}

// TestOfPage_OrdinaryResponses checks responses that are similar to refusals.
func TestOfPage_OrdinaryResponses(t *testing.T) {
	long := "<html><body>" + strings.Repeat("<p>words</p>", 400) + "</body></html>"
	tests := []struct {
		name   string
		answer *http.Response
		page   string
	}{
		{"a good page", answer(200), "<html><body>hello</body></html>"},
		{"an empty page", answer(204), ""},
		{"a page of white space", answer(200), " \r\n"},
		{"a 404", answer(404), "<html>no such page</html>"},
		{
			name:   "a page that is private",
			answer: answer(403, "server: nginx"),
			page:   "<html><h1>403 Forbidden</h1></html>",
		},
		{"a page with a password", answer(401, `www-authenticate: Basic realm="x"`), ""},
		{"a page behind DataDome", answer(200, "x-datadome: protected"), "<html>hello</html>"},
		{
			name:   "a 404 behind DataDome",
			answer: answer(404, "x-datadome: protected"),
			page:   "<html>no such page</html>",
		},
		{"a page behind AWS WAF", answer(200, "x-amzn-waf-action: allow"), "<html>hello</html>"},
		{
			name:   "a page behind Cloudflare",
			answer: answer(200, "server: cloudflare", "cf-ray: 8c1"),
			page:   `<html><script src="/cdn-cgi/challenge-platform/scripts/jsd/main.js"></script></html>`,
		},
		{
			name:   "a 403 of the site behind Cloudflare",
			answer: answer(403, "server: cloudflare", "cf-ray: 8c1"),
			page:   "<html><h1>Forbidden</h1></html>",
		},
		{
			name:   "a page behind HUMAN",
			answer: answer(200, "set-cookie: _px3=abc"),
			page:   `<html><script>window._pxAppId = 'PX1';</script></html>`,
		},
		{
			name:   "a page behind Imperva",
			answer: answer(200, "set-cookie: incap_ses_1=abc"),
			page: strings.Replace(
				long,
				"<body>",
				`<meta name="robots" content="noindex"><script src="/_Incapsula_Resource?SWJIYLWA=5074"></script><body>`,
				1,
			),
		},
		{
			name: "a page behind Akamai",
			answer: answer(
				200,
				"akamai-grn: 0.8c2",
				"set-cookie: _abck=1; Secure",
				"set-cookie: bm_sz=2",
			),
			page: "<html>hello</html>",
		},
		{
			name:   "a page after a challenge of Anubis",
			answer: answer(200, "set-cookie: techaro.lol-anubis-auth=eyJ"),
			page:   "<html>hello</html>",
		},
		{
			name:   "a page after a challenge of Fastly",
			answer: answer(200, "set-cookie: _fs_ch_cp_x4=abc"),
			page:   "<html>hello</html>",
		},
		{
			name:   "a page about captchas",
			answer: answer(200),
			page:   "<html><title>What is a captcha?</title>Just a moment... px-captcha, cf-mitigated: challenge, Access Denied</html>",
		},
		{
			name:   "a page about Anubis",
			answer: answer(200),
			page:   "<html><pre>&lt;script id=\"anubis_challenge\"</pre></html>",
		},
		{
			name:   "a short article about Imperva's incidents",
			answer: answer(200),
			page:   "<html><title>Help</title><p>What does &quot;Request unsuccessful. Incapsula incident ID: 877000250&quot; mean? The Incapsula incident ID names one request.</html>",
		},
		{
			name:   "a page about Imperva's incidents",
			answer: answer(200),
			page:   strings.Replace(long, "<body>", "<body>Incapsula incident ID", 1),
		},
		{
			name:   "a form with a reCAPTCHA",
			answer: answer(200),
			page:   `<html><form><div class="g-recaptcha" data-sitekey="6L"></div></form></html>`,
		},
		{
			name:   "a 404 during a challenge of Fastly",
			answer: answer(404, "set-cookie: _fs_ch_st_x4=abc"),
			page:   "<html>no such page</html>",
		},
		{
			name:   "a redirect during a challenge of Fastly",
			answer: answer(301, "set-cookie: _fs_ch_st_x4=abc", "location: /new"),
		},
		{"a teapot", answer(418), "I'm a teapot"},
		{"a 406", answer(406), "<html>406</html>"},
		{"a page with a price", answer(200, "crawler-charged: USD 0.01"), "<html>paid</html>"},
		{"a 402 of the site", answer(402), "<html>subscribe</html>"},
		{
			name:   "a page with a legal link",
			answer: answer(200, `link: <https://example.com/>; rel="blocked-by"`),
			page:   "<html>hello</html>",
		},
		{
			name:   "a robots.txt that mentions bot protection",
			answer: answer(200),
			page: "User-agent: *\n" +
				"Disallow: /_Incapsula_Resource?\n" +
				"Disallow: /.well-known/sgcaptcha/\n" +
				"Disallow: /.within.website/x/cmd/anubis/\n" +
				"# noindex http-equiv=\"refresh\" <script id=\"anubis_challenge\"\n",
		},
		{"a JSON answer about x402", answer(200), `{"x402Version":1}`},
		{
			name:   "a page behind DataDome, with its cookie",
			answer: answer(200, "set-cookie: datadome=x; Path=/"),
			page:   "<html>hello</html>",
		},
		{
			name:   "a 403 of the site with Accept-Signature",
			answer: answer(403, `accept-signature: sig1=("@authority");tag="web-bot-auth"`),
			page:   "<html><h1>Forbidden</h1></html>",
		},
		{
			name:   "a page with Accept-Signature",
			answer: answer(200, `accept-signature: sig1=("@authority")`),
			page:   "<html>hello</html>",
		},
		{
			name:   "an invalid price of the origin",
			answer: answer(502, "crawler-error: InvalidContentPrice"),
		},
		{
			name:   "a page with a license",
			answer: answer(200, `link: <https://a.example/license.xml>; rel="license"`),
			page:   "<html>hello</html>",
		},
		{
			name:   "a page with TDM-Reservation",
			answer: answer(401, `www-authenticate: Bearer realm="License"`),
		},
		{
			name:   "a page behind Vercel",
			answer: answer(200, "server: Vercel", "x-vercel-id: fra1::1"),
			page:   "<html>hello</html>",
		},
		{
			name:   "a page behind SiteGround's proxy",
			answer: answer(200, "x-proxy-cache: HIT"),
			page:   `<html><meta http-equiv="refresh" content="9;/next"></html>`,
		},
		{
			name:   "an article on SiteGround's captcha",
			answer: answer(200),
			page: strings.Replace(
				long,
				"<body>",
				`<body><pre>http-equiv="refresh" /.well-known/sgcaptcha/</pre>`,
				1,
			),
		},
		{
			name:   "a page with HUMAN's cookies",
			answer: answer(200, "set-cookie: _pxhd=1", "set-cookie: _pxvid=2"),
			page:   "<html>Access to this page has been denied, said the article</html>",
		},
		{
			name:   "a long article on Anubis, with its source",
			answer: answer(200),
			page:   "<html>" + strings.Repeat("<p>words</p>", 2000) + anubisChallenge,
		},
		{
			name: "a page behind Sucuri",
			answer: answer(
				200,
				"server: Sucuri/Cloudproxy",
				"x-sucuri-id: 12013",
				"x-sucuri-cache: HIT",
			),
			page: "<html>hello</html>",
		},
		{
			name:   "a 403 of the site behind Sucuri",
			answer: answer(403, "server: Sucuri/Cloudproxy", "x-sucuri-id: 12013"),
			page:   "<html><title>Access Denied</title></html>",
		},
		{
			name:   "a page with Sucuri's stylesheet",
			answer: answer(403),
			page:   `<html><link href="https://cdn.sucuri.net/badge.css"><title>Members only</title></html>`,
		},
		{
			name:   "an article on Sucuri's block",
			answer: answer(200),
			page:   "<html><pre>" + sucuriBlock + "</pre></html>",
		},
		{
			name:   "a page of a site with Wordfence",
			answer: answer(403),
			page:   `<html><p>This site uses Wordfence.</p><table class="block-data"></table></html>`,
		},
		{
			name:   "an article on Wordfence's block",
			answer: answer(200),
			page:   "<html><pre>" + wordfenceBlock + wordfenceEarlierBlock + "</pre></html>",
		},
		{
			name:   "a 503 of the site with its own page",
			answer: answer(503),
			page:   "<html><style>.wf-button {}</style><p>Generated by Wordpress at noon</p></html>",
		},
		{
			name:   "a 406 of the site",
			answer: answer(406),
			page:   "<html><title>Not Acceptable!</title><p>No such language.</p></html>",
		},
		{"an article on ModSecurity's page", answer(200), modSecurityBlock},
		{
			name:   "a long page about ModSecurity with status 406",
			answer: answer(406),
			page:   "<html>" + strings.Repeat("<p>words</p>", 200) + modSecurityBlock,
		},
		{
			name:   "a page with the address of Radware",
			answer: answer(200),
			page:   `<html><a href="mailto:CloudWebSec@radware.com">Radware</a></html>`,
		},
		{
			name:   "a long article on Radware's firewall",
			answer: answer(200),
			page:   "<html>" + strings.Repeat("<p>words</p>", 800) + appWallBlock,
		},
		{
			name:   "an article on Radware's captcha",
			answer: answer(200),
			page:   "<html><title>Radware Bot Manager Captcha: what is it?</title></html>",
		},
		{
			name:   "an article on Radware's title",
			answer: answer(200),
			page:   "<html><title>Titles</title><pre>&lt;title>Radware Page&lt;/title></pre> <title>Radware Page</title></html>",
		},
		{
			name:   "a title after the beginning of the page",
			answer: answer(200),
			page:   "<html>" + strings.Repeat(" ", titleWindow) + "<title>Radware Page</title></html>",
		},
		{"a title in plain text", answer(200), "See <title>Radware Page</title>"},
		{
			name:   "a redirect within the site",
			answer: answer(302, "location: https://a.example/?to=https://validate.perfdrive.com/"),
		},
		{
			name:   "a page that names Radware's host",
			answer: answer(200, "location: https://validate.perfdrive.com/"),
		},
		{
			name:   "a redirect to a host with a similar name",
			answer: answer(302, "location: https://validate.perfdrive.com.a.example/"),
		},
		{"a page about go-away", answer(200, "refresh: 2; url=/next"), "<html>hello</html>"},
		{
			name:   "a 410 that mentions legal reasons",
			answer: answer(410),
			page:   "<html>451 Unavailable For Legal Reasons</html>",
		},
		{"a 503", answer(503, "retry-after: 30"), "<html>back soon</html>"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if r, ok := OfPage(tt.answer, []byte(tt.page)); ok {
				t.Errorf("OfPage = %+v, true, want false", r)
			}
		})
	}
}

// TestOfPage_BeyondWindow checks that only the first Window bytes are searched.
func TestOfPage_BeyondWindow(t *testing.T) {
	page := "<html>" + strings.Repeat(" ", Window) + anubisChallenge
	if r, ok := OfPage(answer(200), []byte(page)); ok {
		t.Errorf("OfPage = %+v, true, want false", r)
	}
}

// TestOfPage_LongPage checks that an indicator with a maximum length does not
// apply to the beginning of a page with a greater Content-Length.
func TestOfPage_LongPage(t *testing.T) {
	long := answer(200)
	long.ContentLength = 50_000
	if r, ok := OfPage(long, []byte(anubisChallenge)); ok {
		t.Errorf("OfPage = %+v, true, want false", r)
	}
}

func TestOf_NoResponse(t *testing.T) {
	if r, ok := Of(nil); ok {
		t.Errorf("Of(nil) = %+v, true, want false", r)
	}
	if r, ok := OfPage(nil, []byte(anubisChallenge)); ok {
		t.Errorf("OfPage(nil) = %+v, true, want false", r)
	}
}

func TestOf_Prices(t *testing.T) {
	for value, want := range map[string]string{
		"USD 0.01":                       "USD 0.01",
		" eur  .5 ":                      "EUR .5",
		"JPY 3":                          "JPY 3",
		"":                               "",
		"0.01":                           "",
		"USD":                            "",
		"USD -1":                         "",
		"USD 1e3":                        "",
		"USD 1.2.3":                      "",
		"US$ 1":                          "",
		"USD 1 each":                     "",
		"USD " + strings.Repeat("9", 33): "",
	} {
		r, _ := Of(answer(402, "crawler-error: x", "crawler-price: "+value))
		got := strings.TrimSpace(r.Currency + " " + r.Price)
		if got != want {
			t.Errorf("the price %q is parsed as %q, want %q", value, got, want)
		}
	}
}

// TestOf_ShortAndPrintable checks that the texts of a Refusal are short and
// printable, whatever the response contains.
func TestOf_ShortAndPrintable(t *testing.T) {
	r, ok := Of(answer(402, "crawler-price: \x1b[31m\u202eEUR "+strings.Repeat("9", 9<<20)))
	if !ok || len(r.Evidence) > 300 || strings.Trim(r.Evidence, printables()) != "" || len(r.Price) > 32 {
		t.Errorf("Of returns %t, an Evidence of %d bytes %q and a Price of %d bytes, want true, at most 300 printable bytes and at most 32 bytes",
			ok, len(r.Evidence), r.Evidence, len(r.Price))
	}
	r, _ = Of(answer(451, "link: <"+strings.Repeat("é", 9<<20)+`>; rel="blocked-by"`))
	if len(r.By) > 300 || strings.Trim(r.By, printables()) != "" {
		t.Errorf("By has %d bytes %q, want at most 300, printable", len(r.By), r.By)
	}
}

// TestOf_Memory checks that a Refusal does not retain the header of the
// response.
func TestOf_Memory(t *testing.T) {
	for _, tt := range []struct {
		name   string
		status int
		line   string // followed by 4 MiB of blanks and end
		end    string
	}{
		{"a price", 402, "crawler-price: USD 0.01", ""},
		{"a blocked-by link", 451, `link: <http://a.example/>; rel="blocked-by"`, ""},
		{"a field", 403, "cf-mitigated: challenge", ""},
		{"a long value", 418, "refresh: 2", "x"},
	} {
		var refusals []Refusal
		before := testmain.Heap()
		for range 8 {
			r, ok := Of(answer(tt.status, tt.line+strings.Repeat(" ", 4<<20)+tt.end))
			if !ok {
				t.Fatalf("%s: Of returns false, want true", tt.name)
			}
			refusals = append(refusals, r)
		}
		if grown := testmain.Heap() - before; grown > 1<<20 {
			t.Errorf("%s: %d refusals take %d bytes, want at most 1 MiB", tt.name, len(refusals), grown)
		}
		runtime.KeepAlive(refusals)
	}
}

// printables returns the printable ASCII characters.
func printables() string {
	var b strings.Builder
	for c := byte(' '); c <= '~'; c++ {
		b.WriteByte(c)
	}
	return b.String()
}

// TestOf_Allocs checks that Of and OfPage do not allocate for a response that
// is not a refusal.
func TestOf_Allocs(t *testing.T) {
	resp := answer(
		200,
		"content-type: text/html",
		"server: nginx",
		"set-cookie: a=b",
		"link: </style.css>; rel=preload",
	)
	page := []byte("<html>" + strings.Repeat("<p>words</p>", 1000))
	if n := testing.AllocsPerRun(100, func() { Of(resp) }); n > 0 {
		t.Errorf("Of makes %v allocations, want none", n)
	}
	for _, size := range []int{2 << 10, 8 << 10, len(page)} {
		if n := testing.AllocsPerRun(100, func() { OfPage(resp, page[:size]) }); n > 0 {
			t.Errorf("OfPage of %d bytes makes %v allocations, want none", size, n)
		}
	}
}

// TestPageIndicators_AllStatuses checks that indicators for all statuses apply
// only to short pages of HTML, so that other pages are not searched for them.
func TestPageIndicators_AllStatuses(t *testing.T) {
	for _, s := range pageIndicators {
		if len(s.statuses) > 0 {
			continue
		}
		isForShortPages := s.maxLength > 0 && s.maxLength <= longPage
		if s.prefix != "<" || !isForShortPages {
			t.Errorf("the indicator %s %s %v has the prefix %q and the maximum length %d, want %q and 1 to %d",
				s.by, s.kind, s.substrings, s.prefix, s.maxLength, "<", longPage)
		}
	}
}

// TestRefusal_JSON checks the JSON form of a Refusal and the text of each Kind.
func TestRefusal_JSON(t *testing.T) {
	want := Refusal{
		By:       "Cloudflare",
		Kind:     Payment,
		Sure:     true,
		Evidence: "402, crawler-price: USD 1",
		Price:    "1",
		Currency: "USD",
		License:  "/license.xml",
	}
	const wantText = `{"by":"Cloudflare","kind":"payment","sure":true,` +
		`"evidence":"402, crawler-price: USD 1","price":"1","currency":"USD",` +
		`"license":"/license.xml"}`
	text, err := json.Marshal(want)
	if err != nil || string(text) != wantText {
		t.Errorf("Marshal = %s, %v, want %s", text, err, wantText)
	}
	var got Refusal
	if err := json.Unmarshal(text, &got); err != nil || got != want {
		t.Errorf("Unmarshal = %+v, %v, want %+v", got, err, want)
	}
	for k := Kind(0); k <= RateLimit; k++ {
		var back Kind
		if err := back.UnmarshalText([]byte(k.String())); err != nil || back != k {
			t.Errorf("UnmarshalText(%q) = %v, %v, want %v", k.String(), back, err, k)
		}
	}
	var old Kind // records of earlier versions have the British spelling
	if err := old.UnmarshalText([]byte("licence")); err != nil || old != License {
		t.Errorf("UnmarshalText(licence) = %v, %v, want %v", old, err, License)
	}
	if err := new(Kind).UnmarshalText([]byte("bloc")); err == nil {
		t.Error("UnmarshalText(bloc) returns no error")
	}
}

func TestRefusal_String(t *testing.T) {
	for want, r := range map[string]Refusal{
		"Cloudflare: challenge (403, cf-mitigated: challenge)": {
			By:       "Cloudflare",
			Kind:     Challenge,
			Sure:     true,
			Evidence: "403, cf-mitigated: challenge",
		},
		"the server: likely block (403, x)": {Kind: Block, Evidence: "403, x"},
	} {
		if got := r.String(); got != want {
			t.Errorf("String() = %q, want %q", got, want)
		}
	}
}

func BenchmarkOf(b *testing.B) {
	resp := answer(
		200,
		"content-type: text/html",
		"server: nginx",
		"set-cookie: a=b",
		"date: x",
		"etag: y",
		"content-length: 5",
		"cache-control: z",
	)
	page := []byte("<html>" + strings.Repeat("<p>words</p>", 2000))
	b.Run("Header", func(b *testing.B) {
		for b.Loop() {
			Of(resp)
		}
	})
	for _, size := range []int{shortPage, 4 << 10, 8 << 10, longPage, Window} {
		b.Run(fmt.Sprintf("Page/%d", size), func(b *testing.B) {
			for b.Loop() {
				OfPage(resp, page[:size])
			}
		})
	}
}

func FuzzOfPage(f *testing.F) {
	f.Add(200, "Sg-Captcha", "challenge", []byte(siteGroundRefresh))
	f.Add(402, "Crawler-Price", "USD 0.01", []byte(x402Version1))
	f.Add(200, "Set-Cookie", "\u0085 Techaro.LOL-anubis-cookie-verification=1", []byte(""))
	f.Add(400, "Crawler-Error", "ſtrongAuthRequired", []byte(""))
	f.Add(451, "Link", `<https://example.com/>; rel="blocked-by"`, []byte(""))
	f.Fuzz(func(t *testing.T, status int, name, value string, page []byte) {
		resp := &http.Response{StatusCode: status, Header: http.Header{name: {value}}}
		r, ok := OfPage(resp, page)
		if !ok && r != (Refusal{}) {
			t.Fatalf("OfPage = %+v, false, want a zero Refusal", r)
		}
		if ok && (r.Kind == 0 || r.Evidence == "") {
			t.Fatalf("OfPage = %+v, true, want a Kind and an Evidence", r)
		}
		texts := r.Evidence + r.By + r.Price + r.Currency + r.License
		if len(r.Evidence) > 300 || strings.Trim(texts, printables()) != "" {
			t.Fatalf("OfPage = %+v, want printable texts, and an Evidence of at most 300 bytes", r)
		}
		if header, ok := Of(resp); ok && header != r {
			t.Fatalf("OfPage = %+v, want the result of Of: %+v", r, header)
		}
	})
}
