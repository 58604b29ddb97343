package webbotauth_test

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// newKey makes a key for an example. A crawler reads its key with ReadKey.
func newKey() ed25519.PrivateKey {
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		log.Fatal(err)
	}
	return key
}

// signed is a server that prints the path of each request, and the components
// that the request's signature covers.
var signed = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
	input := r.Header.Get("Signature-Input")
	if i := strings.Index(input, ")"); i > 0 {
		input = input[:i+1] // without the times and the key's ID, which differ each time
	}
	fmt.Println(r.URL.Path, input)
	if r.URL.Path == "/robots.txt" {
		http.NotFound(w, r)
	}
})

// A program that makes an http.Client itself checks the Transport before the
// first request. The constructors of package robotsmw check their Base
// themselves.
func ExampleTransport_Validate() {
	transport := &webbotauth.Transport{Key: newKey(), Agent: "bot.example"}
	fmt.Println(transport.Validate())
	// Output:
	// webbotauth: Transport.Agent: "bot.example" is not an absolute URL that begins with https://
}

func ExampleTransport() {
	var web robotstest.Internet // a fake internet
	web.Handle("https://example.com", signed)

	client, err := robotsmw.NewClient(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://bot.example/)",
		Base: &webbotauth.Transport{
			Base:  &web, // nil means http.DefaultTransport
			Key:   newKey(),
			Agent: "https://bot.example" + webbotauth.DirectoryPath,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	resp, err := client.Get("https://example.com/page")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	// Output:
	// /robots.txt sig1=("@authority" "@method" "@path" "signature-agent";key="sig1")
	// /page sig1=("@authority" "@method" "@path" "signature-agent";key="sig1")
}

func ExampleTransport_colly() {
	var web robotstest.Internet // a fake internet
	web.Handle("https://example.com", signed)

	c := colly.NewCollector()
	_, err := collyrobots.Attach(c, robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://bot.example/)",
		Base: &webbotauth.Transport{
			Base:  &web,
			Key:   newKey(),
			Agent: "https://bot.example" + webbotauth.DirectoryPath,
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	if err := c.Visit("https://example.com/page"); err != nil {
		log.Fatal(err)
	}
	// Output:
	// /robots.txt sig1=("@authority" "@method" "@path" "signature-agent";key="sig1")
	// /page sig1=("@authority" "@method" "@path" "signature-agent";key="sig1")
}

// With LegacyAgent, Signature-Agent is one string, the origin. Some verifiers
// follow the drafts before draft-meunier-web-bot-auth-architecture-04, and
// expect this form. The verifier that Cloudflare documents is one of them.
func ExampleTransport_legacyAgent() {
	var web robotstest.Internet
	web.Handle("https://example.com", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Println(r.Header.Get("Signature-Agent"))
		signed(w, r)
	}))
	client := &http.Client{Transport: &webbotauth.Transport{
		Base:        &web,
		Key:         newKey(),
		Agent:       "https://bot.example",
		LegacyAgent: true,
		Validity:    time.Minute,
	}}
	resp, err := client.Get("https://example.com/page")
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	// Output:
	// "https://bot.example"
	// /page sig1=("@authority" "@method" "@path" "signature-agent")
}

func ExampleReadKey() {
	dir, err := os.MkdirTemp("", "")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "key.json")
	if err := os.WriteFile(file, []byte(`{"kty":"OKP","crv":"Ed25519","d":"n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU"}`), 0o600); err != nil {
		log.Fatal(err)
	}

	_, err = webbotauth.ReadKey(file)
	fmt.Println(strings.ReplaceAll(err.Error(), file, "key.json"))
	// Output:
	// webbotauth: cannot use the key in key.json: the key is the test key of RFC 9421 appendix B.1.4, which is public: create a key with openssl genpkey -algorithm ed25519
}

// The key and its thumbprint are those of RFC 8037 appendix A.
func ExampleKeyID() {
	public := ed25519.PublicKey("\xd7\x5a\x98\x01\x82\xb1\x0a\xb7\xd5\x4b\xfe\xd3\xc9\x64\x07\x3a\x0e\xe1\x72\xf3\xda\xa6\x23\x25\xaf\x02\x1a\x68\xf7\x07\x51\x1a")
	fmt.Println(webbotauth.KeyID(public))
	// Output: kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k
}

func ExampleDirectory() {
	mux := http.NewServeMux()
	mux.Handle(webbotauth.DirectoryPath, &webbotauth.Directory{
		Authority: "bot.example",
		Keys:      []ed25519.PrivateKey{newKey()}, // during a change of keys, both the old key and the new one
	})

	var web robotstest.Internet
	web.Handle("https://bot.example", mux)
	resp, err := (&http.Client{Transport: &web}).Get("https://bot.example" + webbotauth.DirectoryPath)
	if err != nil {
		log.Fatal(err)
	}
	resp.Body.Close()
	fmt.Println(resp.Status, resp.Header.Get("Content-Type"), resp.Header.Get("Cache-Control"))
	// Output: 200 OK application/http-message-signatures-directory+json max-age=3600
}

// The response is created on the computer that has the keys, and served by
// another one. The command "robotscheck identity -out DIR" also creates such a
// response.
func ExampleDirectory_Response() {
	d := webbotauth.Directory{
		Authority: "bot.example",
		Keys:      []ed25519.PrivateKey{newKey()},
		Validity:  30 * 24 * time.Hour,
	}
	header, body, err := d.Response(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(len(body), "bytes, and", len(header), "fields")
	// Output: 154 bytes, and 5 fields
}

func ExampleCheckDirectory() {
	header, body, err := (&webbotauth.Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{newKey()}}).Response(time.Now())
	if err != nil {
		log.Fatal(err)
	}
	var web robotstest.Internet
	web.Handle("https://bot.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range header {
			w.Header()[name] = values
		}
		w.Header().Set("Content-Type", "application/json") // many web servers do this
		w.Write(body)
	}))

	keys, problems := webbotauth.CheckDirectory(
		context.Background(),
		&web,
		"https://bot.example"+webbotauth.DirectoryPath,
	)
	fmt.Println(len(keys), "key, signed:", time.Now().Before(keys[0].Until))
	for _, problem := range problems {
		fmt.Println(problem)
	}
	// Output:
	// 1 key, signed: true
	// the media type is "application/json": at /.well-known/http-message-signatures-directory it must be application/http-message-signatures-directory+json
}

func ExampleAsked() {
	resp := &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{
		"Accept-Signature": {`sig1=("@authority" "signature-agent";key="sig1");created;expires;nonce="x";tag="web-bot-auth"`},
	}}
	fmt.Println("the server", webbotauth.Asked(resp))
	// Output: the server requests a Web Bot Auth signature of "@authority" "signature-agent";key="sig1"; the signatures of this crawler lack nonce
}
