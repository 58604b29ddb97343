package refusal

// A headerSign is a sign of a refusal in an answer's status and header. The
// sign counts only with its statuses. If it has none, it counts with any
// status.
type headerSign struct {
	by       string
	kind     Kind
	sure     bool
	statuses []int
	field    field
	source   string // where the sign is documented, or was seen
}

// A field is the header field that shows a headerSign. If its name is empty,
// the status alone is the sign.
type field struct {
	name  string // in canonical form
	how   how
	value string
}

type how uint8

const (
	present how = iota // the field has any value
	equal              // the field has this value, in any letter case
	begins             // the field's value begins with this value, in any letter case
)

// A pageSign is a sign of a refusal at the beginning of a body. The sign counts
// only with its statuses. If it has none, it counts with any status.
type pageSign struct {
	by       string
	kind     Kind
	statuses []int
	begins   string   // the body begins with this text, after any white space
	marks    [][]byte // the body contains all of these
	atMost   int      // the greatest length of the body in bytes; 0 means any length
	source   string
}

// headerSigns are tried from the first to the last.
var headerSigns = []*headerSign{
	{"Cloudflare", Challenge, true, nil, field{"Cf-Mitigated", equal, "challenge"},
		"Cloudflare docs, Detect a Challenge Page response"},
	{"AWS WAF", Challenge, true, nil, field{"X-Amzn-Waf-Action", equal, "challenge"},
		"AWS WAF developer guide, CAPTCHA and Challenge action behavior"},
	{"AWS WAF", Captcha, true, nil, field{"X-Amzn-Waf-Action", equal, "captcha"},
		"AWS WAF developer guide, CAPTCHA and Challenge action behavior"},
	{"Vercel", Challenge, true, nil, field{"X-Vercel-Mitigated", equal, "challenge"},
		"seen in ten repositories, warpdotdev/docs#219"},
	{"Vercel", Block, true, nil, field{"X-Vercel-Mitigated", equal, "deny"},
		"seen in ten repositories, elevenlabs/ui#80"},
	{"Vercel", Challenge, true, []int{403, 429}, field{"X-Vercel-Challenge-Token", present, ""},
		"seen in ten repositories, warpdotdev/docs#219"},
	{"SiteGround", Challenge, true, nil, field{"Sg-Captcha", equal, "challenge"},
		"seen in eight repositories"},
	{"DataDome", Challenge, true, []int{301, 302, 401, 403}, field{"X-Dd-B", equal, "1"},
		"docs.datadome.co, Protection API, for the statuses; the field was seen"},
	{"DataDome", Block, true, []int{301, 302, 401, 403}, field{"X-Dd-B", equal, "2"},
		"docs.datadome.co, Protection API, for the statuses; the field was seen"},
	// Good pages have X-Datadome too, so it is a sign only with these statuses.
	{"DataDome", Challenge, true, []int{401, 403}, field{"X-Datadome", equal, "protected"},
		"docs.datadome.co, Protection API"},
	{"DataDome", Challenge, true, []int{401, 403}, field{"Server", equal, "DataDome"},
		"docs.datadome.co, Protection API"},
	{"Cloudflare", Payment, true, []int{402}, field{"Crawler-Price", present, ""},
		"Cloudflare docs, AI Crawl Control, pay per crawl"},
	{"Cloudflare", Payment, true, []int{402}, field{"Crawler-Error", present, ""},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Payment, true, []int{403}, field{"Crawler-Error", equal, "PaymentFailed"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Block, true, []int{403}, field{"Crawler-Error", equal, "CrawlerForbidden"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Block, true, []int{400}, field{"Crawler-Error", equal, "StrongAuthRequired"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Block, true, []int{400}, field{"Crawler-Error", equal, "InvalidSignature"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Payment, true, []int{400}, field{"Crawler-Error", equal, "ConflictingPriceHeaders"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"", Payment, true, []int{402}, field{"Payment-Required", present, ""},
		"x402-foundation/x402, specs/transports-v2/http.md"},
	{"", License, true, []int{401, 402}, field{"Www-Authenticate", begins, "License"},
		"rslstandard.org/guide/web-crawlers"},
	{"", Legal, true, []int{451}, field{},
		"RFC 7725 §3"},
	// Anubis sets this cookie when it begins a challenge. A site can give the
	// cookie another name.
	{"Anubis", Challenge, false, []int{200, 401, 403, 503}, field{"Set-Cookie", begins, "techaro.lol-anubis-cookie-verification="},
		"TecharoHQ/anubis, lib/anubis.go"},
	// If DataDome protects a site, the site's own 403 also has this cookie. So
	// the sign is not sure.
	{"DataDome", Challenge, false, []int{401, 403}, field{"Set-Cookie", begins, "datadome="},
		"docs.datadome.co, Protection API"},
	{"Fastly", Challenge, false, []int{200, 401, 403, 406, 503}, field{"Set-Cookie", begins, "_fs_ch_st_"},
		"Fastly docs, About client challenges"},
	{"go-away", Challenge, false, []int{418}, field{"Refresh", present, ""},
		"WeebDataHoarder/go-away, cmd/go-away/main.go"},
	{"Akamai", Block, false, []int{403}, field{"Server", equal, "AkamaiGHost"},
		"seen in microsoft/playwright-python#1139"},
	{"", RateLimit, true, []int{429, 430}, field{},
		"RFC 6585 §4; Shopify docs, API response status codes, for 430"},
}

// shortPage and longPage are lengths of pages in bytes. They limit the search
// for signs that count with any status: the pages of walls are short, and other
// pages quote them.
const (
	shortPage = 2 << 10
	longPage  = 9 << 10
)

// pageSigns are tried from the first to the last. Some bot walls also put
// scripts on good pages: Cloudflare's /cdn-cgi/challenge-platform/, HUMAN's
// _pxAppId, Imperva's _Incapsula_Resource. Such a script is a sign only with
// the status of a refusal, or in a page too short for other content.
//
// A sign that counts with any status has a limit of length, of longPage at
// most, so that good pages are hardly ever searched.
//
// The templates of Anubis make pages of 4 to 5 KiB. A page is longer only if
// the site adds to it. The script tag of Anubis always has a type, so the mark
// for longer pages can include the type.
var pageSigns = [...]pageSign{
	{"Anubis", Challenge, nil, "<", marks(`<script id="anubis_challenge"`), shortPage,
		"TecharoHQ/anubis, web/index.templ"},
	{"Anubis", Challenge, nil, "<", marks(`<script id="anubis_challenge" type="application/json"`), longPage,
		"TecharoHQ/anubis, web/index.templ"},
	{"Anubis", Block, nil, "<", marks(`="/.within.website/x/cmd/anubis/`), shortPage,
		"TecharoHQ/anubis, lib/http.go"},
	{"Anubis", Block, nil, "<", marks(`="/.within.website/x/cmd/anubis/static/`), longPage,
		"TecharoHQ/anubis, web/index.templ"},
	{"SiteGround", Challenge, nil, "<", marks(`http-equiv="refresh"`, "/.well-known/sgcaptcha/"), shortPage,
		"seen in eight repositories"},
	{"Imperva", Block, nil, "<", marks("Incapsula incident ID: ", `CONTENT="NOINDEX`), shortPage,
		"seen in frizman21/f-trellis#162"},
	{"Imperva", Block, nil, "<", marks("Request unsuccessful. Incapsula incident ID: ", "/_Incapsula_Resource?"), 4 << 10,
		"seen in frizman21/f-trellis#162"},
	{"Imperva", Challenge, nil, "<", marks("/_Incapsula_Resource?", "noindex"), shortPage,
		"seen in frizman21/f-trellis#162"},
	{"Imperva", Challenge, nil, "<", marks("/_Incapsula_Resource?", "NOINDEX"), shortPage,
		"seen in frizman21/f-trellis#162"},
	{"Cloudflare", Challenge, []int{403, 503}, "<", marks("_cf_chl_opt"), 0,
		"cloudflare/cloudflare-docs#8590"},
	{"Cloudflare", Block, []int{403}, "<", marks(`id="cf-error-details"`), 0,
		"Cloudflare docs, Error page types"},
	{"Cloudflare", Block, []int{403, 409, 530}, "error code: 1", nil, 0,
		"Cloudflare docs, Cloudflare 1xxx errors"},
	{"HUMAN", Captcha, []int{403}, "<", marks("px-captcha"), 0,
		"PerimeterX/perimeterx-node-core, templates/block_template.mustache"},
	{"HUMAN", Block, []int{403}, "<", marks("window._pxAppId"), 0,
		"PerimeterX/perimeterx-node-core, lib/pxenforcer.js"},
	{"Akamai", Block, []int{403}, "<", marks("Access Denied", "Reference&#32;&#35;18"), 0,
		"seen in microsoft/playwright-python#1139"},
	{"Akamai", Block, []int{403}, "<", marks("Access Denied", "Reference #18."), 0,
		"seen in microsoft/playwright-python#1139"},
	{"", Payment, []int{402}, "{", marks(`"x402Version"`), 0,
		"x402-foundation/x402, specs/transports-v1/http.md"},
}

func marks(texts ...string) (all [][]byte) {
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}
