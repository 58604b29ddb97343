package audit

import (
	"regexp"
	"slices"
	"strings"
)

// A product is a robot whose name in robots.txt is not simply the name in its
// User-Agent.
type product struct {
	groups []string // the names that it looks for in robots.txt; the first one found counts
	named  bool     // it does not obey "*", only a group that names it
	family string   // the fetches of robots.txt by one robot of a family serve the others
}

// products are published facts, by the name in the User-Agent, in lower case.
// Those of Google are at developers.google.com/crawling/docs/crawlers-fetchers,
// in google-common-crawlers and google-special-case-crawlers. That they share
// what they have fetched is in Google's specification of robots.txt, at
// developers.google.com/crawling/docs/robots-txt/robots-txt-spec.
var products = map[string]product{
	"googlebot":             {groups: []string{"Googlebot"}, family: "google"},
	"googlebot-image":       {groups: []string{"Googlebot-Image", "Googlebot"}, family: "google"},
	"googlebot-video":       {groups: []string{"Googlebot-Video", "Googlebot"}, family: "google"},
	"googlebot-news":        {groups: []string{"Googlebot-News", "Googlebot"}, family: "google"},
	"storebot-google":       {groups: []string{"Storebot-Google"}, family: "google"},
	"google-inspectiontool": {groups: []string{"Google-InspectionTool", "Googlebot"}, family: "google"},
	"google-cloudvertexbot": {groups: []string{"Google-CloudVertexBot", "Googlebot"}, family: "google"},
	"googleother":           {groups: []string{"GoogleOther"}, family: "google"},
	"googleother-image":     {groups: []string{"GoogleOther-Image", "GoogleOther"}, family: "google"},
	"googleother-video":     {groups: []string{"GoogleOther-Video", "GoogleOther"}, family: "google"},
	// These do not obey "*".
	"adsbot-google":        {groups: []string{"AdsBot-Google"}, named: true, family: "google"},
	"adsbot-google-mobile": {groups: []string{"AdsBot-Google-Mobile"}, named: true, family: "google"},
	"mediapartners-google": {groups: []string{"Mediapartners-Google"}, named: true, family: "google"},
	"apis-google":          {groups: []string{"APIs-Google"}, named: true, family: "google"},
	"google-safety":        {named: true, family: "google"}, // obeys no robots.txt
	// https://support.apple.com/119829
	"applebot": {groups: []string{"Applebot", "Googlebot"}, family: "applebot"},
	// blogs.bing.com/webmaster/2010/06/28/bing-crawler-bingbot-on-the-horizon
	"bingbot": {groups: []string{"bingbot", "msnbot"}, family: "bingbot"},
}

// families are robots of which each obeys the group of its own name and, if
// there is none, that of the family. The keys are how their names begin.
var families = map[string]string{
	"yandex":      "Yandex",      // https://yandex.com/support/webmaster/en/controlling-robot/robots-txt
	"baiduspider": "Baiduspider", // https://www.baidu.com/search/robots_english.html
}

// productOf returns what is known about the robot with this name. more is
// Auditor.Groups.
func productOf(name string, more map[string][]string) product {
	for robot, groups := range more {
		if strings.EqualFold(robot, name) && len(groups) > 0 {
			return product{groups: groups, family: strings.ToLower(groups[len(groups)-1])}
		}
	}
	key := strings.ToLower(name)
	if p, ok := products[key]; ok {
		return p
	}
	for begin, family := range families {
		if strings.HasPrefix(key, begin) {
			return product{groups: []string{name, family}, family: begin}
		}
	}
	return product{groups: []string{name}, family: key}
}

// browsers are names of products in the User-Agents of browsers.
var browsers = []string{"mozilla", "applewebkit", "khtml", "gecko", "chrome", "safari", "firefox", "version", "mobile", "edg", "opr", "opera", "msie", "konqueror"}

func isBrowser(name string) bool {
	return slices.ContainsFunc(browsers, func(b string) bool { return strings.EqualFold(b, name) })
}

// robotOf returns the name of the robot with this User-Agent, or "" for a
// browser and for an empty User-Agent, which is "-" in a log. The name is what
// the User-Agent begins with. If that is Mozilla, the name is what follows
// "compatible;", else a product such as "bingbot/2.0" whose name says what it
// is, else the product before a URL such as "+https://example.com/bot", else
// the host of that URL.
//
// Health checks are no robots: they request a page of a site on behalf of its
// owner, and follow no links.
func robotOf(userAgent string) string {
	if isHealthCheck(userAgent) {
		return ""
	}
	name := leadingToken(userAgent)
	isMozilla := strings.EqualFold(name, "mozilla")
	if isMozilla {
		_, name, _ = strings.Cut(compatible.FindString(userAgent), ";")
		name = strings.TrimLeft(name, " ")
	}
	switch {
	case name == "Yahoo! Slurp":
		return "Slurp"
	case name == "" && !isMozilla, isBrowser(name), userAgent == "-":
		return ""
	case name != "":
		return clip(name)
	}
	last := "" // the latest product that is no browser's
	for field := range strings.FieldsFuncSeq(userAgent, func(r rune) bool { return strings.ContainsRune(" ;,()", r) }) {
		if _, url, ok := strings.Cut(field, "+http"); ok {
			if last == "" {
				_, last = originOf("http" + url)
			}
			return clip(last)
		}
		name, _, ok := strings.Cut(field, "/")
		if !ok || leadingToken(name) != name || isBrowser(name) {
			continue
		}
		lower := strings.ToLower(name)
		if strings.Contains(lower, "bot") || strings.Contains(lower, "crawl") || strings.Contains(lower, "spider") {
			return clip(name)
		}
		last = name
	}
	return ""
}

// healthChecks are how the User-Agents of health checks begin, as their vendors
// document them: of load balancers, clusters, hosting platforms, and monitors
// that a site runs itself. "Amazon CloudFront" is what CloudFront sends instead
// of the client's User-Agent, unless it is configured to forward that.
var healthChecks = []string{
	"kube-probe/",                         // Kubernetes
	"ELB-HealthChecker/",                  // AWS Elastic Load Balancing
	"Amazon-Route53-Health-Check-Service", // AWS Route 53
	"Amazon CloudFront",                   // AWS CloudFront
	"GoogleHC/",                           // Google Cloud load balancing
	"GoogleStackdriverMonitoring",         // Google Cloud Monitoring, uptime checks
	"Edge Health Probe",                   // Azure Front Door
	"Load Balancer Agent",                 // Azure Load Balancer
	"HealthCheck/",                        // Azure App Service
	"ReadyForRequest/",                    // Azure App Service
	"AlwaysOn",                            // Azure App Service
	"Cloudflare-Healthchecks/",            // Cloudflare
	"Cloudflare-Traffic-Manager/",         // Cloudflare Load Balancing
	"Consul Health Check",                 // HashiCorp Consul
	"Envoy/HC",                            // Envoy
	"RailwayHealthCheck/",                 // Railway
	"Render/",                             // Render
	"Blackbox Exporter/",                  // Prometheus
	"Blackbox-Exporter/",                  // Prometheus
	"check_http/",                         // Nagios and Icinga
}

func isHealthCheck(userAgent string) bool {
	return slices.ContainsFunc(healthChecks, func(begin string) bool {
		return len(userAgent) >= len(begin) && strings.EqualFold(userAgent[:len(begin)], begin)
	})
}

var compatible = regexp.MustCompile(`(?i:compatible;) *(?:Yahoo! Slurp|[A-Za-z0-9_.-]+)`)

func leadingToken(s string) string {
	i := 0
	for i < len(s) && isTokenByte(s[i]) {
		i++
	}
	return s[:i]
}

func isTokenByte(b byte) bool {
	return 'a' <= b|0x20 && b|0x20 <= 'z' || '0' <= b && b <= '9' || b == '_' || b == '-' || b == '.'
}
