package webbotauth

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Each row changes one thing in a correct directory of two keys. The report
// must have the problems that the row lists, in this order, and no others.
func TestCheckDirectory(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	keys := []ed25519.PrivateKey{newKey(t), newKey(t)}
	id := []string{KeyID(publicKey(keys[0])), KeyID(publicKey(keys[1]))}
	x := func(i int) string { return base64.RawURLEncoding.EncodeToString(publicKey(keys[i])) }
	const at = "https://bot.example" + DirectoryPath
	type answer struct {
		status int
		header http.Header
		body   []byte
	}
	// signedAnswer makes an answer with this body and with signatures
	// that fit it.
	signedAnswer := func(body string, created, expires time.Time, covered ...string) answer {
		h := http.Header{"Content-Type": {directoryType}, "Content-Digest": {contentDigest([]byte(body))}}
		values := map[string]string{`"@authority";req`: "bot.example", `"content-digest"`: h.Get("Content-Digest"), `"@status"`: "200", `"@path";req`: DirectoryPath, `"@method";req`: "GET", `"content-type"`: directoryType, `"x-none"`: "", `"@query"`: "?", `"content-digest";sf`: ""}
		if covered == nil {
			covered = []string{`"@authority";req`, `"content-digest"`}
		}
		var list []component
		for _, c := range covered {
			list = append(list, component{c, values[c]})
		}
		for i, key := range keys {
			input, signature := sign(
				key,
				fmt.Sprint("b", i),
				list,
				lifetime(created, expires)+`;keyid="`+id[i]+`";tag="`+directoryTag+`"`,
			)
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
	fine := func(body string) answer { return signedAnswer(body, now, now.Add(time.Hour)) }
	with := func(name string, values ...string) answer {
		a := fine(both)
		a.header[name] = values
		return a
	}
	tests := []struct {
		name string
		url  string // "" means the usual URL of the directory
		answer
		keys int
		want []string // each is a part of one problem, in order
	}{
		{"all well", "", fine(both), 2, nil},
		{
			"all well, and more is covered",
			"",
			signedAnswer(
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
			2,
			nil,
		},
		{
			"kid, use and alg as they should be",
			"",
			fine(set(jwk(0, `,"kid":"`+id[0]+`","use":"sig","alg":"EdDSA","nbf":1700000000,"exp":1900000000.5`), jwk(1, ""))),
			2,
			nil,
		},
		{
			"§5.5: a redirect",
			"",
			answer{301, http.Header{"Location": {"https://b.example/\x1b[2J"}}, nil},
			0,
			[]string{"301) to https://b.example/?[2J: verifiers follow no redirect"},
		},
		{
			"§5.5: another status",
			"",
			answer{203, fine(both).header, []byte(both)},
			0,
			[]string{"203: verifiers accept only 200"},
		},
		{"§5.5: not found", "", answer{404, nil, nil}, 0, []string{"404"}},
		{
			"§6.7: too long",
			"",
			answer{200, nil, make([]byte, maxDirectoryBytes+1)},
			0,
			[]string{"larger than 64 KiB"},
		},
		{"encoded", "", with("Content-Encoding", "br"), 0, []string{"content coding br"}},
		{
			"§5.5.1: the media type",
			"",
			with("Content-Type", "application/json"),
			2,
			[]string{`"application/json": at`},
		},
		{"§5.5.1: no media type", "", with("Content-Type"), 2, []string{`media type is ""`}},
		{
			"§5.5.1: parameters are no matter",
			"",
			with("Content-Type", directoryType+"; charset=utf-8"),
			2,
			nil,
		},
		{
			"§5.5.1: nor is the type elsewhere",
			"https://bot.example/jwks.json",
			with("Content-Type", "application/json"),
			2,
			nil,
		},
		{
			"no JSON",
			"",
			answer{200, http.Header{"Content-Type": {directoryType}}, []byte("<html>")},
			0,
			[]string{"not a JWK Set"},
		},
		{"no keys", "", fine("{}"), 0, []string{"not a JWK Set"}},
		{"an empty set", "", fine(`{"keys":[]}`), 0, []string{"no key that a verifier can use"}},
		{
			"§6.7: eleven keys",
			"",
			fine(set(append([]string{jwk(
				0,
				"",
			), jwk(1, "")}, strings.Split(strings.Repeat(`{"kty":"RSA"} `, 9), " ")[:9]...)...)),
			2,
			[]string{"11 keys", "key 3: its type is RSA", "key 4", "key 5", "key 6", "key 7", "key 8", "key 9", "key 10"},
		},
		{
			"a key that is a string",
			"",
			fine(set(`"x"`, jwk(0, ""), jwk(1, ""))),
			2,
			[]string{"key 1: it is not a JWK"},
		},
		{
			"a private key",
			"",
			fine(set(jwk(0, `,"d":"AAAA"`), jwk(1, ""))),
			1,
			[]string{"key 1: it contains the private key", "signature b0: its keyid"},
		},
		{
			"a short x",
			"",
			fine(set(`{"kty":"OKP","crv":"Ed25519","x":"AAAA"}`, jwk(0, ""), jwk(1, ""))),
			2,
			[]string{`key 1: "x" is not 32 bytes`},
		},
		{
			"§5.5: a kid of their own",
			"",
			fine(set(jwk(0, `,"kid":"key-1"`), jwk(1, ""))),
			2,
			[]string{`key 1: its kid is "key-1"`},
		},
		{
			"§5.5: may be elsewhere",
			"https://bot.example/jwks.json",
			fine(set(jwk(0, `,"kid":"key-1"`), jwk(1, ""))),
			2,
			nil,
		},
		{
			"another use",
			"",
			fine(set(jwk(0, `,"use":"enc"`), jwk(1, ""))),
			2,
			[]string{`its use is "enc"`},
		},
		{
			"another alg",
			"",
			fine(set(jwk(0, `,"alg":"PS512"`), jwk(1, ""))),
			2,
			[]string{`its alg is "PS512"`},
		},
		{
			"§5.5.2: an expired key",
			"",
			fine(set(jwk(0, `,"exp":1700000000`), jwk(1, ""))),
			1,
			[]string{"key 1: it expired at 2023-11-14T22:13:20Z", "signature b0"},
		},
		{
			"§6.8: a test key",
			"",
			fine(set(jwk(0, ""), jwk(1, ""), `{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`)),
			2,
			[]string{"key 3: it is the test key of RFC 9421"},
		},
		{
			"a key twice",
			"",
			fine(set(jwk(0, ""), jwk(1, ""), jwk(0, ""))),
			2,
			[]string{"key 3: it is a duplicate"},
		},

		{
			"B.1: no signatures",
			"",
			answer{200, http.Header{"Content-Type": {directoryType}}, []byte(both)},
			2,
			[]string{"key 1, " + id[0] + ", has no valid signature", "key 2"},
		},
		{
			"B.1: fields that are none",
			"",
			with("Signature", "b0=:YQ"),
			2,
			[]string{"not a valid dictionary"},
		},
		{
			"B.1: another purpose",
			"",
			with("Signature-Input", `b0=("@authority";req);tag="web-bot-auth"`),
			2,
			[]string{"key 1", "key 2"},
		},
		{
			"B.1: no value",
			"",
			with("Signature", "b1"+fine(both).header["Signature"][1][2:]),
			2,
			[]string{"signature b0: Signature has no member of this name", "key 1"},
		},
		{
			"B.1: a short value",
			"",
			with("Signature", "b0=:YQ==:", fine(both).header["Signature"][1]),
			2,
			[]string{"signature b0: it is not an Ed25519 signature", "key 1"},
		},
		{
			"B.1: of another key",
			"",
			with(
				"Signature",
				"b0"+fine(both).header["Signature"][1][2:],
				fine(both).header["Signature"][1],
			),
			2,
			[]string{"signature b0: it is invalid", "key 1"},
		},
		{
			"B.1: a token",
			"",
			with(
				"Signature-Input",
				"b0=x;tag=\"http-message-signatures-directory\"",
				fine(both).header["Signature-Input"][1],
			),
			2,
			[]string{"has no list of components", "key 1"},
		},
		{
			"B.1: another alg",
			"",
			with(
				"Signature-Input",
				fine(both).header["Signature-Input"][0]+`;alg="rsa-pss-sha512"`,
				fine(both).header["Signature-Input"][1],
			),
			2,
			[]string{"its alg is not ed25519", "key 1"},
		},
		{
			"B.1: another body",
			"",
			answer{200, fine(both).header, []byte(both + "\n")},
			2,
			[]string{"its Content-Digest does not match the body"},
		},
		{
			"B.1: no Content-Digest",
			"",
			with("Content-Digest"),
			2,
			[]string{`covers "content-digest", which is not in the response`, "b1", "key 1", "key 2"},
		},
		{
			"RFC 9530: Content-Digest",
			"",
			with("Content-Digest", "sha-256=x y"),
			2,
			[]string{"Content-Digest is not a valid dictionary", "b0", "b1", "key 1", "key 2"},
		},
		{
			"RFC 9530: another algorithm",
			"",
			with("Content-Digest", "md5=:YQ==:"),
			2,
			[]string{"no sha-256", "b0", "b1", "key 1", "key 2"},
		},
		{
			"B.1: no authority",
			"",
			signedAnswer(both, now, now.Add(time.Hour), `"content-digest"`),
			2,
			[]string{`does not cover "@authority";req`, "b1", "key 1", "key 2"},
		},
		{
			"B.1: no digest covered",
			"",
			signedAnswer(both, now, now.Add(time.Hour), `"@authority";req`),
			2,
			[]string{`does not cover "content-digest"`, "b1", "key 1", "key 2"},
		},
		{
			"RFC 9421: twice",
			"",
			signedAnswer(both, now, now.Add(time.Hour), `"@authority";req`, `"@authority";req`),
			2,
			[]string{"twice", "b1", "key 1", "key 2"},
		},
		{
			"RFC 9421: a field that is not there",
			"",
			signedAnswer(both, now, now.Add(time.Hour), `"@authority";req`, `"x-none"`),
			2,
			[]string{`covers "x-none"`, "b1", "key 1", "key 2"},
		},
		{
			"RFC 9421: what an answer has not",
			"",
			signedAnswer(both, now, now.Add(time.Hour), `"@query"`),
			2,
			[]string{`covers "@query"`, "b1", "key 1", "key 2"},
		},
		{
			"RFC 9421: other parameters",
			"",
			signedAnswer(both, now, now.Add(time.Hour), `"content-digest";sf`),
			2,
			[]string{`covers "content-digest";sf`, "b1", "key 1", "key 2"},
		},
		{
			"B.1: another authority",
			"https://other.example" + DirectoryPath,
			fine(both),
			2,
			[]string{"b0: it is invalid", "b1", "key 1", "key 2"},
		},
		{
			"B.1: of the future",
			"",
			signedAnswer(both, now.Add(time.Minute), now.Add(time.Hour)),
			2,
			[]string{"created in the future", "b1", "key 1", "key 2"},
		},
		{
			"B.1: expired",
			"",
			signedAnswer(both, now.Add(-time.Hour), now),
			2,
			[]string{"expired at 2027-01-15T08:00:00Z: sign", "b1", "key 1", "key 2"},
		},

		{"caching: for as long", "", with("Cache-Control", "public, max-age=3600"), 2, nil},
		{
			"caching: for longer",
			"",
			with("Cache-Control", "public, max-age=86400"),
			2,
			[]string{"cached for 24h0m0s, but the signature of key 1 expires in 1h0m0s", "key 2"},
		},
		{
			"caching: for longer than a number can say",
			"",
			with("Cache-Control", "max-age=99999999999999999999"),
			2,
			[]string{"but the signature of key 1 expires in 1h0m0s", "key 2"},
		},
		{
			"caching: by a shared cache",
			"",
			with("Cache-Control", `max-age=60, s-maxage="7200"`),
			2,
			[]string{"2h0m0s", "key 2"},
		},
		{"caching: not at all", "", with("Cache-Control", "no-store, max-age=86400"), 2, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			url := tt.url
			if url == "" {
				url = at
			}
			if tt.header == nil {
				tt.header = http.Header{}
			}
			var r directoryReport
			r.check(httptest.NewRequest("GET", url, nil), &http.Response{StatusCode: tt.status, Header: tt.header}, tt.body, now)
			if len(r.keys) != tt.keys || len(r.problems) != len(tt.want) {
				t.Fatalf("%d keys, problems %q", len(r.keys), r.problems)
			}
			for i, want := range tt.want {
				if !strings.Contains(r.problems[i], want) {
					t.Errorf("problem %d is %q, want %q", i, r.problems[i], want)
				}
			}
		})
	}
}

// An answer has 300 signatures that cover a field of 9 MB, all wrong. To check
// them takes minutes, although CheckDirectory gives up after ten seconds. Only
// some are tried, and not with a field of this size.
func TestCheckDirectory_ManySignatures(t *testing.T) {
	now := time.Now()
	key := newKey(t)
	h, body := signedDirectory("bot.example", []ed25519.PrivateKey{key}, now, now.Add(time.Hour))
	h.Set("Content-Type", directoryType)
	inputs, values := []string{h.Get("Signature-Input")}, []string{h.Get("Signature")}
	for i := range 300 {
		params := lifetime(now, now.Add(time.Hour)) + `;keyid="` + KeyID(publicKey(key)) + `";tag="` + directoryTag + `"`
		inputs = append(
			inputs,
			fmt.Sprintf(`a%d=("@authority";req "content-digest" "x")%s`, i, params),
		)
		values = append(
			values,
			fmt.Sprintf("a%d=:%s:", i, base64.StdEncoding.EncodeToString(make([]byte, 64))),
		)
	}
	h.Set("Signature-Input", strings.Join(inputs, ", "))
	h.Set("Signature", strings.Join(values, ", "))
	h.Set("X", strings.Repeat("x", 9<<20))
	base := roundTripper(func(r *http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: h, Body: io.NopCloser(bytes.NewReader(body)), Request: r}, nil
	})
	keys, problems := CheckDirectory(t.Context(), base, "https://bot.example"+DirectoryPath)
	if len(keys) != 1 || keys[0].Until.IsZero() {
		t.Errorf("the first signature is valid, but the keys are %v", keys)
	}
	if n := len(problems); n != maxSignatures || !strings.Contains(problems[0], `covers "x", which is larger than 64 KiB`) ||
		!strings.Contains(problems[n-1], "more than 20 signatures") {
		t.Errorf("%d problems: %.2000q", len(problems), problems)
	}
}

// CheckDirectory sends one request, as a verifier does. If the request fails,
// that is the only problem in the report.
func TestCheckDirectory_Asks(t *testing.T) {
	var web robotstest.Internet
	web.Handle("bot.example", &Directory{
		Authority: "bot.example",
		Keys:      []ed25519.PrivateKey{newKey(t)},
	})
	web.Handle("slow.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "10")
		io.WriteString(w, "{")
	}))
	keys, problems := CheckDirectory(t.Context(), &web, "https://bot.example"+DirectoryPath)
	if len(problems) > 0 || len(keys) != 1 || time.Until(keys[0].Until) < 23*time.Hour {
		t.Errorf("%+v, %q", keys, problems)
	}
	if log := web.Log(); len(log) != 1 || log[0].Header.Get("Accept") != directoryType || log[0].Header.Get("Accept-Encoding") != "identity" {
		t.Errorf("asked %+v", log)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		name string
		ctx  context.Context
		url  string
		want string
	}{
		{"plain http", t.Context(), "http://bot.example/", "begins with https://"},
		{"no URL", t.Context(), "", "is empty"},
		{"unreachable", t.Context(), "https://none.example/", "cannot be fetched"},
		{"cut short", t.Context(), "https://slow.example/", "cannot be read"},
		{"the context has ended", ended, "https://bot.example/", "context canceled"},
	} {
		keys, problems := CheckDirectory(tt.ctx, &web, tt.url)
		if len(problems) != 1 || !strings.Contains(problems[0], tt.want) || keys != nil {
			t.Errorf("%s: %+v, %q", tt.name, keys, problems)
		}
	}
}

// If any byte of the body, Content-Digest, Signature-Input or Signature is
// changed, the report has a problem.
func TestCheckDirectory_AnyByteChanged(t *testing.T) {
	d := &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{newKey(t)}}
	now := time.Unix(1_800_000_000, 0)
	header, body, err := d.Response(now)
	if err != nil {
		t.Fatal(err)
	}
	check := func(h http.Header, body []byte) directoryReport {
		var r directoryReport
		r.check(httptest.NewRequest("GET", "https://bot.example"+DirectoryPath, nil), &http.Response{StatusCode: 200, Header: h}, body, now)
		return r
	}
	if r := check(header, body); len(r.problems) > 0 {
		t.Fatal(r.problems)
	}
	for i := range body {
		changed := bytes.Clone(body)
		changed[i] ^= 1
		if r := check(header, changed); len(r.problems) == 0 {
			t.Errorf("byte %d of the body: %s", i, changed)
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
				t.Errorf("byte %d of %s: %s", i, name, changed)
			}
		}
	}
}

// Whatever a server answers, the problems contain no control characters. Only
// the key that made the signature may have a DirectoryKey.Until that is set.
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
	f.Add(200, directoryType, header.Get("Content-Digest"), header.Get("Signature-Input"), header.Get("Signature"), "max-age=60", body)
	f.Add(200, "", "sha-256=::",
		`a=();tag="http-message-signatures-directory"`,
		"a=::", "s-maxage=x", []byte(testDirectory))
	f.Add(302, "", "", "", "", "", []byte(nil))
	f.Fuzz(func(t *testing.T, status int, contentType, digest, input, signature, cache string, body []byte) {
		var r directoryReport
		r.check(httptest.NewRequest("GET", "https://bot.example"+DirectoryPath, nil), &http.Response{StatusCode: status, Header: http.Header{
			"Content-Type": {contentType}, "Content-Digest": {digest}, "Signature-Input": {input}, "Signature": {signature}, "Cache-Control": {cache},
			"Location": {signature}, "Content-Encoding": {""},
		}}, body, now)
		for _, problem := range r.problems {
			if strings.ContainsFunc(problem, func(r rune) bool { return r < ' ' || r == 0x7f }) {
				t.Errorf("the problem %q contains control characters", problem)
			}
		}
		for _, k := range r.keys {
			if k.ID != KeyID(k.public) {
				t.Errorf("the ID of the key %+v is not its thumbprint %s", k, KeyID(k.public))
			}
			if !k.Until.IsZero() && !k.public.Equal(key.Public()) {
				t.Errorf("signed: %+v", k)
			}
		}
	})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, errors.New("nothing to fill")
	}
	clear(p)
	return len(p), nil
}
