package robots

import (
	"slices"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// Name returns the name at the beginning of a text. CheckName accepts only a
// text that is a name.
func TestName(t *testing.T) {
	for _, tt := range []struct {
		text, want string
		isName     bool
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
			t.Errorf("Name(%q) is %q, want %q", tt.text, got, tt.want)
		}
		if err := CheckName(tt.text); (err == nil) != tt.isName {
			t.Errorf("CheckName(%q) returned the error %v, want an error: %t", tt.text, err, !tt.isName)
		}
	}
}

// Named returns each robot once, in its first spelling. "*" comes first.
func TestNamed(t *testing.T) {
	first := robotstxt.Parse([]byte("User-agent: B\nUser-agent: a/1\nDisallow: /\n"))
	second := robotstxt.Parse([]byte(
		"User-agent: A\nUser-agent: *\nUser-agent: c\nUser-agent: /\nDisallow: /\n"))
	if got, want := Named(first, second), []string{"*", "B", "a", "c"}; !slices.Equal(got, want) {
		t.Errorf("Named returned %q, want %q", got, want)
	}
}
