package robotsmw

import (
	"slices"
	"strings"
	"testing"
)

func TestProductTokenFollowsFromUserAgent(t *testing.T) {
	for _, tt := range []struct{ agent, token string }{
		{"ExampleBot/1.0 (+https://example.com/bot)", "ExampleBot"},
		{"ExampleBot", "ExampleBot"},
		{"  ExampleBot/1.0", "ExampleBot"},
		{"ExampleBot (+https://example.com/bot)", "ExampleBot"},
		{"ExampleBot +https://example.com/bot", "ExampleBot"},
		{"MJ12bot/v1.4.8 (http://mj12bot.com/)", "MJ12bot"},
		{"archive.org_bot/2 colly/2.3", "archive.org_bot"},
		{"Mozilla/5.0 (compatible; ExampleBot/0.1; +https://example.com/bot.html)", "ExampleBot"},
		{"Mozilla/5.0 (compatible;ExampleBot)", "ExampleBot"},
		{"Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; Compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm) Chrome/103.0 Safari/537.36",
			"bingbot"},
	} {
		got, err := productTokens(tt.agent, nil)
		if err != nil || !slices.Equal(got, []string{tt.token}) {
			t.Errorf("productTokens(%q) = %q, %v; want the token %q", tt.agent, got, err, tt.token)
		}
	}
}

func TestBadIdentityIsAnErrorThatSaysWhatToWrite(t *testing.T) {
	for _, tt := range []struct {
		name   string
		agent  string
		tokens []string
		want   string
	}{
		{"no user agent", "", nil, "Options.UserAgent is empty"},
		{"blank user agent", "  \t", nil, "Options.UserAgent is empty"},
		{"no user agent, but tokens", "", []string{"ExampleBot"}, "Options.UserAgent is empty"},
		{"Go's default", "Go-http-client/1.1", nil, "is a library default"},
		{"colly's default", "colly - https://github.com/gocolly/colly/v2", nil, "is a library default"},
		{"colly's default with tokens", "colly - https://github.com/gocolly/colly/v2", []string{"ExampleBot"},
			"is a library default"},
		{"a library inside Mozilla", "Mozilla/5.0 (compatible; colly/2.0)", nil, "is a library's name"},
		{"a name of two words", "My Bot", nil, `such as "MyBot/1.0"`},
		{"a name of two words and a version", "My Bot/1.0", nil, `such as "MyBot/1.0"`},
		{"a browser", "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0", nil,
			"set Options.ProductTokens"},
		{"an old browser", "Mozilla/5.0 (compatible; MSIE 10.0; Windows NT 6.2)", nil,
			"no product token can be derived"},
		{"a letter that no token has", "Bücherbot/1.0", nil, `such as "Bcherbot/1.0"`},
		{"no letter of a token", "机器人", nil, "no product token can be derived"},
		{"two lines", "ExampleBot/1.0\r\nX: y", nil, "control character"},
		{"a token with a space", "ExampleBot/1.0", []string{"My Bot"}, `such as "MyBot"`},
		{"a token with a version", "ExampleBot/1.0", []string{"ExampleBot/1.0"}, `such as "ExampleBot"`},
		{"an empty token", "ExampleBot/1.0", []string{""}, `product token ""`},
		{"everybody's token", "ExampleBot/1.0", []string{"*"}, `product token "*"`},
		{"a library's token", "ExampleBot/1.0", []string{"ExampleBot", "COLLY"}, "is a library's name"},
		{"an empty list of tokens", "ExampleBot/1.0", []string{}, "leave it nil"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := NewTransport(Options{UserAgent: tt.agent, ProductTokens: tt.tokens})
			if err == nil {
				t.Fatalf("NewTransport returned no error, want one that contains %q", tt.want)
			}
			if !strings.HasPrefix(err.Error(), "robotsmw: ") || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("NewTransport returned the error %q, want it to begin with \"robotsmw: \" and to contain %q", err, tt.want)
			}
		})
	}
}

func TestUserAgentNamesToken(t *testing.T) {
	for _, tt := range []struct {
		agent, token string
		want         bool
	}{
		{"ExampleBot/2.0", "examplebot", true},
		{"Mozilla/5.0 (compatible; ExampleBot/0.1)", "ExampleBot", true},
		{"ExampleBots/2.0", "ExampleBot", false},
		{"NotExampleBot", "ExampleBot", false},
		{"", "ExampleBot", false},
	} {
		if got := names(tt.agent, tt.token); got != tt.want {
			t.Errorf("names(%q, %q) = %v, want %v", tt.agent, tt.token, got, tt.want)
		}
	}
}

func FuzzProductTokens(f *testing.F) {
	for _, s := range []string{"ExampleBot/1.0", "Mozilla/5.0 (compatible; a/1", "My Bot", "\xff;compatible;\xffx", "Mozilla compatible;"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, agent string) {
		tokens, err := productTokens(agent, nil)
		if err != nil {
			return
		}
		if len(tokens) != 1 {
			t.Fatalf("productTokens(%q) returned %d tokens, want 1", agent, len(tokens))
		}
		if _, err := productTokens(agent, tokens); err != nil {
			t.Errorf("productTokens(%q) returned the token %q, want one that it accepts as a product token: %v", agent, tokens[0], err)
		}
		if !names(agent, tokens[0]) {
			t.Errorf("productTokens(%q) returned the token %q, want one that the User-Agent contains", agent, tokens[0])
		}
	})
}
