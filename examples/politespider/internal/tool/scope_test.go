package tool

import (
	"net/url"
	"testing"
)

func TestScope(t *testing.T) {
	for _, tt := range []struct {
		scope   scope
		start   string
		in, out []string
	}{
		{
			scope: sameHost,
			start: "http://www.example.co.uk/docs/a",
			in:    []string{"http://www.example.co.uk/", "https://www.example.co.uk/x?y"},
			out: []string{
				"http://example.co.uk/",
				"http://www.example.co.uk:8080/",
				"http://a.www.example.co.uk/",
			},
		},
		{
			scope: sameHost,
			start: "http://127.0.0.1:8080/",
			in:    []string{"http://127.0.0.1:8080/a"},
			out:   []string{"http://127.0.0.1:8081/", "http://127.0.0.1/"},
		},
		{
			scope: sameDomain,
			start: "http://www.example.co.uk/docs/a",
			in: []string{
				"http://example.co.uk/",
				"https://shop.example.co.uk:8443/",
				"http://www.example.co.uk/",
			},
			out: []string{"http://other.co.uk/", "http://co.uk/", "http://example.com/"},
		},
		{
			scope: sameDomain,
			start: "http://alice.github.io/", // github.io is a public suffix
			in:    []string{"http://alice.github.io/x"},
			out:   []string{"http://bob.github.io/"},
		},
		{
			scope: sameDomain,
			start: "http://127.0.0.1/",
			in:    []string{"http://127.0.0.1:81/"},
			out:   []string{"http://127.0.0.2/"},
		},
		{
			scope: samePrefix,
			start: "http://a.example/docs/v2/index.html",
			in: []string{
				"http://a.example/docs/v2/",
				"https://a.example/docs/v2/x/y?z",
				"http://a.example/docs/v2/x",
			},
			out: []string{
				"http://a.example/docs/v2",
				"http://a.example/docs/",
				"http://a.example/docs/v21/",
				"http://b.example/docs/v2/",
				"http://a.example/",
			},
		},
		{
			scope: samePrefix,
			start: "http://a.example/",
			in:    []string{"http://a.example/", "http://a.example/x/y"},
			out:   []string{"http://a.example:81/"},
		},
	} {
		start := []*url.URL{mustNormalize(t, tt.start), mustNormalize(t, "http://unrelated.example/")}
		inScope := tt.scope.filter(start)
		for _, u := range tt.in {
			if !inScope(mustNormalize(t, u)) {
				t.Errorf("%s is outside the scope %s of %s, want inside", u, tt.scope, tt.start)
			}
		}
		for _, u := range tt.out {
			if inScope(mustNormalize(t, u)) {
				t.Errorf("%s is inside the scope %s of %s, want outside", u, tt.scope, tt.start)
			}
		}
	}
}
