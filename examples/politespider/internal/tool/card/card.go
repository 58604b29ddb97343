// Package card makes the Signature Agent Card of a crawl
// (draft-meunier-webbotauth-registry-04). The card says who crawls, by which
// rules and at what pace. It is made from the crawl's own Options and Limiter,
// so it promises only what the crawl does.
package card

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// More is what the card says in addition to Options.
type More struct {
	URL     string // where the card will be served; left out of the card if ""
	KeysURL string // where the public keys are; "" if the crawl does not sign
	Purpose string // what is done with the pages
}

// A card is the JSON object, with its fields in the order of the draft.
type card struct {
	ClientID   string     `json:"client_id,omitempty"`
	ClientName string     `json:"client_name"`
	ClientURI  string     `json:"client_uri,omitempty"`
	Contacts   []string   `json:"contacts,omitempty"`
	JWKSURI    string     `json:"jwks_uri,omitempty"`
	WebBotAuth webBotAuth `json:"web_bot_auth"`
}

type webBotAuth struct {
	UserAgent       string   `json:"expected-user-agent"`
	ProductToken    string   `json:"rfc9309-product-token"`
	Compliance      bool     `json:"rfc9309-compliance"`
	Trigger         string   `json:"trigger"`
	Purpose         string   `json:"purpose"`
	RateControl     string   `json:"rate-control"`
	RateExpectation string   `json:"rate-expectation"`
	KnownURLs       []string `json:"known-urls"`
}

// Write writes the card of a crawl with these Options. It returns an error if
// robotsmw would refuse the Options.
func Write(w io.Writer, opts robotsmw.Options, more More) error {
	checker, err := robotsmw.NewChecker(opts)
	if err != nil {
		return err
	}
	token := checker.Tokens()[0]
	c := card{ClientID: more.URL, ClientName: token, JWKSURI: more.KeysURL}
	c.ClientURI, c.Contacts = contacts(opts.UserAgent)
	c.WebBotAuth = webBotAuth{
		UserAgent:    opts.UserAgent,
		ProductToken: token,
		// A crawler that overrides robots.txt does not comply.
		Compliance:      len(opts.Override) == 0,
		Trigger:         "crawler",
		Purpose:         more.Purpose,
		RateControl:     rateControl(opts.Limiter),
		RateExpectation: rateExpectation(opts.Limiter),
		KnownURLs:       []string{"/robots.txt"},
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

var (
	page = regexp.MustCompile(`https?://[^\s();,]+`)
	mail = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
)

// contacts returns the addresses in a User-Agent: the page about the crawler,
// and the URIs of the contacts.
func contacts(userAgent string) (about string, uris []string) {
	about = page.FindString(userAgent)
	for _, address := range mail.FindAllString(page.ReplaceAllString(userAgent, ""), -1) {
		uris = append(uris, "mailto:"+address)
	}
	if uris == nil && about != "" {
		uris = []string{about}
	}
	return about, uris
}

// rateControl returns, in words, how a site can slow a Limiter down.
func rateControl(l *politeness.Limiter) string {
	var obeyed []string
	switch longest := limitOf(l.MaxCrawlDelay, time.Minute); {
	case l.ClampCrawlDelay && longest > 0:
		obeyed = append(obeyed, fmt.Sprintf("Crawl-delay in robots.txt up to %v", longest))
	default:
		obeyed = append(obeyed, "Crawl-delay in robots.txt")
	}
	if longest := limitOf(l.MaxRetryAfter, 24*time.Hour); longest > 0 {
		obeyed = append(obeyed, fmt.Sprintf("Retry-After up to %v", longest))
	} else {
		obeyed = append(obeyed, "Retry-After")
	}
	if l.BackOff >= 0 {
		obeyed = append(obeyed, "429", "503")
	}
	return strings.Join(obeyed, "; ")
}

// rateExpectation returns, in words, the fastest pace of a Limiter.
func rateExpectation(l *politeness.Limiter) string {
	var parts []string
	delay := cmp.Or(l.Delay, time.Second)
	if delay > 0 {
		parts = append(parts, fmt.Sprintf("max=%.3grps for each host", float64(time.Second)/float64(delay)))
	}
	switch slots := cmp.Or(l.Concurrency, 1); {
	case slots == 1:
		parts = append(parts, "one request at a time")
	case slots > 1:
		parts = append(parts, fmt.Sprintf("%d requests at a time", slots))
	default:
		parts = append(parts, "any number of requests at a time")
	}
	if l.Adaptive > 0 {
		parts = append(parts, fmt.Sprintf("slower where answers are slow: a pause of %g response times", l.Adaptive))
	}
	if n := l.Budget.Requests; n > 0 {
		parts = append(parts, record.Count(int(n), "request")+" to a host in a day")
	}
	if n := l.Budget.Bytes; n > 0 {
		parts = append(parts, record.Count(int(n), "byte")+" of a host in a day")
	}
	return strings.Join(parts, "; ")
}

// limitOf returns the limit that a field of a Limiter sets. If the field is 0,
// the limit is the default, which is the second argument. If the field is
// negative, there is no limit, and limitOf returns 0.
func limitOf(field, zero time.Duration) time.Duration { return max(cmp.Or(field, zero), 0) }
