package webbotauth

import (
	"bytes"
	"cmp"
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goodbots/courtesy/internal/httputil"
	"github.com/goodbots/courtesy/politeness/structured"
)

// A DirectoryKey is a key in a directory.
type DirectoryKey struct {
	ID string // see [KeyID]
	// Until is when the key's valid signature of the directory expires. If the
	// key has several valid signatures, it is the latest time. The zero time
	// means that there is no valid signature.
	Until  time.Time
	public ed25519.PublicKey
}

// A directoryReport contains the usable keys of a key directory, and its
// problems.
type directoryReport struct {
	keys     []DirectoryKey
	problems []string
}

// Verifiers limit the size and the time of a fetch (draft section 6.7). These
// are CheckDirectory's limits.
const (
	maxDirectoryBytes = 64 << 10
	fetchTimeout      = 10 * time.Second
)

// CheckDirectory requests a key directory once and reports the problems because
// of which verifiers may reject it or its keys (draft section 5.5 and appendix
// B). It checks the status, the media type, the keys, the signatures, and how
// long the response may be cached. Like verifiers, it follows no redirect. It
// times out after ten seconds. The request is sent through base or, if base is
// nil, through http.DefaultTransport.
//
// The keys are those that a verifier can use, in the directory's order: Ed25519
// keys that have not expired and are not test keys. The problems are in the
// order in which they were found. If there are none, problems is nil. An
// invalid URL or a failed request is a problem too.
func CheckDirectory(ctx context.Context, base http.RoundTripper, rawURL string) (keys []DirectoryKey, problems []string) {
	var r directoryReport
	if err := r.fetch(ctx, base, rawURL); err != nil {
		r.problem("%v", err)
	}
	return r.keys, r.problems
}

// fetch fetches a directory and checks it.
func (r *directoryReport) fetch(ctx context.Context, base http.RoundTripper, rawURL string) error {
	if err := checkAgent(rawURL); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", directoryType)
	req.Header.Set("Accept-Encoding", "identity") // otherwise net/http would decode gzip, and the body would not match its digest
	resp, err := cmp.Or(base, http.DefaultTransport).RoundTrip(req)
	if err != nil {
		return fmt.Errorf("the directory cannot be fetched: %w", err)
	}
	defer httputil.CloseEarly(cancel, resp.Body)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDirectoryBytes+1))
	if err != nil {
		return fmt.Errorf("the directory cannot be read: %w", err)
	}
	r.check(req, resp, body, time.Now())
	return nil
}

func (r *directoryReport) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// check adds the problems of a response to the report.
func (r *directoryReport) check(req *http.Request, resp *http.Response, body []byte, now time.Time) {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "":
		r.problem("the directory redirects (%d) to %s: verifiers follow no redirect, so serve the directory here with 200",
			resp.StatusCode, printable(resp.Header.Get("Location")))
		return
	case resp.StatusCode != http.StatusOK:
		r.problem("the status is %d: verifiers accept only 200", resp.StatusCode)
		return
	case len(body) > maxDirectoryBytes:
		r.problem("the directory is larger than %d KiB: verifiers read only a few KiB", maxDirectoryBytes>>10)
		return
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		r.problem("the response has the content coding %s, which was not accepted: send the directory without a coding",
			printable(coding))
		return
	}
	wellKnown := req.URL.Path == DirectoryPath
	if got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); wellKnown && got != directoryType {
		r.problem("the media type is %q: at %s it must be %s",
			printable(resp.Header.Get("Content-Type")), DirectoryPath, directoryType)
	}
	if !r.checkKeys(body, wellKnown, now) {
		return
	}
	r.checkSignatures(req, resp, body, now)
	r.checkCaching(resp.Header, now)
}

// checkKeys parses the JWK Set in body. It reports whether the set has a usable
// key.
func (r *directoryReport) checkKeys(body []byte, wellKnown bool, now time.Time) bool {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		r.problem(`the body is not a JWK Set, such as {"keys":[…]}`)
		return false
	}
	if len(set.Keys) > maxKeys {
		r.problem("the directory has %d keys: verifiers try at most %d", len(set.Keys), maxKeys)
		set.Keys = set.Keys[:maxKeys]
	}
	for i, raw := range set.Keys {
		r.checkJWK(i+1, raw, wellKnown, now)
	}
	if len(r.keys) == 0 {
		r.problem("the directory has no key that a verifier can use: add an Ed25519 key")
		return false
	}
	return true
}

// checkJWK parses key number n, counted from 1, and adds it to r.keys if
// verifiers can use it.
func (r *directoryReport) checkJWK(n int, raw json.RawMessage, wellKnown bool, now time.Time) {
	var key struct {
		Kty, Crv, Kid, X, Use, Alg, D string
		Exp                           float64 // seconds since 1970; 0 means never
	}
	if json.Unmarshal(raw, &key) != nil {
		r.problem(`key %d is not a JWK, such as {"kty":"OKP","crv":"Ed25519","x":"…"}`, n)
		return
	}
	if key.D != "" {
		r.problem(`key %d contains the private key, "d", so anyone can sign as you: create another key, and publish only "x"`,
			n)
		return
	}
	if key.Kty != "OKP" || key.Crv != "Ed25519" {
		r.problem("key %d has the type %s %s: deployed verifiers accept only Ed25519",
			n, printable(key.Kty), printable(key.Crv))
		return
	}
	public, err := base64.RawURLEncoding.DecodeString(key.X)
	if err != nil || len(public) != ed25519.PublicKeySize {
		r.problem(`key %d: "x" is not 32 bytes in base64url without padding`, n)
		return
	}
	id := KeyID(public)
	hasOtherKid := key.Kid != "" && key.Kid != id
	if wellKnown && hasOtherKid {
		r.problem("key %d has the kid %q: at %s the kid must be the thumbprint, %s",
			n, printable(key.Kid), DirectoryPath, id)
	}
	if key.Use != "" && key.Use != "sig" {
		r.problem(`key %d has the use %q: change the use to "sig"`, n, printable(key.Use))
	}
	switch key.Alg {
	case "", "EdDSA", "Ed25519":
	default:
		r.problem(`key %d has the alg %q: change the alg to "EdDSA", or remove it`,
			n, printable(key.Alg))
	}
	if from, ok := testKeys[id]; ok {
		r.problem("key %d is the test key of %s, with which anyone can sign: verifiers reject this key",
			n, from)
		return
	}
	if key.Exp != 0 && float64(now.Unix()) >= math.Floor(key.Exp) {
		r.problem("key %d expired at %s: remove this key", n, stamp(time.Unix(int64(key.Exp), 0)))
		return
	}
	if slices.ContainsFunc(r.keys, func(other DirectoryKey) bool { return other.ID == id }) {
		r.problem("key %d is a duplicate", n)
		return
	}
	r.keys = append(r.keys, DirectoryKey{ID: id, public: public})
}

// checkSignatures checks Content-Digest, and searches for a valid signature by
// each key (draft appendix B.1).
func (r *directoryReport) checkSignatures(req *http.Request, resp *http.Response, body []byte, now time.Time) {
	r.checkDigest(resp.Header, body)
	inputs, inputOK := dictionaryField(resp.Header, signatureInputField)
	values, valueOK := dictionaryField(resp.Header, signatureField)
	if !inputOK || !valueOK {
		r.problem("Signature-Input or Signature is not a valid dictionary (RFC 9651)")
		return
	}
	tried := 0
	for _, input := range inputs {
		if tag, _ := input.Param("tag"); tag != `"`+directoryTag+`"` {
			continue // a signature for another purpose
		}
		tried++
		if tried > maxSignatures {
			r.problem("the response has more than %d signatures of the directory, of which the others are ignored: one per key is enough",
				maxSignatures)
			break
		}
		until, key, problem := r.verify(req, resp, input, findMember(values, input.Key), now)
		if problem != "" {
			r.problem("signature %s: %s", input.Key, problem)
		} else if until.After(key.Until) {
			key.Until = until
		}
	}
	for i, key := range r.keys {
		if key.Until.IsZero() {
			r.problem("key %d, %s, has no valid signature of the directory: the draft recommends one per key, and Cloudflare ignores keys without one",
				i+1, key.ID)
		}
	}
}

// These limits exist because checking a response with a large header could
// otherwise take minutes.
const (
	maxSignatures   = 2 * maxKeys // of a directory
	maxCoveredBytes = 64 << 10    // of a component that a signature covers
)

// checkDigest compares Content-Digest with the body (RFC 9530).
func (r *directoryReport) checkDigest(h http.Header, body []byte) {
	if len(h.Values(contentDigestField)) == 0 {
		return // verify reports this, because each signature must cover the field
	}
	members, ok := dictionaryField(h, contentDigestField)
	if !ok {
		r.problem("Content-Digest is not a valid dictionary, such as %s", contentDigest(body))
		return
	}
	if digest := findMember(members, "sha-256"); digest == nil {
		r.problem("Content-Digest has no sha-256, which verifiers require")
	} else if "sha-256="+digest.Value != contentDigest(body) {
		r.problem("Content-Digest does not match the body, whose digest is %s: check whether a proxy changes the body",
			contentDigest(body))
	}
}

// verify checks one signature. If the signature is valid, verify returns the
// key and the time at which the signature expires. Otherwise it returns a
// problem.
func (r *directoryReport) verify(req *http.Request, resp *http.Response, input structured.Member, value *structured.Member, now time.Time) (until time.Time, key *DirectoryKey, problem string) {
	if input.Value != "" {
		return until, nil, "Signature-Input has no list of components for the signature"
	}
	if value == nil {
		return until, nil, "Signature has no member of this name"
	}
	signature, err := base64.StdEncoding.DecodeString(strings.Trim(value.Value, ":"))
	isBytes := err == nil && strings.HasPrefix(value.Value, ":")
	if !isBytes || len(signature) != ed25519.SignatureSize {
		return until, nil, "the value is not an Ed25519 signature"
	}
	keyID, _ := input.Param("keyid")
	id := strings.Trim(keyID, `"`)
	for i := range r.keys {
		if r.keys[i].ID == id {
			key = &r.keys[i]
		}
	}
	if key == nil {
		return until, nil, fmt.Sprintf("the keyid is %s: the directory has no usable key with this thumbprint",
			printable(strconv.Quote(id)))
	}
	if bare, ok := input.Param("alg"); ok && bare != `"ed25519"` {
		return until, nil, "the alg is not ed25519, the algorithm of the key"
	}
	covered, problem := coveredBy(input.List, req, resp)
	if problem != "" {
		return until, nil, problem
	}
	base, _ := signatureBase(
		covered,
		strings.TrimPrefix(structured.Member{Params: input.Params}.String(), "()"),
	)
	if !ed25519.Verify(key.public, []byte(base), signature) {
		return until, nil, "the signature is invalid: it was created for another authority or body, or with another key"
	}
	created, okCreated := dateParam(input, "created")
	until, okExpires := dateParam(input, "expires")
	switch {
	case !okCreated || !okExpires:
		return until, nil, "the signature lacks created or expires"
	case created.After(now):
		return until, nil, fmt.Sprintf("the signature was created in the future, at %s: check the clock",
			stamp(created))
	case !until.After(now):
		return until, nil, fmt.Sprintf("the signature expired at %s: sign the directory again", stamp(until))
	}
	return until, key, ""
}

// coveredBy returns the components that a signature covers, with their values.
// If verifiers would not accept a signature of these components, coveredBy
// returns a problem.
func coveredBy(list []structured.Member, req *http.Request, resp *http.Response) (covered []component, problem string) {
	seen := make(map[string]bool)
	for _, it := range list {
		id := it.String()
		if seen[id] {
			return nil, "the signature covers " + printable(id) + " twice"
		}
		seen[id] = true
		value, ok := componentValue(it, req, resp)
		if !ok {
			return nil, "the signature covers " + printable(id) +
				", which is not in the response or is not supported by this check"
		}
		if len(value) > maxCoveredBytes {
			return nil, fmt.Sprintf("the signature covers %s, which is larger than %d KiB",
				printable(id), maxCoveredBytes>>10)
		}
		covered = append(covered, component{id, value})
	}
	if !seen[`"@authority";req`] {
		return nil, `the signature does not cover "@authority";req, so another site could serve the keys as its own`
	}
	if !seen[`"content-digest"`] {
		return nil, `the signature does not cover "content-digest", so the keys could be changed`
	}
	return covered, ""
}

// componentValue returns the value of a component (RFC 9421 §2). ok is false if
// the response does not have the component, or if it is not supported.
func componentValue(it structured.Member, req *http.Request, resp *http.Response) (value string, ok bool) {
	switch it.String() {
	case `"@authority";req`:
		value, err := authority(req)
		return value, err == nil
	case `"@method";req`:
		return method(req), true
	case `"@path";req`:
		return path(req), true
	case `"@status"`:
		return strconv.Itoa(resp.StatusCode), true
	}
	name := strings.Trim(it.Value, `"`)
	isField := strings.HasPrefix(it.Value, `"`) && !strings.HasPrefix(name, "@")
	if !isField || len(it.Params) > 0 || name != strings.ToLower(name) {
		return "", false
	}
	return fieldValue(resp.Header, name), len(resp.Header.Values(name)) > 0
}

// checkCaching reports each key whose signature expires while the response may
// still be cached.
func (r *directoryReport) checkCaching(h http.Header, now time.Time) {
	lifetime, ok := maxAge(h)
	if !ok {
		return
	}
	for i, key := range r.keys {
		if !key.Until.IsZero() && now.Add(lifetime).After(key.Until) {
			r.problem("the response may be cached for %v, but the signature of key %d expires in %v: increase the validity of signatures, or reduce max-age",
				lifetime, i+1, key.Until.Sub(now).Truncate(time.Second))
		}
	}
}

// maxAge returns how long a private or shared cache may store a response,
// according to Cache-Control (RFC 9111 §5.2). ok is false if Cache-Control does
// not limit this.
func maxAge(h http.Header) (lifetime time.Duration, ok bool) {
	for _, directive := range strings.Split(fieldValue(h, "Cache-Control"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0, true
		case "max-age", "s-maxage":
			n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
			// If the number is too large, n is the maximum (RFC 9111 §1.2.2).
			isNumber := err == nil || errors.Is(err, strconv.ErrRange)
			if isNumber && n >= 0 {
				lifetime = max(lifetime, time.Duration(n)*time.Second)
				ok = true
			}
		}
	}
	return lifetime, ok
}

// findMember returns the member with the given key, or nil if there is none.
func findMember(members []structured.Member, key string) *structured.Member {
	if i := slices.IndexFunc(members, func(m structured.Member) bool { return m.Key == key }); i >= 0 {
		return &members[i]
	}
	return nil
}

// dateParam returns the value of a parameter that is a time in Unix seconds. It
// returns false if the parameter is missing or invalid.
func dateParam(m structured.Member, name string) (time.Time, bool) {
	bare, _ := m.Param(name)
	n, err := strconv.ParseInt(bare, 10, 64)
	return time.Unix(n, 0), err == nil && n >= 0
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// printable converts an untrusted text to printable ASCII, so that it cannot
// control a terminal. A text of more than 200 bytes is shortened and ends with
// "...".
func printable(text string) string {
	text = string(bytes.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, []byte(text)))
	if len(text) > 200 {
		text = text[:200] + "..."
	}
	return text
}
