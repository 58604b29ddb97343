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
		{"no field", nil, ""},
		{"an empty field", []string{""}, ""},
		{
			"the signature of a Transport", []string{`sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid;tag="web-bot-auth"`},
			`requests a Web Bot Auth signature of "@authority" "signature-agent";key="sig1"`,
		},
		{
			"a nonce and the query", []string{`sig1=("@authority" "@query");nonce="abc";alg="ed25519";tag="web-bot-auth"`},
			`requests a Web Bot Auth signature of "@authority" "@query"; the signatures of this crawler lack "@query", nonce`,
		},
		{
			"the example of RFC 9421 §5.2", []string{`sig1=("@method" "@target-uri" "@authority" "content-digest" "cache-control");keyid="test-key-rsa-pss";created;tag="app-123"`},
			`requests a signature with the tag "app-123" of "@method" "@target-uri" "@authority" "content-digest" "cache-control"; the signatures of this crawler lack "@target-uri", "content-digest", "cache-control"`,
		},
		{
			name:   "two signatures",
			fields: []string{`a=("@path");tag="web-bot-auth"`, `b=();alg="rsa-pss-sha512"`},
			want:   `requests a Web Bot Auth signature of "@path"; or requests a signature; the signatures of this crawler lack alg="rsa-pss-sha512"`,
		},
		{
			name:   "a long name",
			fields: []string{`a=("` + strings.Repeat("x", 300) + `")`},
			want:   `requests a signature of "` + strings.Repeat("x", 199) + `...; the signatures of this crawler lack "` + strings.Repeat("x", 199) + "...",
		},
		{"a number instead of a list", []string{"a=1"}, "requests a signature without a list of components"},
		{
			name:   "an invalid dictionary",
			fields: []string{"\x1b[2J("},
			want:   "requests a signature, but its Accept-Signature is invalid",
		},
		{
			name:   "a field that is too long",
			fields: []string{"a=()" + strings.Repeat(`, a=("x")`, 70_000)},
			want:   "requests a signature, but its Accept-Signature is invalid",
		},
		{
			name:   "too many lines",
			fields: slices.Repeat([]string{`a=("x")`}, 70_000),
			want:   "requests a signature, but its Accept-Signature is invalid",
		},
		{
			name:   "a repeated parameter",
			fields: []string{`a=("x";n` + strings.Repeat(";n", 20_000) + ")"},
			want:   `requests a signature of "x";n; the signatures of this crawler lack "x";n`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp := &http.Response{Header: http.Header{"Accept-Signature": tt.fields}}
			if got := Asked(resp); got != tt.want {
				t.Errorf("Asked returns\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
	if got := Asked(&http.Response{}); got != "" {
		t.Errorf("Asked of a response without headers = %q, want %q", got, "")
	}
}

func FuzzAsked(f *testing.F) {
	f.Add(`sig1=("@authority" "signature-agent";key="sig1");created;expires;keyid;nonce="x";tag="web-bot-auth"`)
	f.Add("a, b=1, c=(x);alg")
	f.Add("\x1b[2J")
	f.Add(`a=("` + strings.Repeat("x", 300) + `")`)
	f.Fuzz(func(t *testing.T, field string) {
		got := Asked(&http.Response{Header: http.Header{"Accept-Signature": {field}}})
		isEmpty := strings.Trim(field, " ") == ""
		if (got == "") != isEmpty {
			t.Errorf("Asked of %q = %q, want an empty text only for an empty field", field, got)
		}
		isPrintable := !strings.ContainsFunc(got, func(r rune) bool { return r < ' ' || r > '~' })
		if len(got) > maxDescription || !isPrintable {
			t.Errorf("Asked = %q, want at most %d bytes of printable ASCII", got, maxDescription)
		}
	})
}
