package webbotauth

import (
	"crypto/ed25519"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"
)

// A Transport is an http.RoundTripper that signs requests (draft section 5.2,
// RFC 9421). Put it below the pace and below retries, around the
// http.Transport, so that each attempt, each redirect hop and the fetches of
// robots.txt are signed as they are sent: robotsmw.Options.Base is the place.
//
// A signature covers @authority, @method, @path and Signature-Agent. It
// does not cover the query or the body. What is sent as Host is @authority: in
// lower case, and without the port of https.
//
// A request over plain http is sent without one (draft section 6.1). So is a
// request that has a Signature, Signature-Input or Signature-Agent of its own:
// that is left alone, and the first one is logged.
//
// The request is never changed, and the response is Base's own. Transport is
// safe for concurrent use. It must not be copied, nor its fields be changed,
// after its first use. To change the key, make another Transport.
type Transport struct {
	private

	// Base makes the requests. Nil: http.DefaultTransport.
	Base http.RoundTripper

	// Key signs. See [ReadKey]. Required: without one, or with a test key of
	// RFC 9421, every request over https is an error.
	Key ed25519.PrivateKey

	// Agent is the URL in Signature-Agent: https, and where verifiers find the
	// key, for example
	// "https://bot.example/.well-known/http-message-signatures-directory".
	// Required.
	Agent string

	// Validity is how long a signature holds: whole seconds, 24 hours at most.
	// 0: five minutes.
	Validity time.Duration

	// LegacyAgent sends Signature-Agent as one string, as the drafts before
	// draft-meunier-web-bot-auth-architecture-04 have it. Agent is then the
	// origin alone, "https://bot.example", to which verifiers add
	// [DirectoryPath]. Cloudflare's documents of July 2026 ask for this form,
	// and say that verification fails where a member of a dictionary is
	// covered. False: a dictionary with one member, which the draft demands.
	// Cloudflare's own library takes both forms; that its network does is
	// reported, not documented. Amazon and Google do not say.
	LegacyAgent bool

	// Logger gets a warning about the first request with a signature of its
	// own. Nil: slog.Default().
	Logger *slog.Logger

	prepare sync.Once
	fixed   fixed
	err     error // why nothing can be signed
	foreign sync.Once
}

// fixed is what is the same in every request.
type fixed struct {
	agent     component // the last that is covered
	header    string    // Signature-Agent
	params    string    // after created and expires
	validity  time.Duration
	signature ed25519.PrivateKey
}

// label names our signature, and our member of Signature-Agent.
const label = "sig1"

// The fields of a signed request.
const (
	signatureField      = "Signature"
	signatureInputField = "Signature-Input"
	signatureAgentField = "Signature-Agent"
)

// RoundTrip signs the request and sends it. Its errors are those of Base, and
// one for each request if the Transport's fields are wrong.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Scheme != "https" || t.isForeign(req) {
		return t.base().RoundTrip(req)
	}
	signed, err := t.sign(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // the RoundTripper contract: also on errors
		}
		return nil, err
	}
	resp, err := t.base().RoundTrip(signed)
	if resp != nil && resp.Request == signed {
		resp.Request = req
	}
	return resp, err
}

// CloseIdleConnections passes the call on to Base, if that has the method.
// http.Client.CloseIdleConnections needs it.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	if t.Base != nil {
		return t.Base
	}
	return http.DefaultTransport
}

// isForeign reports whether a request carries somebody else's signature. A
// second one beside it could not be told from theirs, nor could their fields be
// changed without breaking it.
func (t *Transport) isForeign(req *http.Request) bool {
	for _, name := range []string{signatureField, signatureInputField, signatureAgentField} {
		if _, ok := req.Header[name]; !ok {
			continue
		}
		t.foreign.Do(func() {
			logger := t.Logger
			if logger == nil {
				logger = slog.Default()
			}
			logger.WarnContext(req.Context(), "webbotauth: a request has a signature of its own and is sent as it is: leave the field out to have it signed here",
				"field", name, "url", req.URL.Redacted())
		})
		return true
	}
	return false
}

// sign returns the request with a signature, as of now.
func (t *Transport) sign(req *http.Request) (*http.Request, error) {
	t.prepare.Do(func() { t.fixed, t.err = t.check() })
	if t.err != nil {
		return nil, t.err
	}
	host, err := authority(req)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	input, signature := sign(t.fixed.signature, label, []component{
		{`"@authority"`, host},
		{`"@method"`, method(req)},
		{`"@path"`, path(req)},
		t.fixed.agent,
	}, lifetime(now, now.Add(t.fixed.validity))+t.fixed.params)

	signed := req.WithContext(req.Context())
	signed.Host = host // some verifiers take it as it comes
	signed.Header = make(http.Header, len(req.Header)+3)
	for name, values := range req.Header {
		signed.Header[name] = values[:len(values):len(values)]
	}
	signed.Header[signatureAgentField] = []string{t.fixed.header}
	signed.Header[signatureInputField] = []string{input}
	signed.Header[signatureField] = []string{signature}
	return signed, nil
}

// maxValidity is what the draft recommends as the longest (section 5.2).
const maxValidity = 24 * time.Hour

// check says what is wrong with the fields, and works out what does not change.
func (t *Transport) check() (fixed, error) {
	if err := checkKey(t.Key); err != nil {
		return fixed{}, fmt.Errorf("webbotauth: Transport.Key: %w", err)
	}
	if err := checkAgent(t.Agent); err != nil {
		return fixed{}, fmt.Errorf("webbotauth: Transport.Agent: %w", err)
	}
	f := fixed{validity: t.Validity, signature: t.Key}
	switch {
	case f.validity == 0:
		f.validity = 5 * time.Minute
	case f.validity < time.Second || f.validity > maxValidity:
		return fixed{}, fmt.Errorf("webbotauth: Transport.Validity %v: write a time between %v and %v, or 0 for five minutes", t.Validity, time.Second, maxValidity)
	}
	f.params = `;keyid="` + KeyID(publicOf(t.Key)) + `";alg="ed25519";tag="web-bot-auth"`
	f.agent, f.header = agentComponent(label, t.Agent, t.LegacyAgent)
	return f, nil
}
