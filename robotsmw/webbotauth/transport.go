package webbotauth

import (
	"cmp"
	"crypto/ed25519"
	"fmt"
	"net/http"
	"sync"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
)

// A Transport is an http.RoundTripper that signs requests (draft section 5.2,
// RFC 9421). It should be directly above the http.Transport, as Options.Base of
// robotsmw, and below all layers that rate-limit and retry requests, so that
// each attempt, each redirect hop and each fetch of robots.txt is signed when
// it is sent.
//
// A signature covers @authority, @method, @path and Signature-Agent. It does
// not cover the query or the body. The Host header is sent in the form of
// @authority: in lower case, without the port of https.
//
// Only requests over https are signed (draft section 6.1). A request that
// already has a Signature, Signature-Input or Signature-Agent is sent
// unchanged, because its signature would become invalid.
//
// A Transport does not modify the request: it signs and sends a copy. The
// Request of the response is the caller's. A Transport is safe for concurrent
// use. After its first use, it must not be copied and its fields must not be
// changed. A new key requires a new Transport.
type Transport struct {
	private

	// Base sends the requests. If nil, http.DefaultTransport is used.
	Base http.RoundTripper

	// Key signs the requests. See [ReadKey]. Required. If it is missing, or is
	// an example key of RFC 9421 or RFC 8037, Validate returns an error, and so
	// does RoundTrip for each request that would be signed.
	Key ed25519.PrivateKey

	// Agent is the URL in Signature-Agent: the https URL where verifiers find
	// the key, for example
	// "https://bot.example/.well-known/http-message-signatures-directory".
	// Required.
	Agent string

	// Validity is how long a signature is valid. It must be between one second
	// and 24 hours; if it is zero, signatures are valid for five minutes. The
	// times in a signature are in whole seconds.
	Validity time.Duration

	// LegacyAgent makes the Transport send Signature-Agent as one string, as in
	// the drafts before draft-meunier-web-bot-auth-architecture-04. Agent must
	// then be the origin alone, "https://bot.example", to which verifiers add
	// [DirectoryPath]. If LegacyAgent is false, Signature-Agent is a dictionary
	// with one member, as the draft requires.
	//
	// Cloudflare's documentation of July 2026 requires the string, and states
	// that verification fails if the signature covers a member of a dictionary.
	// Cloudflare's own library accepts both forms. According to reports, its
	// network accepts both too, but Cloudflare does not document this. Amazon
	// and Google do not document which form they accept.
	LegacyAgent bool

	// These fields are set only once, by the first request that is signed,
	// because checking the key takes half as long as signing.
	once     sync.Once
	validity time.Duration
	params   string // parameters after "created" and "expires"
	err      error  // the error of validateFields
}

// label is the name of the signature, and of the member of Signature-Agent.
const label = "sig1"

// These header fields are added to a request that is signed.
const (
	signatureField      = "Signature"
	signatureInputField = "Signature-Input"
	signatureAgentField = "Signature-Agent"
)

// RoundTrip sends the request. If the request is over https and has no
// Signature, Signature-Input or Signature-Agent, RoundTrip signs it first. If a
// field of the Transport is invalid, or the host is not valid in a Host header,
// RoundTrip returns an error and sends no request. All other errors are Base's.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL == nil || req.URL.Scheme != "https" || hasSignature(req) {
		return t.base().RoundTrip(req)
	}
	signed, err := t.sign(req)
	if err != nil {
		if req.Body != nil {
			req.Body.Close() // a RoundTripper must close the body, including on errors
		}
		return nil, err
	}
	resp, err := t.base().RoundTrip(signed)
	if resp != nil && resp.Request == signed {
		resp.Request = req
	}
	return resp, err
}

// CloseIdleConnections calls Base's method of this name, if it has one.
func (t *Transport) CloseIdleConnections() {
	httputil.CloseIdleConnections(t.base())
}

func (t *Transport) base() http.RoundTripper { return cmp.Or(t.Base, http.DefaultTransport) }

// hasSignature reports whether a request already has one of the fields that a
// Transport adds.
func hasSignature(req *http.Request) bool {
	for _, name := range []string{signatureField, signatureInputField, signatureAgentField} {
		if _, ok := req.Header[name]; ok {
			return true
		}
	}
	return false
}

// sign returns a signed copy of the request.
func (t *Transport) sign(req *http.Request) (*http.Request, error) {
	t.once.Do(func() { t.err = t.prepare() })
	if t.err != nil {
		return nil, t.err
	}
	host, err := authority(req)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	agent, agentField := agentComponent(label, t.Agent, t.LegacyAgent)
	input, signature := sign(t.Key, label, []component{
		{`"@authority"`, host},
		{`"@method"`, method(req)},
		{`"@path"`, path(req)},
		agent,
	}, lifetime(now, now.Add(t.validity))+t.params)

	signed := req.WithContext(req.Context())
	signed.Host = host // some verifiers do not normalize the Host
	signed.Header = make(http.Header, len(req.Header)+3)
	for name, values := range req.Header {
		signed.Header[name] = values[:len(values):len(values)]
	}
	signed.Header[signatureAgentField] = []string{agentField}
	signed.Header[signatureInputField] = []string{input}
	signed.Header[signatureField] = []string{signature}
	return signed, nil
}

const (
	defaultValidity = 5 * time.Minute
	maxValidity     = 24 * time.Hour // the maximum that the draft recommends (section 5.2)
)

// Validate returns an error if Key, Agent or Validity is invalid. The error
// contains the name of the field. If they are valid and Base has a method
// Validate() error, as a politeness.Transport has, Validate returns the result
// of that method. NewClient, NewTransport and NewChecker of package robotsmw
// call Validate for a Transport that is Options.Base. Validate is safe for
// concurrent use.
func (t *Transport) Validate() error {
	if err := t.validateFields(); err != nil {
		return err
	}
	return httputil.Validate(t.Base)
}

func (t *Transport) validateFields() error {
	if err := checkKey(t.Key); err != nil {
		return fmt.Errorf("webbotauth: Transport.Key: %w", err)
	}
	if err := checkAgent(t.Agent); err != nil {
		return fmt.Errorf("webbotauth: Transport.Agent: %w", err)
	}
	if validity := cmp.Or(t.Validity, defaultValidity); validity < time.Second || validity > maxValidity {
		return fmt.Errorf("webbotauth: Transport.Validity is %v: set a duration from %v to %v, or 0 for five minutes",
			t.Validity, time.Second, maxValidity)
	}
	return nil
}

// prepare sets validity and params. It returns an error if an exported field is
// invalid.
func (t *Transport) prepare() error {
	if err := t.validateFields(); err != nil {
		return err
	}
	t.validity = cmp.Or(t.Validity, defaultValidity)
	t.params = `;keyid="` + KeyID(publicKey(t.Key)) + `";alg="ed25519";tag="web-bot-auth"`
	return nil
}
