package refusal

// A headerIndicator is an indicator of a refusal in the status and header of a
// response.
type headerIndicator struct {
	by       string
	kind     Kind
	sure     bool
	statuses []int // the statuses that the indicator applies to; empty for all
	field    field
	source   string // where the indicator is documented or was observed
}

// A field is a header field of a headerIndicator. If the name is empty, the
// status alone is the indicator.
type field struct {
	name       string // in canonical form
	comparison comparison
	value      string
}

// A comparison is a way to compare a header field with field.value. Case is
// ignored.
type comparison uint8

const (
	anyValue comparison = iota
	equal
	hasPrefix
)

// A pageIndicator is an indicator of a refusal in a body.
type pageIndicator struct {
	by         string
	kind       Kind
	statuses   []int    // the statuses that the indicator applies to; empty for all
	prefix     string   // the body begins with this text, after white space
	substrings [][]byte // the body contains all of these texts
	maxLength  int      // maximum length of the body in bytes; 0 if there is none
	source     string   // where the indicator is documented or was observed
}

// A titleIndicator is an indicator of a refusal in the title of an HTML page,
// with any status and in a body of any length.
type titleIndicator struct {
	by     string
	kind   Kind
	title  string // the whole title
	source string // where the indicator is documented or was observed
}

// headerIndicators are tried in order.
var headerIndicators = []*headerIndicator{
	{"Cloudflare", Challenge, true, nil, field{"Cf-Mitigated", equal, "challenge"},
		"Cloudflare docs, Detect a Challenge Page response"},
	{"AWS WAF", Challenge, true, nil, field{"X-Amzn-Waf-Action", equal, "challenge"},
		"AWS WAF developer guide, CAPTCHA and Challenge action behavior"},
	{"AWS WAF", Captcha, true, nil, field{"X-Amzn-Waf-Action", equal, "captcha"},
		"AWS WAF developer guide, CAPTCHA and Challenge action behavior"},
	{"Vercel", Challenge, true, nil, field{"X-Vercel-Mitigated", equal, "challenge"},
		"observed in ten repositories, warpdotdev/docs#219"},
	{"Vercel", Block, true, nil, field{"X-Vercel-Mitigated", equal, "deny"},
		"observed in ten repositories, elevenlabs/ui#80"},
	{"Vercel", Challenge, true, []int{403, 429}, field{"X-Vercel-Challenge-Token", anyValue, ""},
		"observed in ten repositories, warpdotdev/docs#219"},
	{"SiteGround", Challenge, true, nil, field{"Sg-Captcha", equal, "challenge"},
		"observed in eight repositories"},
	{"DataDome", Challenge, true, []int{301, 302, 401, 403}, field{"X-Dd-B", equal, "1"},
		"docs.datadome.co, Protection API, for the statuses; the field was observed"},
	{"DataDome", Block, true, []int{301, 302, 401, 403}, field{"X-Dd-B", equal, "2"},
		"docs.datadome.co, Protection API, for the statuses; the field was observed"},
	// Ordinary responses may have X-Datadome, too, but not with these statuses.
	{"DataDome", Challenge, true, []int{401, 403}, field{"X-Datadome", equal, "protected"},
		"docs.datadome.co, Protection API"},
	{"DataDome", Challenge, true, []int{401, 403}, field{"Server", equal, "DataDome"},
		"docs.datadome.co, Protection API"},
	{"Cloudflare", Payment, true, []int{402}, field{"Crawler-Price", anyValue, ""},
		"Cloudflare docs, AI Crawl Control, pay per crawl"},
	{"Cloudflare", Payment, true, []int{402}, field{"Crawler-Error", anyValue, ""},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Payment, true, []int{403}, field{"Crawler-Error", equal, "PaymentFailed"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Block, true, []int{403}, field{"Crawler-Error", equal, "CrawlerForbidden"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Block, true, []int{400}, field{"Crawler-Error", equal, "StrongAuthRequired"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Block, true, []int{400}, field{"Crawler-Error", equal, "InvalidSignature"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Cloudflare", Payment, true, []int{400},
		field{"Crawler-Error", equal, "ConflictingPriceHeaders"},
		"Cloudflare docs, AI Crawl Control, pay per crawl, error codes"},
	{"Sucuri", Block, true, []int{403}, field{"X-Sucuri-Block", anyValue, ""},
		"observed at nine sites, Ekultek/WhatWaf#1164"},
	// A site redirects to this host of Radware only for a captcha.
	{"Radware", Captcha, true, []int{302},
		field{"Location", hasPrefix, "https://validate.perfdrive.com/"},
		"observed at six sites, by crawlers in six repositories"},
	{"", Payment, true, []int{402}, field{"Payment-Required", anyValue, ""},
		"x402-foundation/x402, specs/transports-v2/http.md"},
	{"", License, true, []int{401, 402}, field{"Www-Authenticate", hasPrefix, "License"},
		"rslstandard.org/guide/web-crawlers"},
	{"", Legal, true, []int{451}, field{},
		"RFC 7725 §3"},
	// Anubis sets this cookie when it begins a challenge. A site can give the
	// cookie another name.
	{"Anubis", Challenge, false, []int{200, 401, 403, 503},
		field{"Set-Cookie", hasPrefix, "techaro.lol-anubis-cookie-verification="},
		"TecharoHQ/anubis, lib/anubis.go"},
	// The site's own 403 also has this cookie if DataDome protects the site, so
	// the indicator is not certain.
	{"DataDome", Challenge, false, []int{401, 403}, field{"Set-Cookie", hasPrefix, "datadome="},
		"docs.datadome.co, Protection API"},
	{"Fastly", Challenge, false, []int{200, 401, 403, 406, 503},
		field{"Set-Cookie", hasPrefix, "_fs_ch_st_"},
		"Fastly docs, About client challenges"},
	{"go-away", Challenge, false, []int{418}, field{"Refresh", anyValue, ""},
		"WeebDataHoarder/go-away, cmd/go-away/main.go"},
	{"Akamai", Block, false, []int{403}, field{"Server", equal, "AkamaiGHost"},
		"observed in microsoft/playwright-python#1139"},
	{"", RateLimit, true, []int{429, 430}, field{},
		"RFC 6585 §4; Shopify docs, API response status codes, for 430"},
}

// Maximum lengths of bodies, in bytes. Block pages are short, and the pages
// that quote them are usually longer.
const (
	shortPage = 2 << 10
	longPage  = 9 << 10
)

// pageIndicators are tried in order.
//
// Some services also add scripts to ordinary pages: Cloudflare's
// /cdn-cgi/challenge-platform/, HUMAN's _pxAppId, Imperva's
// _Incapsula_Resource. Such a script is an indicator only with the status of a
// refusal, or in a body that is too short for other content.
//
// Each indicator for all statuses has a maximum length of at most longPage, so
// that few ordinary pages must be searched.
//
// The templates of Anubis generate pages of 4 to 5 KiB, to which a site may
// add. The substrings for longer pages are more specific.
var pageIndicators = [...]pageIndicator{
	{"Anubis", Challenge, nil, "<", substrings(`<script id="anubis_challenge"`), shortPage,
		"TecharoHQ/anubis, web/index.templ"},
	{"Anubis", Challenge, nil, "<",
		substrings(`<script id="anubis_challenge" type="application/json"`), longPage,
		"TecharoHQ/anubis, web/index.templ"},
	{"Anubis", Block, nil, "<", substrings(`="/.within.website/x/cmd/anubis/`), shortPage,
		"TecharoHQ/anubis, lib/http.go"},
	{"Anubis", Block, nil, "<", substrings(`="/.within.website/x/cmd/anubis/static/`), longPage,
		"TecharoHQ/anubis, web/index.templ"},
	{"SiteGround", Challenge, nil, "<",
		substrings(`http-equiv="refresh"`, "/.well-known/sgcaptcha/"), shortPage,
		"observed in eight repositories"},
	{"Imperva", Block, nil, "<",
		substrings("Incapsula incident ID: ", `CONTENT="NOINDEX`), shortPage,
		"observed in frizman21/f-trellis#162"},
	{"Imperva", Block, nil, "<",
		substrings("Request unsuccessful. Incapsula incident ID: ", "/_Incapsula_Resource?"), 4 << 10,
		"observed in frizman21/f-trellis#162"},
	{"Imperva", Challenge, nil, "<", substrings("/_Incapsula_Resource?", "noindex"), shortPage,
		"observed in frizman21/f-trellis#162"},
	{"Imperva", Challenge, nil, "<", substrings("/_Incapsula_Resource?", "NOINDEX"), shortPage,
		"observed in frizman21/f-trellis#162"},
	{"Cloudflare", Challenge, []int{403, 503}, "<", substrings("_cf_chl_opt"), 0,
		"cloudflare/cloudflare-docs#8590"},
	{"Cloudflare", Block, []int{403}, "<", substrings(`id="cf-error-details"`), 0,
		"Cloudflare docs, Error page types"},
	{"Cloudflare", Block, []int{403, 409, 530}, "error code: 1", nil, 0,
		"Cloudflare docs, Cloudflare 1xxx errors"},
	{"HUMAN", Captcha, []int{403}, "<", substrings("px-captcha"), 0,
		"PerimeterX/perimeterx-node-core, templates/block_template.mustache"},
	{"HUMAN", Block, []int{403}, "<", substrings("window._pxAppId"), 0,
		"PerimeterX/perimeterx-node-core, lib/pxenforcer.js"},
	{"Sucuri", Block, []int{403}, "<",
		substrings(`"https://cdn.sucuri.net/`, "Access Denied</title>"), 0,
		"observed in sqlmapproject/sqlmap#2761, without X-Sucuri-Block; " +
			"also in the colors of GoDaddy, Ekultek/WhatWaf#1562"},
	// The end of the page, with the name of the plugin, is beyond the Window.
	{"Wordfence", Block, []int{403, 503}, "<", substrings(".wf-btn", `class="block-data"`), 0,
		"Wordfence plugin, vendor/wordfence/wf-waf/src/views/403.php and lib/wf503.php"},
	{"Wordfence", Block, []int{403, 503}, "<", substrings("<em>Generated by Wordfence at "), 0,
		"Wordfence plugin, earlier forms of the same files"},
	// This page is not built into ModSecurity: hosting providers configure it.
	{"ModSecurity", Block, []int{406}, "<",
		substrings("This error was generated by Mod_Security."), shortPage,
		"observed in Ekultek/WhatWaf#962, owasp-modsecurity/ModSecurity#2056"},
	{"Radware", Block, nil, "<",
		substrings("mailto:CloudWebSec@radware.com", "Unauthorized Request Blocked"), longPage,
		"EnableSecurity/wafw00f, wafw00f/plugins/radware.py"},
	{"Akamai", Block, []int{403}, "<", substrings("Access Denied", "Reference&#32;&#35;18"), 0,
		"observed in microsoft/playwright-python#1139"},
	{"Akamai", Block, []int{403}, "<", substrings("Access Denied", "Reference #18."), 0,
		"observed in microsoft/playwright-python#1139"},
	{"", Payment, []int{402}, "{", substrings(`"x402Version"`), 0,
		"x402-foundation/x402, specs/transports-v1/http.md"},
}

// titleIndicators are the titles of pages that are too long for a
// pageIndicator, because their status may be 200.
var titleIndicators = [...]titleIndicator{
	{
		by:     "Radware",
		kind:   Captcha,
		title:  "Radware Bot Manager Captcha",
		source: "observed in seven repositories, with 16 to 19 KB",
	},
	{"Radware", Captcha, "ShieldSquare Captcha", "observed in danieldotnl/ha-multiscrape#298"},
	{"Radware", Challenge, "Radware Page", "observed in NivEz/yad2-scraper#6"},
}

func substrings(texts ...string) [][]byte {
	var all [][]byte
	for _, text := range texts {
		all = append(all, []byte(text))
	}
	return all
}
