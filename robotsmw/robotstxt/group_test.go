package robotstxt

import (
	"strings"
	"testing"
)

// A robot's group has no Allow or Disallow, so another robot's user-agent line
// joins the same group. The preferences, rates and times after that line are
// the other robot's alone. Rules are for both.
func TestGroupsFor_WhoseLineItIs(t *testing.T) {
	for _, tt := range []struct {
		name string
		text string
		want map[string]string // by token: the values of the robot's fields
	}{
		{"two preferences", `
			User-agent: a
			Content-Usage: 1
			User-agent: b
			Content-Usage: 2
			Disallow: /`, map[string]string{"a": "1", "b": "2"}},
		{"in any letter case and order", `
			User-agent: a
			CONTENT-SIGNAL: 1
			content-signal: 2
			User-agent: b
			ContentSignal: 3
			Disallow: /`, map[string]string{"a": "1 2", "b": "3"}},
		{"shared by the lines before it", `
			User-agent: a
			User-agent: b
			Request-rate: 1
			User-agent: c
			Request-rate: 2
			Request-rate: 3`, map[string]string{"a": "1", "b": "1", "c": "2 3"}},
		{"a later line of all user-agent lines", `
			User-agent: a
			User-agent: b
			Allow: /
			Visit-time: 1
			Content-Usage: 2`, map[string]string{"a": "1 2", "b": "1 2"}},
		{"the robots of *", `
			User-agent: a
			Content-Usage: 1
			User-agent: *
			Content-Usage: 2`, map[string]string{"a": "1", "other": "2"}},
		{"a robot that is named twice", `
			User-agent: a
			Content-Usage: 1
			User-agent: b
			Content-Usage: 2
			User-agent: a
			Content-Usage: 3`, map[string]string{"a": "1 3", "b": "2"}},
		{"each field has its own series", `
			User-agent: a
			Crawl-delay: 1
			User-agent: b
			Content-Signal: 2
			User-agent: c
			Request-rate: 3`, map[string]string{"a": "1 2 3", "b": "2 3", "c": "3"}},
		{"a preference of AIPREF ends the others' series", `
			User-agent: a
			Content-Usage: 1
			User-agent: b
			Content-Signal: 2
			Request-rate: 3
			Visit-time: 4`, map[string]string{"a": "1", "b": "2 3 4"}},
		{"but not that of Crawl-delay", `
			User-agent: a
			Content-Usage: 1
			User-agent: b
			Crawl-delay: 2`, map[string]string{"a": "1 2", "b": "2"}},
		{"other fields are of the group", `
			User-agent: a
			Noindex: 1
			User-agent: b
			Noindex: 2
			Clean-param: 3`, map[string]string{"a": "1 2 3", "b": "1 2 3"}},
		{"a rule begins a new group", `
			User-agent: a
			Disallow: /
			User-agent: b
			Content-Usage: 1`, map[string]string{"a": "", "b": "1"}},
	} {
		f := parse(strings.ReplaceAll(tt.text, "\t", ""))
		for token, want := range tt.want {
			var values []string
			for g := range f.GroupsFor(token) {
				for _, field := range g.Fields {
					values = append(values, field.Value)
				}
			}
			if got := strings.Join(values, " "); got != want {
				t.Errorf("%s: the fields of %s are %q, want %q", tt.name, token, got, want)
			}
		}
	}
}
