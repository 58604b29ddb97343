package robots

import (
	"slices"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Name finds the name at the beginning of a text. Check accepts a text for
// -agent only if it is a name and nothing else.
func TestName(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		agent      bool
	}{
		{"ExampleBot", "ExampleBot", true},
		{"archive.org_bot-2", "archive.org_bot-2", true},
		{"*", "*", true},
		{"ExampleBot/1.0 (+https://example.com/bot)", "ExampleBot", false},
		{"Example Bot", "Example", false},
		{"* # all", "*", false},
		{"*\tall", "*", false},
		{"*bot", "", false},
		{"Mozilla", "Mozilla", false},
		{"", "", false},
		{"/1.0", "", false},
	} {
		if got := Name(tt.text); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.text, got, tt.want)
		}
		if err := CheckName(tt.text); (err == nil) != tt.agent {
			t.Errorf("%q as -agent: %v", tt.text, err)
		}
	}
}

// Named returns each robot once, in its first spelling. "*" comes first.
func TestNamed(t *testing.T) {
	one := robotstxt.Parse([]byte("User-agent: B\nUser-agent: a/1\nDisallow: /\n"))
	other := robotstxt.Parse([]byte("User-agent: A\nUser-agent: *\nUser-agent: c\nUser-agent: /\nDisallow: /\n"))
	if got, want := Named(one, other), []string{"*", "B", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
