package tool

import (
	"encoding/json"
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

func TestCard(t *testing.T) {
	const bot = "ExampleBot/1.0 (+https://bot.example/about; crawl@bot.example)"
	tests := []struct {
		name string
		opts robotsmw.Options
		want func(*card) (got, want string)
	}{
		{"one a second", robotsmw.Options{Limiter: &politeness.Limiter{}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateExpectation, "max=1rps for each host; one request at a time"
		}},
		{"one in three seconds", robotsmw.Options{Limiter: &politeness.Limiter{Delay: 3 * time.Second}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateExpectation, "max=0.333rps for each host; one request at a time"
		}},
		{"no pause", robotsmw.Options{Limiter: &politeness.Limiter{Delay: -1, Concurrency: 4}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateExpectation, "4 requests at a time"
		}},
		{"adaptive", robotsmw.Options{Limiter: &politeness.Limiter{Concurrency: -1, Adaptive: 5}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateExpectation, "max=1rps for each host; any number of requests at a time; slower where answers are slow: a pause of 5 response times"
		}},
		{"a budget", robotsmw.Options{Limiter: &politeness.Limiter{Budget: politeness.Budget{Requests: 500, Bytes: 1e6}}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateExpectation, "max=1rps for each host; one request at a time; 500 requests to a host in a day; 1000000 bytes of a host in a day"
		}},
		{"a budget of one", robotsmw.Options{Limiter: &politeness.Limiter{Budget: politeness.Budget{Requests: 1, Bytes: 1}}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateExpectation, "max=1rps for each host; one request at a time; 1 request to a host in a day; 1 byte of a host in a day"
		}},
		{"control", robotsmw.Options{Limiter: &politeness.Limiter{}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateControl, "Crawl-delay in robots.txt; Retry-After up to 24h0m0s; 429; 503"
		}},
		{"less control", robotsmw.Options{Limiter: &politeness.Limiter{BackOff: -1, MaxRetryAfter: -1}}, func(c *card) (string, string) {
			return c.WebBotAuth.RateControl, "Crawl-delay in robots.txt; Retry-After"
		}},
		{"compliance", robotsmw.Options{Limiter: &politeness.Limiter{}}, func(c *card) (string, string) {
			return map[bool]string{true: "yes", false: "no"}[c.WebBotAuth.Compliance], "yes"
		}},
		{"an override", robotsmw.Options{Override: map[string]string{"https://a.example": ""}, Limiter: &politeness.Limiter{}}, func(c *card) (string, string) {
			return map[bool]string{true: "yes", false: "no"}[c.WebBotAuth.Compliance], "no"
		}},
		{"another token", robotsmw.Options{ProductTokens: []string{"ExampleBot-News", "ExampleBot"}, Limiter: &politeness.Limiter{}}, func(c *card) (string, string) {
			return c.ClientName + " " + c.WebBotAuth.ProductToken, "ExampleBot-News ExampleBot-News"
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.opts.UserAgent = bot
			c := writeCard(t, tt.opts)
			if got, want := tt.want(&c); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
			if c.ClientID != "https://bot.example/card" || c.ClientURI != "https://bot.example/about" ||
				strings.Join(c.Contacts, " ") != "mailto:crawl@bot.example" || c.WebBotAuth.Trigger != "crawler" || c.WebBotAuth.UserAgent != bot {
				t.Errorf("%+v", c)
			}
		})
	}
	if err := new(card).write(new(strings.Builder), robotsmw.Options{}); err == nil {
		t.Error("a card of nobody")
	}
}

func TestCard_Contacts(t *testing.T) {
	for userAgent, want := range map[string]string{
		"ExampleBot/1.0":                                                      "",
		"ExampleBot/1.0 (+https://bot.example/)":                              "https://bot.example/ https://bot.example/",
		"ExampleBot/1.0 (+http://bot.example/a; bot@bot.example)":             "http://bot.example/a mailto:bot@bot.example",
		"ExampleBot/1.0 (a.b+c@bot.example, d@e.example)":                     " mailto:a.b+c@bot.example mailto:d@e.example",
		"Mozilla/5.0 (compatible; ExampleBot/1.0; +https://bot.example/@bot)": "https://bot.example/@bot https://bot.example/@bot",
	} {
		c := writeCard(t, robotsmw.Options{UserAgent: userAgent, Limiter: &politeness.Limiter{}})
		if got := strings.TrimRight(c.ClientURI+" "+strings.Join(c.Contacts, " "), " "); got != want {
			t.Errorf("%s: %q, want %q", userAgent, got, want)
		}
	}
}
