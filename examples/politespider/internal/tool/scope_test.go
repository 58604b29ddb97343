package tool

import (
	"net/url"
	"testing"
)

func TestScope(t *testing.T) {
	tests := []struct {
		scope   scope
		start   string
		in, out []string
	}{
		{sameHost, "http://www.example.co.uk/docs/a",
			[]string{"http://www.example.co.uk/", "https://www.example.co.uk/x?y"},
			[]string{"http://example.co.uk/", "http://www.example.co.uk:8080/", "http://a.www.example.co.uk/"}},
		{sameHost, "http://127.0.0.1:8080/", []string{"http://127.0.0.1:8080/a"}, []string{"http://127.0.0.1:8081/", "http://127.0.0.1/"}},
		{sameDomain, "http://www.example.co.uk/docs/a",
			[]string{"http://example.co.uk/", "https://shop.example.co.uk:8443/", "http://www.example.co.uk/"},
			[]string{"http://other.co.uk/", "http://co.uk/", "http://example.com/"}},
		{sameDomain, "http://alice.github.io/", []string{"http://alice.github.io/x"}, []string{"http://bob.github.io/"}}, // github.io is a public suffix
		{sameDomain, "http://127.0.0.1/", []string{"http://127.0.0.1:81/"}, []string{"http://127.0.0.2/"}},
		{samePrefix, "http://a.example/docs/v2/index.html",
			[]string{"http://a.example/docs/v2/", "https://a.example/docs/v2/x/y?z", "http://a.example/docs/v2/x"},
			[]string{"http://a.example/docs/v2", "http://a.example/docs/", "http://a.example/docs/v21/", "http://b.example/docs/v2/", "http://a.example/"}},
		{samePrefix, "http://a.example/", []string{"http://a.example/", "http://a.example/x/y"}, []string{"http://a.example:81/"}},
	}
	for _, tt := range tests {
		in := tt.scope.filter([]*url.URL{mustNormalize(t, tt.start), mustNormalize(t, "http://unrelated.example/")})
		for _, u := range tt.in {
			if !in(mustNormalize(t, u)) {
				t.Errorf("%s of %s: %s is out", tt.scope, tt.start, u)
			}
		}
		for _, u := range tt.out {
			if in(mustNormalize(t, u)) {
				t.Errorf("%s of %s: %s is in", tt.scope, tt.start, u)
			}
		}
	}
}
