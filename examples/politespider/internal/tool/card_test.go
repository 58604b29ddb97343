package tool

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// writeCard returns the card of a crawl with these Options, read from its JSON.
func writeCard(t *testing.T, opts robotsmw.Options) card {
	t.Helper()
	var b strings.Builder
	if err := (&card{ClientID: "https://bot.example/card"}).write(&b, opts); err != nil {
		t.Fatal(err)
	}
	var c card
	dec := json.NewDecoder(strings.NewReader(b.String()))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&c); err != nil {
		t.Fatal(err)
	}
	return c
}

const cardAgent = "ExampleBot/1.0 (+https://bot.example/about; crawl@bot.example)"

func TestCard_RateExpectation(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limiter *politeness.Limiter
		want    string
	}{
		{
			"the default delay",
			&politeness.Limiter{},
			"max=1rps for each host; one request at a time",
		},
		{
			"a delay of three seconds",
			&politeness.Limiter{Delay: 3 * time.Second},
			"max=0.333rps for each host; one request at a time",
		},
		{
			"no delay",
			&politeness.Limiter{Delay: -1, Concurrency: 4},
			"4 requests at a time",
		},
		{
			"an adaptive delay",
			&politeness.Limiter{Concurrency: -1, Adaptive: 5},
			"max=1rps for each host; any number of requests at a time; " +
				"slower where responses are slow: a pause of 5 response times",
		},
		{
			"a budget",
			&politeness.Limiter{Budget: politeness.Budget{Requests: 500, Bytes: 1e6}},
			"max=1rps for each host; one request at a time; " +
				"500 requests to a host in a day; 1000000 bytes of a host in a day",
		},
		{
			"a budget of one",
			&politeness.Limiter{Budget: politeness.Budget{Requests: 1, Bytes: 1}},
			"max=1rps for each host; one request at a time; 1 request to a host in a day; 1 byte of a host in a day",
		},
	} {
		c := writeCard(t, robotsmw.Options{UserAgent: cardAgent, Limiter: tt.limiter})
		if got := c.WebBotAuth.RateExpectation; got != tt.want {
			t.Errorf("%s: rate-expectation is %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestCard_RateControl(t *testing.T) {
	for _, tt := range []struct {
		name    string
		limiter *politeness.Limiter
		want    string
	}{
		{
			"the default limits",
			&politeness.Limiter{},
			"Crawl-delay in robots.txt; Retry-After up to 24h0m0s; 429; 503",
		},
		{
			"no back-off and no limit of Retry-After",
			&politeness.Limiter{BackOff: -1, MaxRetryAfter: -1},
			"Crawl-delay in robots.txt; Retry-After",
		},
	} {
		c := writeCard(t, robotsmw.Options{UserAgent: cardAgent, Limiter: tt.limiter})
		if got := c.WebBotAuth.RateControl; got != tt.want {
			t.Errorf("%s: rate-control is %q, want %q", tt.name, got, tt.want)
		}
	}
}

// A crawler that overrides the robots.txt of a site does not comply with
// RFC 9309.
func TestCard_Compliance(t *testing.T) {
	for _, tt := range []struct {
		name     string
		override map[string]string
		want     bool
	}{
		{"no override", nil, true},
		{"an override", map[string]string{"https://a.example": ""}, false},
	} {
		opts := robotsmw.Options{UserAgent: cardAgent, Override: tt.override, Limiter: new(politeness.Limiter)}
		if got := writeCard(t, opts).WebBotAuth.Compliance; got != tt.want {
			t.Errorf("%s: rfc9309-compliance is %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestCard_Identity(t *testing.T) {
	c := writeCard(t, robotsmw.Options{
		UserAgent:     cardAgent,
		ProductTokens: []string{"ExampleBot-News", "ExampleBot"},
		Limiter:       new(politeness.Limiter),
	})
	for _, field := range []struct{ name, got, want string }{
		{"client_id", c.ClientID, "https://bot.example/card"},
		{"client_name", c.ClientName, "ExampleBot-News"},
		{"client_uri", c.ClientURI, "https://bot.example/about"},
		{"contacts", strings.Join(c.Contacts, " "), "mailto:crawl@bot.example"},
		{"rfc9309-product-token", c.WebBotAuth.ProductToken, "ExampleBot-News"},
		{"expected-user-agent", c.WebBotAuth.UserAgent, cardAgent},
		{"trigger", c.WebBotAuth.Trigger, "crawler"},
	} {
		if field.got != field.want {
			t.Errorf("%s of the card is %q, want %q", field.name, field.got, field.want)
		}
	}
}

func TestCard_NoUserAgent(t *testing.T) {
	if err := new(card).write(new(strings.Builder), robotsmw.Options{}); err == nil {
		t.Error("a card without a User-Agent was written, want an error")
	}
}

func TestCard_Contacts(t *testing.T) {
	for _, tt := range []struct {
		userAgent string
		uri       string
		contacts  []string
	}{
		{"ExampleBot/1.0", "", nil},
		{
			"ExampleBot/1.0 (+https://bot.example/)",
			"https://bot.example/",
			[]string{"https://bot.example/"},
		},
		{
			"ExampleBot/1.0 (+http://bot.example/a; bot@bot.example)",
			"http://bot.example/a",
			[]string{"mailto:bot@bot.example"},
		},
		{
			"ExampleBot/1.0 (a.b+c@bot.example, d@e.example)",
			"",
			[]string{"mailto:a.b+c@bot.example", "mailto:d@e.example"},
		},
		{
			"Mozilla/5.0 (compatible; ExampleBot/1.0; +https://bot.example/@bot)",
			"https://bot.example/@bot",
			[]string{"https://bot.example/@bot"},
		},
	} {
		c := writeCard(t, robotsmw.Options{UserAgent: tt.userAgent, Limiter: new(politeness.Limiter)})
		if c.ClientURI != tt.uri || !slices.Equal(c.Contacts, tt.contacts) {
			t.Errorf("User-Agent %q: client_uri %q and contacts %q, want %q and %q",
				tt.userAgent, c.ClientURI, c.Contacts, tt.uri, tt.contacts)
		}
	}
}
