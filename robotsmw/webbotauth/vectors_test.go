package webbotauth

import (
	"crypto/ed25519"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/politeness/structured"
)

// testKey returns the key of RFC 9421 appendix B.1.4. The signatures in this
// file were made with this key.
func testKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	seed, err := base64.RawURLEncoding.DecodeString("n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU")
	if err != nil {
		t.Fatal(err)
	}
	return ed25519.NewKeyFromSeed(seed)
}

const (
	testKeyID = "poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U"
	testAgent = "https://signature-agent.test"
)

// The expected signatures are printed in the draft (appendix E.2), in its test
// data (web_bot_auth_architecture_v1 and _v2) and in RFC 9421 (appendix B.2.6).
func TestVectors_Requests(t *testing.T) {
	const (
		key    = `;created=1735689600;keyid="` + testKeyID + `";alg="ed25519"`
		tag    = `;tag="web-bot-auth"`
		nonceB = `;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA=="`
		nonceL = `;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg=="`
	)
	agent := func(label string, legacy bool) component {
		c, _ := agentComponent(label, testAgent, legacy)
		return c
	}
	req := httptest.NewRequest(http.MethodGet, "https://example.com/path/to/resource", nil)
	host, err := authority(req)
	if err != nil {
		t.Fatal(err)
	}
	toHost := component{`"@authority"`, host}
	tests := []struct {
		name, label string
		covered     []component
		params      string
		input       string // the expected Signature-Input; "" means that it is not compared
		signature   string
	}{
		{
			name:      "draft E.2.1, dictionary",
			label:     "sig2",
			covered:   []component{toHost, agent("sig2", false)},
			params:    key + ";expires=4889289600" + nonceB + tag,
			input:     `sig2=("@authority" "signature-agent";key="sig2");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=4889289600;nonce="n9p433xm+NJ3ph3upfBIGmsuwHw387YV7Q/F+6BSpGCVjYCqQw6rznNA8PVVLySrAWsv0hQtFioQb6E1YsauiA==";tag="web-bot-auth"`,
			signature: "sig2=:CGokAoY/FrPpyuzTe1Fb2kLTAH9Idw6qSFd1+D77r1firsMRCxeuLu5e6O+ek3zQgDMAzjiXtLVfqE00xnABCQ==:",
		},
		{
			name:      "draft E.2.2, legacy string",
			label:     "sig2",
			covered:   []component{toHost, agent("sig2", true)},
			params:    key + ";expires=1735693200" + nonceL + tag,
			input:     `sig2=("@authority" "signature-agent");created=1735689600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";alg="ed25519";expires=1735693200;nonce="e8N7S2MFd/qrd6T2R3tdfAuuANngKI7LFtKYI/vowzk4lAZYadIX6wW25MwG7DCT9RUKAJ0qVkU0mEeLElW1qg==";tag="web-bot-auth"`,
			signature: "sig2=:jdq0SqOwHdyHr9+r5jw3iYZH6aNGKijYp/EstF4RQTQdi5N5YYKrD+mCT1HA1nZDsi6nJKuHxUi/5Syp3rLWBA==:",
		},
		{
			name:      "test data v1, no agent",
			label:     "sig1",
			covered:   []component{toHost},
			params:    key + `;expires=1735693200;nonce="mYotfW3CUjI68sbGw6oKd7kyXqPjZEtU8xFPGWFrqOAf5qC6MDe3pys3SWWCudB0MvwslHy32WXUpkR7u0lt/w=="` + tag,
			signature: "sig1=:+NA/cssf4Y2bQTMTkyvTGRCaVzp9quyUevdwwMtMOWhhOOZ2T1subBj0BtvdnrpDEuwSAbiTeElXDzHL3WWKCw==:",
		},
		{
			name:      "test data v2, no agent",
			label:     "sig1",
			covered:   []component{toHost},
			params:    key + `;expires=4889289600;nonce="zIW8+cdmA3vdYagbxojpONwa/l0EKJ/O3/wD486VvsQjO/RxPaSt6ZxvQaMcQzNnqKN/mQ6hpGiFro2L2qkz5A=="` + tag,
			signature: "sig1=:QKN4fTdIYfh82fvoZCQiQA1weuozfCS/Led2zTMbewMMqH8PI2Wsy/5c4ao6B6D09nraNQdBNOADg8aM1MqfCg==:",
		},
		{
			name:      "test data v2, a member of another name",
			label:     "sig2",
			covered:   []component{toHost, agent("agent2", false)},
			params:    key + ";expires=4889289600" + nonceB + tag,
			signature: "sig2=:RdNFx5Bj6au3YgAMQL/RzmUlZE8QZLIaXGRpw985hWnwPfMxT228NMk6ehRS1PSl4e8PhbNZACSanGdhEwYCCg==:",
		},
		{
			name:  "RFC 9421 B.2.6",
			label: "sig-b26",
			covered: []component{
				{
					id:    `"date"`,
					value: "Tue, 20 Apr 2021 02:07:55 GMT",
				}, {`"@method"`, "POST"}, {`"@path"`, "/foo"},
				{
					id:    `"@authority"`,
					value: "example.com",
				}, {`"content-type"`, "application/json"}, {`"content-length"`, "18"},
			},
			params:    `;created=1618884473;keyid="test-key-ed25519"`,
			input:     `sig-b26=("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"`,
			signature: "sig-b26=:wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==:",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			input, signature := sign(testKey(t), tt.label, tt.covered, tt.params)
			if tt.input != "" && input != tt.input {
				t.Errorf("Signature-Input is\n%s\nwant\n%s", input, tt.input)
			}
			if signature != tt.signature {
				t.Errorf("Signature is\n%s\nwant\n%s", signature, tt.signature)
			}
			// A result must not change if it is parsed and serialized again.
			for _, text := range []string{input, signature} {
				members, ok := structured.Dictionary([]string{text}, maxSignatureField)
				if !ok || len(members) != 1 || members[0].Key != tt.label || tt.label+"="+members[0].String() != text {
					t.Errorf("%s is parsed as %v, want one member with the key %s", text, members, tt.label)
				}
			}
		})
	}
}

// Signature-Agent has the forms of draft appendix E.2.1 and E.2.2.
func TestVectors_SignatureAgent(t *testing.T) {
	if _, got := agentComponent("sig2", testAgent, false); got != `sig2="https://signature-agent.test"` {
		t.Errorf("component of a dictionary = %s, want %s", got, `sig2="https://signature-agent.test"`)
	}
	if _, got := agentComponent("sig2", testAgent, true); got != `"https://signature-agent.test"` {
		t.Errorf("component of the legacy form = %s, want %s", got, `"https://signature-agent.test"`)
	}
}

const testDirectory = `{"keys":[{"kty":"OKP","crv":"Ed25519","kid":"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs","use":"sig"}]}`

// The signed directory is that of draft appendix E.2.3.
func TestVectors_Directory(t *testing.T) {
	host, err := (&Directory{Authority: "Signature-Agent.test:443"}).authority()
	if err != nil {
		t.Fatal(err)
	}
	header, body := signedDirectory(
		host,
		[]ed25519.PrivateKey{testKey(t)},
		time.Unix(1735689600, 0),
		time.Unix(4889289600, 0),
	)
	if string(body) != testDirectory {
		t.Errorf("the body is\n%s\nwant\n%s", body, testDirectory)
	}
	for name, want := range map[string]string{
		"Content-Digest":  "sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:",
		"Signature-Input": `binding=("@authority";req "content-digest");created=1735689600;expires=4889289600;keyid="poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U";tag="http-message-signatures-directory"`,
		"Signature":       "binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:",
	} {
		if got := header.Get(name); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

// The signed directory in the draft is valid. So is the one in the draft's test
// data (web_bot_auth_directory_response_v1), in which the parameters of the
// signature have another order.
func TestVectors_DirectoryIsVerified(t *testing.T) {
	tests := []struct{ name, input, signature string }{
		{
			"draft E.2.3",
			`binding=("@authority";req "content-digest");created=1735689600;expires=4889289600;keyid="` + testKeyID + `";tag="http-message-signatures-directory"`,
			"binding=:l6P8R67tm3kujAxbHWio7ll01qrEZ0dKD/WWlGhNYEmTnFZM8Wt0VQ9zqGfvo7T/UMkBxsigzChM1Gpz7gOVBg==:",
		},
		{
			"test data",
			`binding0=("@authority";req "content-digest");created=1735689600;keyid="` + testKeyID + `";alg="ed25519";expires=4889289600;tag="http-message-signatures-directory"`,
			"binding0=:yiHq0TXrbpzbmlttAQMpYoAufitFJUWuNsakB7QQMoN0EHbo5o51bZRVR8az/ptTWCwllix9clrKXfGKwdPzBg==:",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req := httptest.NewRequest(http.MethodGet, testAgent+DirectoryPath, nil)
			resp := &http.Response{StatusCode: 200, Header: http.Header{
				"Content-Digest":  {"sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:"},
				"Signature-Input": {tt.input},
				"Signature":       {tt.signature},
			}}
			r := directoryReport{
				keys: []DirectoryKey{{ID: testKeyID, public: publicKey(testKey(t))}},
			}
			r.checkSignatures(req, resp, []byte(testDirectory), time.Unix(1735689600, 0))
			if len(r.problems) > 0 || r.keys[0].Until.Unix() != 4889289600 {
				t.Errorf("problems %q and a key valid until %v, want none and %v", r.problems, r.keys[0].Until, time.Unix(4889289600, 0))
			}
		})
	}
}

// The expected IDs are those of RFC 8037 appendix A.3 and of the draft.
func TestVectors_KeyID(t *testing.T) {
	for x, want := range map[string]string{
		"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo": "kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k",
		"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs": testKeyID,
	} {
		public, err := base64.RawURLEncoding.DecodeString(x)
		if err != nil {
			t.Fatal(err)
		}
		if got := KeyID(public); got != want {
			t.Errorf("KeyID of %s is %s, want %s", x, got, want)
		}
	}
}

// The rows are examples of RFC 9421: of fields (§2.1), members of dictionaries
// (§2.1.2), parameters (§2.3) and Accept-Signature (§5.2).
func TestVectors_Fields(t *testing.T) {
	h := http.Header{
		"X-Ows-Header":  {"  Leading and trailing whitespace.  "},
		"Cache-Control": {"max-age=60", "   must-revalidate"},
		"Example-Dict":  {"  a=1,    b=2;x=1;y=2,   c=(a   b   c)"},
		"X-Empty":       {""},
	}
	for name, want := range map[string]string{
		"x-ows-header":  "Leading and trailing whitespace.",
		"cache-control": "max-age=60, must-revalidate",
		"example-dict":  "a=1,    b=2;x=1;y=2,   c=(a   b   c)",
		"x-empty":       "",
	} {
		if got := fieldValue(h, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	tests := []struct{ text, key, want string }{
		{"a=1, b=2;x=1;y=2, c=(a   b    c), d", "a", "1"},
		{"a=1, b=2;x=1;y=2, c=(a   b    c), d", "d", "?1"},
		{"a=1, b=2;x=1;y=2, c=(a   b    c), d", "b", "2;x=1;y=2"},
		{"a=1, b=2;x=1;y=2, c=(a   b    c), d", "c", "(a b c)"},
		{
			`sig1=("@target-uri" "@authority" "date" "cache-control");keyid="test-key-rsa-pss";alg="rsa-pss-sha512";created=1618884475;expires=1618884775`, "sig1",
			`("@target-uri" "@authority" "date" "cache-control");keyid="test-key-rsa-pss";alg="rsa-pss-sha512";created=1618884475;expires=1618884775`,
		},
		{
			`sig1=("@method" "@target-uri" "@authority" "content-digest" "cache-control");keyid="test-key-rsa-pss";created;tag="app-123"`, "sig1",
			`("@method" "@target-uri" "@authority" "content-digest" "cache-control");keyid="test-key-rsa-pss";created;tag="app-123"`,
		},
	}
	for _, tt := range tests {
		members, ok := structured.Dictionary([]string{tt.text}, maxSignatureField)
		if m := findMember(members, tt.key); !ok || m == nil || m.String() != tt.want {
			t.Errorf("the member %s of %s is %v, want %s", tt.key, tt.text, m, tt.want)
		}
	}
}

// The rows are the examples of RFC 9421 §2.2.1, §2.2.3 and §2.2.6, and cases
// that have no example there.
func TestVectors_DerivedComponents(t *testing.T) {
	tests := []struct{ name, url, host, wantHost, wantPath string }{
		{
			name:     "§2.2.3, §2.2.6",
			url:      "https://www.example.com/path?param=value",
			wantHost: "www.example.com",
			wantPath: "/path",
		},
		{"§2.2.6, no path", "https://www.example.com", "", "www.example.com", "/"},
		{"§2.2.6, a query alone", "https://www.example.com?q", "", "www.example.com", "/"},
		{"§2.2.3, case", "https://WWW.Example.COM/", "", "www.example.com", "/"},
		{"§2.2.3, default port", "https://www.example.com:443/", "", "www.example.com", "/"},
		{"an empty port", "https://www.example.com:/", "", "www.example.com", "/"},
		{"another port", "https://www.example.com:8443/", "", "www.example.com:8443", "/"},
		{"the port of http", "https://www.example.com:80/", "", "www.example.com:80", "/"},
		{"another Host", "https://192.0.2.1/a", "Example.com", "example.com", "/a"},
		{"IPv6", "https://[2001:DB8::1]:443/", "", "[2001:db8::1]", "/"},
		{"IPv6 with a zone", "https://[fe80::1%25eth0]:8443/", "", "[fe80::1]:8443", "/"},
		{"another script", "https://Bücher.example/", "", "xn--bcher-kva.example", "/"},
		{
			name:     "another script, and a port",
			url:      "https://bücher.example:443/",
			wantHost: "xn--bcher-kva.example",
			wantPath: "/",
		},
		{"escapes stay", "https://a.example/%7Ea/%e4%bd%A0?q", "", "a.example", "/%7Ea/%e4%bd%A0"},
		{"what has to be escaped", "https://a.example/你 b", "", "a.example", "/%E4%BD%A0%20b"},
		{
			name:     "an escaped slash and question mark",
			url:      "https://a.example/a%2Fb%3Fc?d",
			wantHost: "a.example",
			wantPath: "/a%2Fb%3Fc",
		},
		{"dots and slashes", "https://a.example//a/./../b//", "", "a.example", "//a/./../b//"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			req, err := http.NewRequest("", tt.url, nil)
			if err != nil {
				t.Fatal(err)
			}
			if tt.host != "" {
				req.Host = tt.host
			}
			host, err := authority(req)
			if err != nil || host != tt.wantHost {
				t.Errorf("@authority is %q, %v, want %q", host, err, tt.wantHost)
			}
			if got := path(req); got != tt.wantPath {
				t.Errorf("@path is %q, want %q", got, tt.wantPath)
			}
			if got := method(req); got != "GET" {
				t.Errorf("@method is %q, want GET", got)
			}
		})
	}
}

// If a URL has the field Opaque, @path is the path that net/http sends.
func TestPath_Opaque(t *testing.T) {
	for opaque, want := range map[string]string{
		"//a.example/b%2fc":     "/b%2fc",
		"//a.example/b?c=/d":    "/b",
		"//a.example":           "/",
		"//a.example?to=/other": "/",
		"/plain":                "/plain",
	} {
		req := &http.Request{URL: &url.URL{Scheme: "https", Host: "a.example", Opaque: opaque}}
		if got := path(req); got != want {
			t.Errorf("@path of %s is %q, want %q", opaque, got, want)
		}
	}
}

func TestAuthority_CannotBeSent(t *testing.T) {
	for _, host := range []string{"xn--ü", "ü b"} {
		req := &http.Request{URL: &url.URL{Scheme: "https", Host: host}}
		if got, err := authority(req); err == nil || !strings.HasPrefix(err.Error(), "webbotauth: the host ") {
			t.Errorf("authority of %q = %q, %v; want an error about the host", host, got, err)
		}
	}
}
