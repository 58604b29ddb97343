package spider

import (
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/goodbots/courtesy/examples/politespider/internal/tool"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

const keysURL = "https://bot.example" + webbotauth.DirectoryPath

// keyFile makes a key and writes it to a file with this mode, in the format of
// openssl genpkey.
func keyFile(t *testing.T, mode os.FileMode) (file, id string) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file = filepath.Join(t.TempDir(), "key.pem")
	writeFile(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})))
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file, webbotauth.KeyID(public)
}

// Over https, requests for pages and for robots.txt are signed. Over http, no
// request is signed.
func TestCrawl_Signed(t *testing.T) {
	for _, tt := range []struct {
		args           []string
		signatureAgent string
	}{
		{
			[]string{"-signature-agent", keysURL},
			`sig1="` + keysURL + `"`,
		},
		{
			[]string{"-signature-agent=https://bot.example", "-legacy-signature-agent"},
			`"https://bot.example"`,
		},
	} {
		synctest.Test(t, func(t *testing.T) {
			file, id := keyFile(t, 0o600)
			var internet robotstest.Internet
			internet.Handle("a.example", page200(`<a href=/1?q>1</a> <a href="http://a.example/2">2</a>`))
			args := append(tt.args, "-key", file, "https://a.example/", "http://a.example/")
			crawlInternet(t, t.Context(), &internet, tool.ExitOK, args...)
			signed := 0
			for _, r := range internet.Log() {
				input := r.Header.Get("Signature-Input")
				signatureAgent := r.Header.Get("Signature-Agent")
				if strings.HasPrefix(r.URL, "http:") {
					if input != "" || signatureAgent != "" {
						t.Errorf("request for %s has a signature, want none over http", r.URL)
					}
					continue
				}
				signed++
				if !strings.Contains(input, id) {
					t.Errorf("request for %s has the Signature-Input %q, want the key %s", r.URL, input, id)
				}
				if signatureAgent != tt.signatureAgent {
					t.Errorf("request for %s has the Signature-Agent %q, want %q",
						r.URL, signatureAgent, tt.signatureAgent)
				}
			}
			if signed < 3 {
				t.Errorf("%d requests were signed, want robots.txt and two pages", signed)
			}
		})
	}
}

// requestedSignature describes the signature that signatureInternet requests.
const requestedSignature = `requests a Web Bot Auth signature of "@authority" "@query"; ` +
	`the signatures of this crawler lack "@query", nonce`

// signatureInternet returns an internet with a site that requests a signature,
// also for robots.txt.
func signatureInternet() *robotstest.Internet {
	internet := new(robotstest.Internet)
	internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Accept-Signature", `sig1=("@authority" "@query");nonce="x";tag="web-bot-auth"`)
		switch r.URL.Path {
		case "/fine":
		case "/robots.txt":
			w.WriteHeader(http.StatusUnauthorized) // allows everything
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	return internet
}

// If the refusal of a page or of a robots.txt requests a signature, the records
// describe the signature.
func TestCrawl_AcceptSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		args := []string{"https://a.example/", "https://a.example/fine"}
		_, lines := crawlInternet(t, t.Context(), signatureInternet(), tool.ExitOK, args...)
		got := make(map[string]string)
		for _, l := range lines {
			for _, r := range l.Requests {
				got[l.URL] = r.RequestedSignature
			}
		}
		want := map[string]string{
			"https://a.example/":           requestedSignature,
			"https://a.example/robots.txt": requestedSignature,
			"https://a.example/fine":       "",
		}
		if !maps.Equal(got, want) {
			t.Errorf("requested signatures are %q, want %q", got, want)
		}
	})
}

// The text output describes the requested signature once for each host.
func TestCrawl_AcceptSignatureText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := runOn(t.Context(), signatureInternet(), agent, "https://a.example/")
		r.wantStatus(t, tool.ExitFailed)
		line := "Accept-Signature: the server " + requestedSignature + "\n"
		if n := strings.Count(r.stdout, line); n != 1 {
			t.Errorf("output contains %q %d times, want once:\n%s", line, n, r.stdout)
		}
	})
}

// -card prints the card of the crawl that the other flags describe, and leaves
// no file behind.
func TestRun_Card(t *testing.T) {
	file, _ := keyFile(t, 0o600)
	for _, tt := range []struct {
		name    string
		args    []string
		id      string
		keys    string
		rate    string
		purpose string // a part of the purpose
	}{
		{
			name:    "the default settings",
			args:    []string{"-card"},
			rate:    "max=1rps for each host; one request at a time",
			purpose: "and not kept",
		},
		{
			name: "a crawl that keeps pages",
			args: []string{
				"-card=https://bot.example/card.json",
				"-report=a.html",
				"-delay=2s",
				"-pages=none",
				"https://a.example/",
			},
			id:      "https://bot.example/card.json",
			rate:    "max=0.5rps for each host; one request at a time",
			purpose: "noindex or noarchive",
		},
		{
			name: "signed requests",
			args: []string{
				"-card",
				"-key", file,
				"-signature-agent", keysURL,
				"-pages=none",
				"-pages-all",
				"-adaptive=3",
			},
			keys: keysURL,
			rate: "max=1rps for each host; one request at a time; " +
				"slower where responses are slow: a pause of 3 response times",
			purpose: "each page is kept",
		},
		{
			name: "signed requests with the origin of the agent",
			args: []string{
				"-card",
				"-key", file,
				"-signature-agent=https://bot.example",
				"-legacy-signature-agent",
				"-delay=0",
			},
			keys:    keysURL,
			rate:    "one request at a time",
			purpose: "not kept",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			args := append([]string{"-user-agent=ExampleBot/1.0 (+https://bot.example/)"}, tt.args...)
			r := runOn(t.Context(), nil, args...)
			r.wantStatus(t, tool.ExitOK)
			if r.stderr != "" {
				t.Errorf("standard error is %q, want none", r.stderr)
			}
			var card struct {
				ClientID   string         `json:"client_id"`
				JWKSURI    string         `json:"jwks_uri"`
				WebBotAuth map[string]any `json:"web_bot_auth"`
			}
			if err := json.Unmarshal([]byte(r.stdout), &card); err != nil {
				t.Fatalf("card is not JSON: %v\n%s", err, r.stdout)
			}
			for _, field := range []struct{ name, got, want string }{
				{"client_id", card.ClientID, tt.id},
				{"jwks_uri", card.JWKSURI, tt.keys},
				{"rate-expectation", card.WebBotAuth["rate-expectation"].(string), tt.rate},
			} {
				if field.got != field.want {
					t.Errorf("%s of the card is %q, want %q", field.name, field.got, field.want)
				}
			}
			wantText(t, "purpose", card.WebBotAuth["purpose"].(string), tt.purpose)
			if n := countFiles(t, "."); n > 0 {
				t.Errorf("%d files were created, want none", n)
			}
		})
	}
}

// An error about the settings for signing or for the card names the flag, and
// does not contain the key.
func TestRun_SigningErrors(t *testing.T) {
	file, _ := keyFile(t, 0o600)
	readableByAll, _ := keyFile(t, 0o644)
	secret := strings.Split(readFile(t, readableByAll), "\n")[1]
	missing := filepath.Join(t.TempDir(), "none")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{
			"a key that others can read",
			[]string{"-key", readableByAll, "-signature-agent", keysURL, "https://a.example/"},
			"chmod 600",
		},
		{
			"a missing key",
			[]string{"-key", missing, "-signature-agent", keysURL, "https://a.example/"},
			"-key",
		},
		{
			"-key without -signature-agent",
			[]string{"-key", file, "https://a.example/"},
			"-key requires -signature-agent, the URL of the key directory, such as " + keysURL,
		},
		{
			"-signature-agent without -key",
			[]string{"-signature-agent", keysURL, "https://a.example/"},
			"-signature-agent requires -key, the file of the private key",
		},
		{
			"-legacy-signature-agent without -key",
			[]string{"-legacy-signature-agent", "https://a.example/"},
			"-key",
		},
		{
			"an agent over http",
			[]string{"-key", file, "-signature-agent=http://bot.example/", "https://a.example/"},
			"must be an https URL",
		},
		{
			"an agent with a fragment",
			[]string{"-key", file, "-signature-agent", keysURL + "#1", "https://a.example/"},
			"Transport.Agent: the URL must not contain a user, password or fragment",
		},
		{
			"an agent with a non-ASCII host",
			[]string{"-key", file, "-signature-agent=https://bücher.example/", "https://a.example/"},
			"printable ASCII",
		},
		{
			"a key for the demo",
			[]string{"-key", file, "-signature-agent", keysURL},
			"the demo uses http",
		},
		{
			"a card without a User-Agent",
			[]string{"-user-agent=", "-card"},
			"-user-agent is required",
		},
		{
			"a card at an invalid URL",
			[]string{"-card=card.json"},
			"-card",
		},
		{
			"a card with the User-Agent of a library",
			[]string{"-user-agent=colly", "-card"},
			"colly",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runOn(t.Context(), nil, append([]string{agent}, tt.args...)...)
			r.wantStatus(t, tool.ExitUsage)
			if r.stdout != "" {
				t.Errorf("output is %q, want none", r.stdout)
			}
			wantText(t, "standard error", r.stderr, tt.want)
			wantNoText(t, "standard error", r.stderr, secret)
		})
	}
}
