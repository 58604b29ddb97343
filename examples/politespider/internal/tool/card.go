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
	c.ClientURI = page.FindString(opts.UserAgent)
	for _, address := range mail.FindAllString(page.ReplaceAllString(opts.UserAgent, ""), -1) {
		c.Contacts = append(c.Contacts, "mailto:"+address)
	}
	if c.Contacts == nil && c.ClientURI != "" {
		c.Contacts = []string{c.ClientURI}
	}
	c.WebBotAuth.UserAgent = opts.UserAgent
	c.WebBotAuth.ProductToken = c.ClientName
	c.WebBotAuth.Compliance = len(opts.Override) == 0 // a crawler that overrides robots.txt does not comply
	c.WebBotAuth.Trigger = "crawler"
	c.WebBotAuth.RateControl, c.WebBotAuth.RateExpectation = rates(opts.Limiter)
	c.WebBotAuth.KnownURLs = []string{"/robots.txt"}
	enc := cli.NewEncoder(w)
	enc.SetIndent("", "  ")
	return enc.Encode(c)
}

var page = regexp.MustCompile(`https?://[^\s();,]+`)
var mail = regexp.MustCompile(`[\w.+-]+@[\w-]+(\.[\w-]+)+`)

// rates returns, in words, how a site can slow a Limiter down, and the
// Limiter's fastest pace.
func rates(l *politeness.Limiter) (control, expectation string) {
	var clauses []string
	add := func(applies bool, format string, args ...any) {
		if applies {
			clauses = append(clauses, fmt.Sprintf(format, args...))
		}
	}
	pause := cmp.Or(l.MaxRetryAfter, politeness.DefaultMaxRetryAfter)
	add(true, "Crawl-delay in robots.txt")
	add(pause > 0, "Retry-After up to %v", pause)
	add(pause < 0, "Retry-After")
	add(l.BackOff >= 0, "429; 503")
	control = strings.Join(clauses, "; ")

	clauses = nil
	delay := cmp.Or(l.Delay, politeness.DefaultDelay)
	slots := cmp.Or(l.Concurrency, 1)
	add(delay > 0, "max=%.3grps for each host", 1/delay.Seconds())
	add(slots == 1, "one request at a time")
	add(slots > 1, "%d requests at a time", slots)
	add(slots < 0, "any number of requests at a time")
	add(l.Adaptive > 0, "slower where answers are slow: a pause of %g response times", l.Adaptive)
	add(l.Budget.Requests > 0, "%s to a host in a day", record.Count(int(l.Budget.Requests), "request"))
	add(l.Budget.Bytes > 0, "%s of a host in a day", record.Count(int(l.Budget.Bytes), "byte"))
	return control, strings.Join(clauses, "; ")
}
