package webbotauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const directoryURL = "https://bot.example" + DirectoryPath

// TestCheckDirectory checks the problems of a response. Each row changes one
// detail of a correct directory with two keys.
func TestCheckDirectory(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	keys := []ed25519.PrivateKey{newKey(t), newKey(t)}
	id := []string{KeyID(publicKey(keys[0])), KeyID(publicKey(keys[1]))}
	x := func(i int) string { return base64.RawURLEncoding.EncodeToString(publicKey(keys[i])) }
	type answer struct {
		status int
		header http.Header
		body   []byte
	}
	// signedAnswer returns a response with this body and valid signatures of
	// the covered components.
	signedAnswer := func(body string, created, expires time.Time, covered ...string) answer {
		h := http.Header{
			"Content-Type":   {directoryType},
			"Content-Digest": {contentDigest([]byte(body))},
		}
		values := map[string]string{
			`"@authority";req`:    "bot.example",
			`"content-digest"`:    h.Get("Content-Digest"),
			`"@status"`:           "200",
			`"@path";req`:         DirectoryPath,
			`"@method";req`:       "GET",
			`"content-type"`:      directoryType,
			`"x-none"`:            "",
			`"@query"`:            "?",
			`"content-digest";sf`: "",
		}
		if covered == nil {
			covered = []string{`"@authority";req`, `"content-digest"`}
		}
		var list []component
		for _, c := range covered {
			list = append(list, component{c, values[c]})
		}
		for i, key := range keys {
			params := lifetime(created, expires) + `;keyid="` + id[i] + `";tag="` + directoryTag + `"`
			input, signature := sign(key, fmt.Sprint("b", i), list, params)
			h.Add("Signature-Input", input)
			h.Add("Signature", signature)
		}
		return answer{200, h, []byte(body)}
	}
	jwk := func(i int, more string) string {
		return `{"kty":"OKP","crv":"Ed25519","x":"` + x(i) + `"` + more + `}`
	}
	set := func(keys ...string) string { return `{"keys":[` + strings.Join(keys, ",") + `]}` }
	both := set(jwk(0, ""), jwk(1, ""))
	valid := func(body string) answer { return signedAnswer(body, now, now.Add(time.Hour)) }
	// with returns a valid response with another header field.
	with := func(name string, values ...string) answer {
		a := valid(both)
		a.header[name] = values
		return a
	}
	tests := []struct {
		name   string
		url    string // "" means the usual URL of the directory
		answer answer
		keys   int      // number of usable keys
		want   []string // a part of each problem, in order
	}{
		{
			name:   "a correct directory",
			answer: valid(both),
			keys:   2,
		},
		{
			name: "signatures that cover more components",
			answer: signedAnswer(
				both,
				now,
				now.Add(time.Hour),
				`"@authority";req`,
				`"content-digest"`,
				`"@status"`,
				`"@path";req`,
				`"@method";req`,
				`"content-type"`,
			),
			keys: 2,
		},
		{
			name:   "keys with kid, use and alg",
			answer: valid(set(jwk(0, `,"kid":"`+id[0]+`","use":"sig","alg":"EdDSA","nbf":1700000000,"exp":1900000000.5`), jwk(1, ""))),
			keys:   2,
		},
		{
			name:   "§5.5: a redirect",
			answer: answer{301, http.Header{"Location": {"https://b.example/\x1b[2J"}}, nil},
			want:   []string{"301) to https://b.example/?[2J: verifiers follow no redirect"},
		},
		{
			name:   "§5.5: another status",
			answer: answer{203, valid(both).header, []byte(both)},
			want:   []string{"203: verifiers accept only 200"},
		},
		{
			name:   "§5.5: not found",
			answer: answer{404, nil, nil},
			want:   []string{"404"},
		},
		{
			name:   "§6.7: too long",
			answer: answer{200, nil, make([]byte, maxDirectoryBytes+1)},
			want:   []string{"larger than 64 KiB"},
		},
		{
			name:   "a content coding",
			answer: with("Content-Encoding", "br"),
			want:   []string{"content coding br"},
		},
		{
			name:   "§5.5.1: the media type",
			answer: with("Content-Type", "application/json"),
			keys:   2,
			want:   []string{`"application/json": at`},
		},
		{
			name:   "§5.5.1: no media type",
			answer: with("Content-Type"),
			keys:   2,
			want:   []string{`media type is ""`},
		},
		{
			name:   "§5.5.1: a media type with a parameter",
			answer: with("Content-Type", directoryType+"; charset=utf-8"),
			keys:   2,
		},
		{
			name:   "§5.5.1: another media type at another path",
			url:    "https://bot.example/jwks.json",
			answer: with("Content-Type", "application/json"),
			keys:   2,
		},
		{
			name:   "a body that is not JSON",
			answer: answer{200, http.Header{"Content-Type": {directoryType}}, []byte("<html>")},
			want:   []string{"not a JWK Set"},
		},
		{
			name:   "a set without keys",
			answer: valid("{}"),
			want:   []string{"not a JWK Set"},
		},
		{
			name:   "an empty set",
			answer: valid(`{"keys":[]}`),
			want:   []string{"no key that a verifier can use"},
		},
		{
			name:   "§6.7: eleven keys",
			answer: valid(set(append([]string{jwk(0, ""), jwk(1, "")}, slices.Repeat([]string{`{"kty":"RSA"}`}, 9)...)...)),
			keys:   2,
			want:   []string{"11 keys", "key 3 has the type RSA", "key 4", "key 5", "key 6", "key 7", "key 8", "key 9", "key 10"},
		},
		{
			name:   "a key that is a string",
			answer: valid(set(`"x"`, jwk(0, ""), jwk(1, ""))),
			keys:   2,
			want:   []string{"key 1 is not a JWK"},
		},
		{
			name:   "a private key",
			answer: valid(set(jwk(0, `,"d":"AAAA"`), jwk(1, ""))),
			keys:   1,
			want:   []string{"key 1 contains the private key", "signature b0: the keyid"},
		},
		{
			name:   "a short x",
			answer: valid(set(`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`, jwk(0, ""), jwk(1, ""))),
			keys:   2,
			want:   []string{`key 1: "x" is not 32 bytes`},
		},
		{
			name:   "§5.5: a kid that is not the thumbprint",
			answer: valid(set(jwk(0, `,"kid":"key-1"`), jwk(1, ""))),
			keys:   2,
			want:   []string{`key 1 has the kid "key-1"`},
		},
		{
			name:   "§5.5: a kid that is not the thumbprint at another path",
			url:    "https://bot.example/jwks.json",
			answer: valid(set(jwk(0, `,"kid":"key-1"`), jwk(1, ""))),
			keys:   2,
		},
		{
			name:   "another use",
			answer: valid(set(jwk(0, `,"use":"enc"`), jwk(1, ""))),
			keys:   2,
			want:   []string{`key 1 has the use "enc"`},
		},
		{
			name:   "another alg",
			answer: valid(set(jwk(0, `,"alg":"PS512"`), jwk(1, ""))),
			keys:   2,
			want:   []string{`key 1 has the alg "PS512"`},
		},
		{
			name:   "§5.5.2: an expired key",
			answer: valid(set(jwk(0, `,"exp":1700000000`), jwk(1, ""))),
			keys:   1,
			want:   []string{"key 1 expired at 2023-11-14T22:13:20Z", "signature b0"},
		},
		{
			name:   "§6.8: a test key",
			answer: valid(set(jwk(0, ""), jwk(1, ""), `{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`)),
			keys:   2,
			want:   []string{"key 3 is the test key of RFC 9421"},
		},
		{
			name:   "a duplicate key",
			answer: valid(set(jwk(0, ""), jwk(1, ""), jwk(0, ""))),
			keys:   2,
			want:   []string{"key 3 is a duplicate"},
		},
		{
			name:   "B.1: no signatures",
			answer: answer{200, http.Header{"Content-Type": {directoryType}}, []byte(both)},
			keys:   2,
			want:   []string{"key 1, " + id[0] + ", has no valid signature", "key 2"},
		},
		{
			name:   "B.1: an invalid Signature",
			answer: with("Signature", "b0=:YQ"),
			keys:   2,
			want:   []string{"not a valid dictionary"},
		},
		{
			name:   "B.1: another tag",
			answer: with("Signature-Input", `b0=("@authority";req);tag="web-bot-auth"`),
			keys:   2,
			want:   []string{"key 1", "key 2"},
		},
		{
			name:   "B.1: a signature without a value",
			answer: with("Signature", "b1"+valid(both).header["Signature"][1][2:]),
			keys:   2,
			want:   []string{"signature b0: Signature has no member of this name", "key 1"},
		},
		{
			name:   "B.1: a short value",
			answer: with("Signature", "b0=:YQ==:", valid(both).header["Signature"][1]),
			keys:   2,
			want:   []string{"signature b0: the value is not an Ed25519 signature", "key 1"},
		},
		{
			name: "B.1: a signature of another key",
			answer: with(
				"Signature",
				"b0"+valid(both).header["Signature"][1][2:],
				valid(both).header["Signature"][1],
			),
			keys: 2,
			want: []string{"signature b0: the signature is invalid", "key 1"},
		},
		{
			name: "B.1: a token instead of components",
			answer: with(
				"Signature-Input",
				"b0=x;tag=\"http-message-signatures-directory\"",
				valid(both).header["Signature-Input"][1],
			),
			keys: 2,
			want: []string{"has no list of components", "key 1"},
		},
		{
			name: "B.1: another alg",
			answer: with(
				"Signature-Input",
				valid(both).header["Signature-Input"][0]+`;alg="rsa-pss-sha512"`,
				valid(both).header["Signature-Input"][1],
			),
			keys: 2,
			want: []string{"the alg is not ed25519", "key 1"},
		},
		{
			name:   "B.1: another body",
			answer: answer{200, valid(both).header, []byte(both + "\n")},
			keys:   2,
			want:   []string{"Content-Digest does not match the body"},
		},
		{
			name:   "B.1: no Content-Digest",
			answer: with("Content-Digest"),
			keys:   2,
			want:   []string{`covers "content-digest", which is not in the response or is not supported by this check`, "b1", "key 1", "key 2"},
		},
		{
			name:   "RFC 9530: an invalid Content-Digest",
			answer: with("Content-Digest", "sha-256=x y"),
			keys:   2,
			want:   []string{"Content-Digest is not a valid dictionary", "b0", "b1", "key 1", "key 2"},
		},
		{
			name:   "RFC 9530: another algorithm",
			answer: with("Content-Digest", "md5=:YQ==:"),
			keys:   2,
			want:   []string{"no sha-256", "b0", "b1", "key 1", "key 2"},
		},
		{
			name:   "B.1: no authority",
			answer: signedAnswer(both, now, now.Add(time.Hour), `"content-digest"`),
			keys:   2,
			want:   []string{`does not cover "@authority";req`, "b1", "key 1", "key 2"},
		},
		{
			name:   "B.1: no digest covered",
			answer: signedAnswer(both, now, now.Add(time.Hour), `"@authority";req`),
			keys:   2,
			want:   []string{`does not cover "content-digest"`, "b1", "key 1", "key 2"},
		},
		{
			name:   "RFC 9421: a component that is covered twice",
			answer: signedAnswer(both, now, now.Add(time.Hour), `"@authority";req`, `"@authority";req`),
			keys:   2,
			want:   []string{"twice", "b1", "key 1", "key 2"},
		},
		{
			name:   "RFC 9421: a missing field",
			answer: signedAnswer(both, now, now.Add(time.Hour), `"@authority";req`, `"x-none"`),
			keys:   2,
			want:   []string{`covers "x-none"`, "b1", "key 1", "key 2"},
		},
		{
			name:   "RFC 9421: a component of requests",
			answer: signedAnswer(both, now, now.Add(time.Hour), `"@query"`),
			keys:   2,
			want:   []string{`covers "@query"`, "b1", "key 1", "key 2"},
		},
		{
			name:   "RFC 9421: an unsupported parameter",
			answer: signedAnswer(both, now, now.Add(time.Hour), `"content-digest";sf`),
			keys:   2,
			want:   []string{`covers "content-digest";sf`, "b1", "key 1", "key 2"},
		},
		{
			name:   "B.1: another authority",
			url:    "https://other.example" + DirectoryPath,
			answer: valid(both),
			keys:   2,
			want:   []string{"b0: the signature is invalid", "b1", "key 1", "key 2"},
		},
		{
			name:   "B.1: a signature created in the future",
			answer: signedAnswer(both, now.Add(time.Minute), now.Add(time.Hour)),
			keys:   2,
			want:   []string{"created in the future", "b1", "key 1", "key 2"},
		},
		{
			name:   "B.1: an expired signature",
			answer: signedAnswer(both, now.Add(-time.Hour), now),
			keys:   2,
			want:   []string{"expired at 2027-01-15T08:00:00Z: sign", "b1", "key 1", "key 2"},
		},
		{
			name:   "caching: as long as the signatures",
			answer: with("Cache-Control", "public, max-age=3600"),
			keys:   2,
		},
		{
			name:   "caching: longer than the signatures",
			answer: with("Cache-Control", "public, max-age=86400"),
			keys:   2,
			want:   []string{"cached for 24h0m0s, but the signature of key 1 expires in 1h0m0s", "key 2"},
		},
		{
			name:   "caching: a max-age that would overflow",
			answer: with("Cache-Control", "max-age=99999999999999999999"),
			keys:   2,
			want:   []string{"but the signature of key 1 expires in 1h0m0s", "key 2"},
		},
		{
			name:   "caching: an s-maxage",
			answer: with("Cache-Control", `max-age=60, s-maxage="7200"`),
			keys:   2,
			want:   []string{"2h0m0s", "key 2"},
		},
		{
			name:   "caching: no-store",
			answer: with("Cache-Control", "no-store, max-age=86400"),
			keys:   2,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest("GET", cmp.Or(tt.url, directoryURL), nil)
			resp := &http.Response{StatusCode: tt.answer.status, Header: tt.answer.header}
			if resp.Header == nil {
				resp.Header = http.Header{}
			}
			var r directoryReport
			r.check(req, resp, tt.answer.body, now)
			if len(r.keys) != tt.keys {
				t.Errorf("the report has %d usable keys, want %d", len(r.keys), tt.keys)
			}
			if len(r.problems) != len(tt.want) {
				t.Fatalf("the report has the problems %q, want %q", r.problems, tt.want)
			}
			for i, want := range tt.want {
				if !strings.Contains(r.problems[i], want) {
					t.Errorf("problem %d is %q, want it to contain %q", i, r.problems[i], want)
				}
			}
		})
	}
}

// TestCheckDirectory_ManySignatures checks a response with 300 invalid
// signatures that cover a field of 9 MB. Verifying all of them would take
// minutes, so only some are verified, and none with a field of this size.
func TestCheckDirectory_ManySignatures(t *testing.T) {
	now := time.Now()
	key := newKey(t)
	h, body := signedDirectory("bot.example", []ed25519.PrivateKey{key}, now, now.Add(time.Hour))
	h.Set("Content-Type", directoryType)
	inputs := []string{h.Get("Signature-Input")}
	values := []string{h.Get("Signature")}
	params := fmt.Sprintf(`%s;keyid="%s";tag="%s"`,
		lifetime(now, now.Add(time.Hour)), KeyID(publicKey(key)), directoryTag)
	invalid := base64.StdEncoding.EncodeToString(make([]byte, 64))
	for i := range 300 {
		inputs = append(inputs, fmt.Sprintf(`a%d=("@authority";req "content-digest" "x")%s`, i, params))
		values = append(values, fmt.Sprintf("a%d=:%s:", i, invalid))
	}
	h.Set("Signature-Input", strings.Join(inputs, ", "))
	h.Set("Signature", strings.Join(values, ", "))
	h.Set("X", strings.Repeat("x", 9<<20))
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{
			StatusCode: 200,
			Header:     h,
			Body:       io.NopCloser(bytes.NewReader(body)),
			Request:    r,
		}, nil
	})
	keys, problems := CheckDirectory(t.Context(), base, directoryURL)
	if len(keys) != 1 || keys[0].Until.IsZero() {
		t.Errorf("CheckDirectory returns the keys %v, want one with Until, because its signature is valid", keys)
	}
	if n := len(problems); n != maxSignatures {
		t.Fatalf("CheckDirectory returns %d problems, want %d: %.2000q", n, maxSignatures, problems)
	}
	for i, want := range map[int]string{
		0:                 `covers "x", which is larger than 64 KiB`,
		maxSignatures - 1: "more than 20 signatures",
	} {
		if !strings.Contains(problems[i], want) {
			t.Errorf("problem %d is %q, want it to contain %q", i, problems[i], want)
		}
	}
}

// TestCheckDirectory_Request checks that CheckDirectory sends a single request,
// and that the only problem is the failure of this request.
func TestCheckDirectory_Request(t *testing.T) {
	var web robotstest.Internet
	web.Handle("bot.example", &Directory{
		Authority: "bot.example",
		Keys:      []ed25519.PrivateKey{newKey(t)},
	})
	web.Handle("slow.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "{")
	}))
	keys, problems := CheckDirectory(t.Context(), &web, directoryURL)
	if len(problems) > 0 || len(keys) != 1 || time.Until(keys[0].Until) < 23*time.Hour {
		t.Errorf("CheckDirectory = %+v, %q, want one key that is valid for 23 hours, and no problems",
			keys, problems)
	}
	log := web.Log()
	if len(log) != 1 {
		t.Fatalf("%d requests were sent, want 1", len(log))
	}
	for name, want := range map[string]string{
		"Accept":          directoryType,
		"Accept-Encoding": "identity",
	} {
		if got := log[0].Header.Get(name); got != want {
			t.Errorf("%s of the request is %q, want %q", name, got, want)
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		url  string
		want string
	}{
		{"an http URL", t.Context(), "http://bot.example/", "begins with https://"},
		{"an empty URL", t.Context(), "", "is empty"},
		{"an unreachable server", t.Context(), "https://none.example/", "cannot be fetched"},
		{"a truncated body", t.Context(), "https://slow.example/", "cannot be read"},
		{"a canceled context", ended, "https://bot.example/", "context canceled"},
	} {
		keys, problems := CheckDirectory(tt.ctx, &web, tt.url)
		if len(problems) != 1 || !strings.Contains(problems[0], tt.want) || keys != nil {
			t.Errorf("%s: CheckDirectory = %+v, %q, want no keys and one problem that contains %q",
				tt.name, keys, problems, tt.want)
		}
	}
}

// TestCheckDirectory_AnyByteChanged checks that there is a problem if any byte
// of the body, Content-Digest, Signature-Input or Signature is changed.
func TestCheckDirectory_AnyByteChanged(t *testing.T) {
	d := &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{newKey(t)}}
	now := time.Unix(1_800_000_000, 0)
	header, body, err := d.Response(now)
	if err != nil {
		t.Fatal(err)
	}
	check := func(h http.Header, body []byte) directoryReport {
		var r directoryReport
		req := httptest.NewRequest("GET", directoryURL, nil)
		r.check(req, &http.Response{StatusCode: 200, Header: h}, body, now)
		return r
	}
	if r := check(header, body); len(r.problems) > 0 {
		t.Fatalf("got the problems %q without a change, want none", r.problems)
	}
	for i := range body {
		changed := bytes.Clone(body)
		changed[i] ^= 1
		if r := check(header, changed); len(r.problems) == 0 {
			t.Errorf("the report has no problem although byte %d of the body is changed, want one: %s", i, changed)
		}
	}
	for _, name := range []string{"Content-Digest", "Signature-Input", "Signature"} {
		value := header.Get(name)
		for i := range value {
			changed := []byte(value)
			changed[i] ^= 1
			h := header.Clone()
			h.Set(name, string(changed))
			if r := check(h, body); len(r.problems) == 0 {
				t.Errorf("the report has no problem although byte %d of %s is changed, want one: %s", i, name, changed)
			}
		}
	}
}

// FuzzCheckDirectory checks that problems contain no control characters, and
// that Until is set only for the key of the signature.
func FuzzCheckDirectory(f *testing.F) {
	now := time.Unix(1_800_000_000, 0)
	_, key, err := ed25519.GenerateKey(zeros{})
	if err != nil {
		f.Fatal(err)
	}
	header, body := signedDirectory(
		"bot.example",
		[]ed25519.PrivateKey{key},
		now,
		now.Add(time.Hour),
	)
	f.Add(200, directoryType,
		header.Get("Content-Digest"), header.Get("Signature-Input"), header.Get("Signature"),
		"max-age=60", body)
	f.Add(200, "", "sha-256=::",
		`a=();tag="http-message-signatures-directory"`,
		"a=::", "s-maxage=x", []byte(testDirectory))
	f.Add(302, "", "", "", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, status int, contentType, digest, input, signature, cache string, body []byte) {
		var r directoryReport
		resp := &http.Response{StatusCode: status, Header: http.Header{
			"Content-Type":     {contentType},
			"Content-Digest":   {digest},
			"Signature-Input":  {input},
			"Signature":        {signature},
			"Cache-Control":    {cache},
			"Location":         {signature},
			"Content-Encoding": {""},
		}}
		r.check(httptest.NewRequest("GET", directoryURL, nil), resp, body, now)
		for _, problem := range r.problems {
			if strings.ContainsFunc(problem, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("the problem %q contains control characters, want none", problem)
			}
		}
		for _, k := range r.keys {
			if k.ID != KeyID(k.public) {
				t.Errorf("the key %+v has the wrong ID, want its thumbprint %s", k, KeyID(k.public))
			}
			if !k.Until.IsZero() && !k.public.Equal(key.Public()) {
				t.Errorf("got the key %+v, want no Until, because it did not sign the response", k)
			}
		}
	})
}

// A zeros is a reader of zeros, from which the same key is always generated.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errors.New("nothing to fill")
	}
	clear(p)
	return len(p), nil
}
