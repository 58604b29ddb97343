package tool

import (
	"cmp"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/politespider/internal/record"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// A card is a Signature Agent Card (draft-meunier-webbotauth-registry-04), with
// its fields in the order of the draft. It identifies the crawler and describes
// its rules and its pace.
type card struct {
	ClientID   string   `json:"client_id,omitempty"` // where the card will be served
	ClientName string   `json:"client_name"`
	ClientURI  string   `json:"client_uri,omitempty"`
	Contacts   []string `json:"contacts,omitempty"`
	JWKSURI    string   `json:"jwks_uri,omitempty"`
	WebBotAuth struct {
		UserAgent       string   `json:"expected-user-agent"`
		ProductToken    string   `json:"rfc9309-product-token"`
		Compliance      bool     `json:"rfc9309-compliance"`
		Trigger         string   `json:"trigger"`
		Purpose         string   `json:"purpose"`
		RateControl     string   `json:"rate-control"`
		RateExpectation string   `json:"rate-expectation"`
		KnownURLs       []string `json:"known-urls"`
	} `json:"web_bot_auth"`
}

// write completes the card and writes it. Its values are those of the Crawler's
// own Options and Limiter, so it promises only what the crawl does. It returns
// an error if robotsmw would refuse the Options.
func (c *card) write(w io.Writer, opts robotsmw.Options) error {
	checker, err := robotsmw.NewChecker(opts)
	if err != nil {
		return err
	}
	c.ClientName = checker.Tokens()[0]
	c.ClientURI = urlPattern.FindString(opts.UserAgent)
	c.Contacts = contacts(opts.UserAgent)
	c.WebBotAuth.UserAgent = opts.UserAgent
	c.WebBotAuth.ProductToken = c.ClientName
	c.WebBotAuth.Compliance = len(opts.Override) == 0 // a crawler that overrides robots.txt does not comply
	c.WebBotAuth.Trigger = "crawler"
	c.WebBotAuth.RateControl = rateControl(opts.Limiter)
	c.WebBotAuth.RateExpectation = rateExpectation(opts.Limiter)
	c.WebBotAuth.KnownURLs = []string{"/robots.txt"}
	enc := cli.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

var (
	urlPattern  = regexp.MustCompile(`https?://[^\s();,]+`)
	mailPattern = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)
)

// contacts returns the mail addresses in a User-Agent as URLs or, if there are
// none, the first URL in it.
func contacts(userAgent string) (urls []string) {
	withoutURLs := urlPattern.ReplaceAllString(userAgent, "")
	for _, address := range mailPattern.FindAllString(withoutURLs, -1) {
		urls = append(urls, "mailto:"+address)
	}
	if page := urlPattern.FindString(userAgent); urls == nil && page != "" {
		urls = []string{page}
	}
	return urls
}

// clauses are parts of a sentence.
type clauses []string

// add adds a clause if it applies.
func (c *clauses) add(applies bool, format string, args ...any) {
	if applies {
		*c = append(*c, fmt.Sprintf(format, args...))
	}
}

func (c clauses) String() string { return strings.Join(c, "; ") }

// rateControl returns, in words, how a site can slow a Limiter down.
func rateControl(l *politeness.Limiter) string {
	var c clauses
	maxPause := cmp.Or(l.MaxRetryAfter, politeness.DefaultMaxRetryAfter)
	c.add(true, "Crawl-delay in robots.txt")
	c.add(maxPause > 0, "Retry-After up to %v", maxPause)
	c.add(maxPause < 0, "Retry-After")
	c.add(l.BackOff >= 0, "429; 503")
	return c.String()
}

// rateExpectation returns, in words, a Limiter's fastest pace.
func rateExpectation(l *politeness.Limiter) string {
	var c clauses
	delay := cmp.Or(l.Delay, politeness.DefaultDelay)
	slots := cmp.Or(l.Concurrency, 1)
	c.add(delay > 0, "max=%.3grps for each host", 1/delay.Seconds())
	c.add(slots == 1, "one request at a time")
	c.add(slots > 1, "%d requests at a time", slots)
	c.add(slots < 0, "any number of requests at a time")
	c.add(l.Adaptive > 0, "slower where responses are slow: a pause of %g response times", l.Adaptive)
	c.add(l.Budget.Requests > 0, "%s to a host in a day", record.Count(int(l.Budget.Requests), "request"))
	c.add(l.Budget.Bytes > 0, "%s of a host in a day", record.Count(int(l.Budget.Bytes), "byte"))
	return c.String()
}
