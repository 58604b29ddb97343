package audit

import (
	"regexp"
	"slices"
	"strings"
)

// A product describes how a robot uses robots.txt.
type product struct {
	groups   []string // the names of its groups; it obeys the first one that is in robots.txt
	skipsAll bool     // it does not obey "*", only a group that names it
	family   string   // the robots of a family share the files that they have fetched
}

// products contains the robots that, according to their operators, obey groups
// with other names or share the files that they fetch. The keys are the names
// in the User-Agent, in lower case. Google documents the groups of its robots
// at developers.google.com/crawling/docs/crawlers-fetchers, in
// google-common-crawlers and google-special-case-crawlers. These robots share
// fetched files according to Google's specification of robots.txt, at
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
	"adsbot-google":        {groups: []string{"AdsBot-Google"}, skipsAll: true, family: "google"},
	"adsbot-google-mobile": {groups: []string{"AdsBot-Google-Mobile"}, skipsAll: true, family: "google"},
	"mediapartners-google": {groups: []string{"Mediapartners-Google"}, skipsAll: true, family: "google"},
	"apis-google":          {groups: []string{"APIs-Google"}, skipsAll: true, family: "google"},
	"google-safety":        {skipsAll: true, family: "google"}, // ignores robots.txt
	// https://support.apple.com/119829
	"applebot": {groups: []string{"Applebot", "Googlebot"}, family: "applebot"},
	// blogs.bing.com/webmaster/2010/06/28/bing-crawler-bingbot-on-the-horizon
	"bingbot": {groups: []string{"bingbot", "msnbot"}, family: "bingbot"},
}

// families maps prefixes of the names of robots, in lower case, to the name of
// a family. Such a robot obeys the group with its own name or, if there is
// none, that with the name of the family.
var families = map[string]string{
	"yandex":      "Yandex",      // https://yandex.com/support/webmaster/en/controlling-robot/robots-txt
	"baiduspider": "Baiduspider", // https://www.baidu.com/search/robots_english.html
}

// newProduct returns the product of the robot with this name. more is
// Auditor.Groups.
func newProduct(name string, more map[string][]string) product {
	for robot, groups := range more {
		if strings.EqualFold(robot, name) && len(groups) > 0 {
			last := groups[len(groups)-1]
			return product{groups: groups, family: newProduct(last, nil).family}
		}
	}
	key := strings.ToLower(name)
	if p, ok := products[key]; ok {
		return p
	}
	for prefix, family := range families {
		if strings.HasPrefix(key, prefix) {
			return product{groups: []string{name, family}, family: prefix}
		}
	}
	return product{groups: []string{name}, family: key}
}

// browsers contains the names of products in the User-Agents of browsers, in
// lower case.
var browsers = []string{
	"mozilla", "applewebkit", "khtml", "gecko", "chrome", "safari", "firefox",
	"version", "mobile", "edg", "opr", "opera", "msie", "konqueror",
}

func isBrowser(name string) bool {
	return slices.ContainsFunc(browsers, func(b string) bool { return strings.EqualFold(b, name) })
}

// robotName returns the name of the robot with this User-Agent, or "" for a
// browser and for an empty User-Agent, which is "-" in a log. The name is the
// beginning of the User-Agent. If the User-Agent begins with Mozilla, the name
// is instead the first of these that exists: the word after "compatible;", a
// product such as "bingbot/2.0" whose name contains "bot", "crawl" or "spider",
// the product before a URL such as "+https://example.com/bot", and the host of
// that URL.
//
// Health checks are not robots: they request a page of a site on behalf of its
// owner, and follow no links.
func robotName(userAgent string) string {
	if isHealthCheck(userAgent) {
		return ""
	}
	name := leadingToken(userAgent)
	isMozilla := strings.EqualFold(name, "mozilla")
	if isMozilla {
		_, name, _ = strings.Cut(compatible.FindString(userAgent), ";")
		name = strings.TrimLeft(name, " ")
	}
	if name == "Yahoo! Slurp" {
		return "Slurp"
	}
	if userAgent == "-" || isBrowser(name) {
		return ""
	}
	if name != "" {
		return clip(name)
	}
	if !isMozilla {
		return ""
	}
	return productName(userAgent)
}

// productName returns the name of the product in a User-Agent that identifies a
// robot, or "" if there is none; see robotName.
func productName(userAgent string) string {
	last := "" // the latest product that is not a browser's
	isSeparator := func(r rune) bool { return strings.ContainsRune(" ;,()", r) }
	for field := range strings.FieldsFuncSeq(userAgent, isSeparator) {
		if _, url, ok := strings.Cut(field, "+http"); ok {
			if last == "" {
				_, last = splitOrigin("http" + url)
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

// healthChecks are the prefixes of the User-Agents of health checks, as their
// vendors document them: load balancers, clusters, hosting platforms, and
// monitors that a site runs itself. CloudFront sends "Amazon CloudFront"
// instead of the client's User-Agent, unless it is configured to forward the
// latter.
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
	return slices.ContainsFunc(healthChecks, func(prefix string) bool {
		return len(userAgent) >= len(prefix) && strings.EqualFold(userAgent[:len(prefix)], prefix)
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
	isLetter := 'a' <= b|0x20 && b|0x20 <= 'z'
	isDigit := '0' <= b && b <= '9'
	return isLetter || isDigit || b == '_' || b == '-' || b == '.'
}
