package spider

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
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

// keyFile makes a key and writes it to a file, in the format of openssl
// genpkey.
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
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file, webbotauth.KeyID(public)
}

// Over https, requests for pages and for robots.txt are signed. Over http, no
// request is signed.
func TestCrawl_Signed(t *testing.T) {
	for _, tt := range []struct {
		args  []string
		agent string
	}{
		{[]string{"-signature-agent", keysURL}, `sig1="` + keysURL + `"`},
		{[]string{"-signature-agent=https://bot.example", "-legacy-signature-agent"}, `"https://bot.example"`},
	} {
		synctest.Test(t, func(t *testing.T) {
			file, id := keyFile(t, 0o600)
			var internet robotstest.Internet
			internet.Handle("a.example", page200(`<a href=/1?q>1</a> <a href="http://a.example/2">2</a>`))
			crawlInternet(t, t.Context(), &internet, tool.ExitOK, append(tt.args, "-key", file, "https://a.example/", "http://a.example/")...)
			signed := 0
			for _, r := range internet.Log() {
				input := r.Header.Get("Signature-Input")
				if !strings.HasPrefix(r.URL, "https:") {
					if input != "" || r.Header.Get("Signature-Agent") != "" {
						t.Errorf("%s is signed", r.URL)
					}
					continue
				}
				signed++
				if !strings.Contains(input, id) || r.Header.Get("Signature-Agent") != tt.agent {
					t.Errorf("%s: Signature-Input %s, Signature-Agent %s",
						r.URL, input, r.Header.Get("Signature-Agent"))
				}
			}
			if signed < 3 {
				t.Errorf("%d requests were signed", signed)
			}
		})
	}
}

// If the refusal of a page or of a robots.txt requests a signature, the spider
// says in words which signature is asked for.
func TestCrawl_AcceptSignature(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var internet robotstest.Internet
		internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Accept-Signature", `sig1=("@authority" "@query");nonce="x";tag="web-bot-auth"`)
			if r.URL.Path == "/fine" {
				return
			}
			if r.URL.Path == "/robots.txt" { // a 401 for robots.txt allows everything
				w.WriteHeader(http.StatusUnauthorized)
				return
			}
			w.WriteHeader(http.StatusForbidden)
		}))
		const words = `requests a Web Bot Auth signature of "@authority" "@query"; this crawler's has no "@query", nonce`
		_, lines := crawlInternet(t, t.Context(), &internet, tool.ExitOK, "https://a.example/", "https://a.example/fine")
		asked := make(map[string]string)
		for _, l := range lines {
			for _, r := range l.Requests {
				asked[l.URL] = r.RequestedSignature
			}
		}
		if asked["https://a.example/"] != words || asked["https://a.example/robots.txt"] != words || asked["https://a.example/fine"] != "" {
			t.Errorf("%q", asked)
		}
		var stdout, stderr bytes.Buffer
		command := tool.Command{
			Crawl:  Crawl,
			Args:   []string{agent, "https://a.example/"},
			Base:   &internet,
			Stdout: &stdout,
			Stderr: &stderr,
		}
		if status := command.Run(t.Context()); status != tool.ExitFailed || strings.Count(stdout.String(), "Accept-Signature: the server "+words+"\n") != 1 {
			t.Errorf("exit status %d: %s%s", status, stdout.String(), stderr.String())
		}
	})
}

func TestRun_Card(t *testing.T) {
	file, _ := keyFile(t, 0o600)
	type card struct {
		ClientID   string         `json:"client_id"`
		JWKSURI    string         `json:"jwks_uri"`
		WebBotAuth map[string]any `json:"web_bot_auth"`
	}
	for _, tt := range []struct {
		name           string
		args           []string
		id, keys       string
		rate, purposed string
	}{
		{
			"as it is",
			[]string{"-card"},
			"",
			"",
			"max=1rps for each host; one request at a time",
			"and not kept",
		},
		{
			"for a crawl",
			[]string{
				"-card=https://bot.example/card.json",
				"-report=a.html",
				"-delay=2s",
				"-pages=none",
				"https://a.example/",
			},
			"https://bot.example/card.json",
			"",
			"max=0.5rps for each host; one request at a time",
			"noindex or noarchive",
		},
		{
			"signed",
			[]string{
				"-card",
				"-key",
				file,
				"-signature-agent",
				keysURL,
				"-pages=none",
				"-pages-all",
				"-adaptive=3",
			},
			"",
			keysURL,
			"max=1rps for each host; one request at a time; slower where responses are slow: a pause of 3 response times",
			"each page is kept",
		},
		{
			"signed, by an origin",
			[]string{
				"-card",
				"-key",
				file,
				"-signature-agent=https://bot.example",
				"-legacy-signature-agent",
				"-delay=0",
			},
			"",
			keysURL,
			"one request at a time",
			"not kept",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Chdir(t.TempDir())
			var stdout, stderr bytes.Buffer
			if status := run(t.Context(), append([]string{"-user-agent=ExampleBot/1.0 (+https://bot.example/)"}, tt.args...), &stdout, &stderr); status != tool.ExitOK || stderr.Len() > 0 {
				t.Fatalf("exit status %d: %s", status, stderr.String())
			}
			var c card
			if err := json.Unmarshal(stdout.Bytes(), &c); err != nil {
				t.Fatalf("%v: %s", err, stdout.String())
			}
			if c.ClientID != tt.id || c.JWKSURI != tt.keys || c.WebBotAuth["rate-expectation"] != tt.rate || !strings.Contains(c.WebBotAuth["purpose"].(string), tt.purposed) {
				t.Errorf("%s", stdout.String())
			}
			if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
				t.Errorf("it left %v behind, %v", files, err)
			}
		})
	}
}

func TestRun_KeyRefused(t *testing.T) {
	file, _ := keyFile(t, 0o600)
	open, _ := keyFile(t, 0o644)
	secret, err := os.ReadFile(open)
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{
			"a key that others can read",
			[]string{"-key", open, "-signature-agent", keysURL, "https://a.example/"},
			"chmod 600",
		},
		{
			"no key",
			[]string{
				"-key",
				filepath.Join(t.TempDir(), "none"),
				"-signature-agent",
				keysURL,
				"https://a.example/",
			},
			"-key",
		},
		{
			"a key alone",
			[]string{"-key", file, "https://a.example/"},
			"-key requires -signature-agent, the URL of the key directory, such as " + keysURL,
		},
		{
			"an agent alone",
			[]string{"-signature-agent", keysURL, "https://a.example/"},
			"-signature-agent requires -key, the file of the private key",
		},
		{"a form alone", []string{"-legacy-signature-agent", "https://a.example/"}, "-key"},
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
			"an agent in another script",
			[]string{"-key", file, "-signature-agent=https://bücher.example/", "https://a.example/"},
			"use ASCII only",
		},
		{"the demo", []string{"-key", file, "-signature-agent", keysURL}, "the demo uses http"},
		{"a card of nobody", []string{"-user-agent=", "-card"}, "-user-agent is required"},
		{"a card that is no URL", []string{"-card=card.json"}, "-card"},
		{"a card of a library", []string{"-user-agent=colly", "-card"}, "colly"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			status := run(t.Context(), append([]string{agent}, tt.args...), &stdout, &stderr)
			if status != tool.ExitUsage || stdout.Len() > 0 || !strings.Contains(stderr.String(), tt.want) {
				t.Errorf("exit status %d: %s%s", status, stdout.String(), stderr.String())
			}
			if strings.Contains(stderr.String(), strings.Split(string(secret), "\n")[1]) {
				t.Error("it tells the key")
			}
		})
	}
}
