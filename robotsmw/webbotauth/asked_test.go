package webbotauth

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func TestAsked(t *testing.T) {
	tests := []struct {
		name   string
		fields []string
		want   string
	}{
		{"nothing", nil, ""},
		{"an empty field", []string{""}, ""},
		{
			"what we send", []string{`sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid;tag="web-bot-auth"`},
			`asks for a Web Bot Auth signature of "@authority" "signature-agent";key="sig1"`,
		},
		{
			"a nonce, and the query", []string{`sig1=("@authority" "@query");nonce="abc";alg="ed25519";tag="web-bot-auth"`},
			`asks for a Web Bot Auth signature of "@authority" "@query"; ours has no "@query", nonce`,
		},
		{
			"RFC 9421 §5.2", []string{`sig1=("@method" "@target-uri" "@authority" "content-digest" "cache-control");keyid="test-key-rsa-pss";created;tag="app-123"`},
			`asks for a signature with the tag "app-123" of "@method" "@target-uri" "@authority" "content-digest" "cache-control"; ours has no "@target-uri", "content-digest", "cache-control"`,
		},
		{"two", []string{`a=("@path");tag="web-bot-auth"`, `b=();alg="rsa-pss-sha512"`}, `asks for a Web Bot Auth signature of "@path"; or asks for a signature; ours has no alg="rsa-pss-sha512"`},
		{"a long name", []string{`a=("` + strings.Repeat("x", 300) + `")`}, `asks for a signature of "` + strings.Repeat("x", 199) + `...; ours has no "` + strings.Repeat("x", 199) + "..."},
		{"no list", []string{"a=1"}, "asks for a signature without saying of what"},
		{"no dictionary", []string{"\x1b[2J("}, "asks for a signature, in an Accept-Signature that cannot be read"},
		{"longer than any real one", []string{"a=()" + strings.Repeat(`, a=("x")`, 70_000)}, "asks for a signature, in an Accept-Signature that cannot be read"},
		{"as long, in lines", slices.Repeat([]string{`a=("x")`}, 70_000), "asks for a signature, in an Accept-Signature that cannot be read"},
		{"one name again and again", []string{`a=("x";n` + strings.Repeat(";n", 20_000) + ")"}, `asks for a signature of "x";n; ours has no "x";n`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Asked(&http.Response{Header: http.Header{"Accept-Signature": tt.fields}}); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		})
	}
	if got := Asked(&http.Response{}); got != "" {
		t.Error(got)
	}
}

func FuzzAsked(f *testing.F) {
	f.Add(`sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid;nonce="x";tag="web-bot-auth"`)
	f.Add("a, b=1, c=(x);alg")
	f.Add("\x1b[2J")
	f.Add(`a=("` + strings.Repeat("x", 300) + `")`)
	f.Fuzz(func(t *testing.T, field string) {
		got := Asked(&http.Response{Header: http.Header{"Accept-Signature": {field}}})
		if (got == "") != (strings.Trim(field, " ") == "") {
			t.Errorf("%q: %q", field, got)
		}
		if len(got) > maxAsked || strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q", got)
		}
	})
}
