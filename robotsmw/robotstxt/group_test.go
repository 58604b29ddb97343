package robotstxt

import (
	"strings"
	"testing"
)

// TestGroupsFor_Scopes checks which Fields apply to which robots of a group. If
// there is no rule between two user-agent lines, both robots share the group,
// but preferences, rates and times apply only to the lines before them.
func TestGroupsFor_Scopes(t *testing.T) {
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
		{"names in any case", `
			User-agent: a
			CONTENT-SIGNAL: 1
			content-signal: 2
			User-agent: b
			ContentSignal: 3
			Disallow: /`, map[string]string{"a": "1 2", "b": "3"}},
		{"a rate for two robots", `
			User-agent: a
			User-agent: b
			Request-rate: 1
			User-agent: c
			Request-rate: 2
			Request-rate: 3`, map[string]string{"a": "1", "b": "1", "c": "2 3"}},
		{"fields after the rules", `
			User-agent: a
			User-agent: b
			Allow: /
			Visit-time: 1
			Content-Usage: 2`, map[string]string{"a": "1 2", "b": "1 2"}},
		{"a preference for *", `
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
		{"several kinds of fields", `
			User-agent: a
			Crawl-delay: 1
			User-agent: b
			Content-Signal: 2
			User-agent: c
			Request-rate: 3`, map[string]string{"a": "1 2 3", "b": "2 3", "c": "3"}},
		{"a Content-Usage before another user-agent line", `
			User-agent: a
			Content-Usage: 1
			User-agent: b
			Content-Signal: 2
			Request-rate: 3
			Visit-time: 4`, map[string]string{"a": "1", "b": "2 3 4"}},
		{"a Crawl-delay after a Content-Usage", `
			User-agent: a
			Content-Usage: 1
			User-agent: b
			Crawl-delay: 2`, map[string]string{"a": "1 2", "b": "2"}},
		{"fields that apply to the whole group", `
			User-agent: a
			Noindex: 1
			User-agent: b
			Noindex: 2
			Clean-param: 3`, map[string]string{"a": "1 2 3", "b": "1 2 3"}},
		{"a rule between user-agent lines", `
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
				t.Errorf("%s: GroupsFor(%q) has the values %q, want %q", tt.name, token, got, want)
			}
		}
	}
}
