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
	// Until is when this key's valid signature over the directory expires. If
	// there are several valid signatures by this key, the latest time counts.
	// The zero time means that there is no valid signature.
	Until  time.Time
	public ed25519.PublicKey
}

// A directoryReport is what a verifier would find in a key directory.
type directoryReport struct {
	keys     []DirectoryKey
	problems []string
}

// Verifiers limit the size and the time of a fetch (draft section 6.7). These
// are CheckDirectory's limits. maxDirectory is in bytes.
const (
	maxDirectory = 64 << 10
	maxFetch     = 10 * time.Second
)

// CheckDirectory requests a URL once and reports what a verifier would find
// wrong with the answer (draft section 5.5 and appendix B). It checks the
// status, the media type, the keys, the signatures, and how long the answer may
// be cached. Like verifiers, it follows no redirect. It gives up after ten
// seconds. The RoundTripper makes the request. A nil RoundTripper means
// http.DefaultTransport.
//
// The keys are those that a verifier can use, in the directory's order: Ed25519
// keys that have not expired and are not test keys. The problems say what is
// wrong, in the order in which it was found; nil means that nothing is. A bad
// URL and a failed request are problems too.
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
	ctx, cancel := context.WithTimeout(ctx, maxFetch)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, rawURL, nil)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", directoryType)
	req.Header.Set("Accept-Encoding", "identity") // otherwise net/http would decode gzip, and the body would not fit its digest
	resp, err := cmp.Or(base, http.DefaultTransport).RoundTrip(req)
	if err != nil {
		return fmt.Errorf("it cannot be fetched: %w", err)
	}
	defer httputil.CloseEarly(cancel, resp.Body)
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDirectory+1))
	if err != nil {
		return fmt.Errorf("it cannot be read: %w", err)
	}
	r.check(req, resp, body, time.Now())
	return nil
}

func (r *directoryReport) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// check adds to the report what it finds in the answer to a request.
func (r *directoryReport) check(req *http.Request, resp *http.Response, body []byte, now time.Time) {
	switch {
	case resp.StatusCode >= 300 && resp.StatusCode < 400 && resp.Header.Get("Location") != "":
		r.problem("it answers %d, to %s: verifiers follow no redirect, so answer 200 here", resp.StatusCode, printable(resp.Header.Get("Location")))
		return
	case resp.StatusCode != http.StatusOK:
		r.problem("it answers %d: verifiers take 200 alone", resp.StatusCode)
		return
	case len(body) > maxDirectory:
		r.problem("it has more than %d KiB: verifiers read no more than a few", maxDirectory>>10)
		return
	}
	if coding := resp.Header.Get("Content-Encoding"); coding != "" && coding != "identity" {
		r.problem("it is encoded (%s) though none was accepted: send it as it is", printable(coding))
		return
	}
	wellKnown := req.URL.Path == DirectoryPath
	if got, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); wellKnown && got != directoryType {
		r.problem("its media type is %q: at %s it must be %s", printable(resp.Header.Get("Content-Type")), DirectoryPath, directoryType)
	}
	if !r.checkKeys(body, wellKnown, now) {
		return
	}
	r.checkSignatures(req, resp, body, now)
	r.checkCaching(resp.Header, now)
}

// checkKeys parses the JWK Set in body. It returns whether the set has a usable
// key.
func (r *directoryReport) checkKeys(body []byte, wellKnown bool, now time.Time) bool {
	var set struct{ Keys []json.RawMessage }
	if err := json.Unmarshal(body, &set); err != nil || set.Keys == nil {
		r.problem(`it is no JWK Set: write {"keys":[…]}`)
		return false
	}
	if len(set.Keys) > maxKeys {
		r.problem("it has %d keys: verifiers try %d at most", len(set.Keys), maxKeys)
		set.Keys = set.Keys[:maxKeys]
	}
	for i, raw := range set.Keys {
		r.checkJWK(i+1, raw, wellKnown, now)
	}
	if len(r.keys) == 0 {
		r.problem("it has no key that a verifier can use: it needs one of Ed25519")
		return false
	}
	return true
}

// checkJWK parses key number n, and keeps it if it can be used.
func (r *directoryReport) checkJWK(n int, raw json.RawMessage, wellKnown bool, now time.Time) {
	var key struct {
		Kty, Crv, Kid, X, Use, Alg, D string
		Exp                           float64 // seconds since 1970; 0 means never
	}
	if json.Unmarshal(raw, &key) != nil {
		r.problem(`key %d: it is no JWK: write {"kty":"OKP","crv":"Ed25519","x":"…"}`, n)
		return
	}
	if key.D != "" {
		r.problem(`key %d: it has its private part, "d": everybody can sign as you now. Make another key, and publish "x" alone`, n)
		return
	}
	if key.Kty != "OKP" || key.Crv != "Ed25519" {
		r.problem("key %d: it is of %s %s: deployed verifiers take Ed25519 alone", n, printable(key.Kty), printable(key.Crv))
		return
	}
	public, err := base64.RawURLEncoding.DecodeString(key.X)
	if err != nil || len(public) != ed25519.PublicKeySize {
		r.problem(`key %d: "x" is not 32 bytes in base64url without padding`, n)
		return
	}
	id := KeyID(public)
	if wellKnown && key.Kid != "" && key.Kid != id {
		r.problem("key %d: its kid is %q: at %s it must be the thumbprint, %s", n, printable(key.Kid), DirectoryPath, id)
	}
	if key.Use != "" && key.Use != "sig" {
		r.problem(`key %d: its use is %q: write "sig"`, n, printable(key.Use))
	}
	if key.Alg != "" && key.Alg != "EdDSA" && key.Alg != "Ed25519" {
		r.problem(`key %d: its alg is %q: write "EdDSA", or leave it out`, n, printable(key.Alg))
	}
	if from, ok := testKeys[id]; ok {
		r.problem("key %d: it is the test key of %s, with which everybody can sign: verifiers reject it", n, from)
		return
	}
	if key.Exp != 0 && float64(now.Unix()) >= math.Floor(key.Exp) {
		r.problem("key %d: it has expired, at %s: take it out", n, stamp(time.Unix(int64(key.Exp), 0)))
		return
	}
	if slices.ContainsFunc(r.keys, func(other DirectoryKey) bool { return other.ID == id }) {
		r.problem("key %d: it is there twice", n)
		return
	}
	r.keys = append(r.keys, DirectoryKey{ID: id, public: public})
}

// checkSignatures checks Content-Digest, and looks for a valid signature by
// each key (draft appendix B.1).
func (r *directoryReport) checkSignatures(req *http.Request, resp *http.Response, body []byte, now time.Time) {
	r.checkDigest(resp.Header, body)
	inputs, inputOK := dictionaryOf(resp.Header, signatureInputField)
	values, valueOK := dictionaryOf(resp.Header, signatureField)
	if !inputOK || !valueOK {
		r.problem("its Signature-Input or Signature cannot be read: they are dictionaries of structured fields (RFC 9651)")
		return
	}
	tried := 0
	for _, input := range inputs {
		if tag, _ := input.Param("tag"); tag != `"`+directoryTag+`"` {
			continue // a signature for another purpose
		}
		if tried++; tried > maxSignatures {
			r.problem("it has more than %d signatures of the directory: one per key is enough, and the rest is ignored", maxSignatures)
			break
		}
		until, key, why := r.verify(req, resp, input, memberOf(values, input.Key), now)
		if why != "" {
			r.problem("signature %s: %s", input.Key, why)
		} else if until.After(key.Until) {
			key.Until = until
		}
	}
	for i, key := range r.keys {
		if key.Until.IsZero() {
			r.problem("key %d, %s, has no valid signature of the directory: the draft recommends one per key, and Cloudflare ignores a key without", i+1, key.ID)
		}
	}
}

// maxSignatures is how many signatures of a directory are tried. Without this
// limit and maxCovered, an answer with a large header takes minutes to check.
const maxSignatures = 2 * maxKeys

// maxCovered is how many bytes a component may have that a signature covers.
const maxCovered = 64 << 10

// checkDigest compares Content-Digest with the body (RFC 9530).
func (r *directoryReport) checkDigest(h http.Header, body []byte) {
	if len(h.Values(contentDigestField)) == 0 {
		return // each signature must cover the field, so the method verify finds it missing
	}
	members, ok := dictionaryOf(h, contentDigestField)
	if !ok {
		r.problem("its Content-Digest cannot be read: it is a dictionary, as in %s", contentDigest(body))
		return
	}
	if digest := memberOf(members, "sha-256"); digest == nil {
		r.problem("its Content-Digest has no sha-256, which is what verifiers know")
	} else if "sha-256="+digest.Value != contentDigest(body) {
		r.problem("its Content-Digest is not that of the body, which has %s: nothing on the way may change a byte", contentDigest(body))
	}
}

// verify checks one signature. If the signature is valid, verify returns the
// key, and the time at which the signature expires. If not, verify returns the
// reason.
func (r *directoryReport) verify(req *http.Request, resp *http.Response, input structured.Member, value *structured.Member, now time.Time) (until time.Time, key *DirectoryKey, why string) {
	if input.Value != "" {
		return until, nil, "it does not say what it covers"
	}
	if value == nil {
		return until, nil, "there is none of this name in Signature"
	}
	signature, err := base64.StdEncoding.DecodeString(strings.Trim(value.Value, ":"))
	if err != nil || !strings.HasPrefix(value.Value, ":") || len(signature) != ed25519.SignatureSize {
		return until, nil, "it is not one of Ed25519"
	}
	keyID, _ := input.Param("keyid")
	id := strings.Trim(keyID, `"`)
	for i := range r.keys {
		if r.keys[i].ID == id {
			key = &r.keys[i]
		}
	}
	if key == nil {
		return until, nil, fmt.Sprintf("its keyid is %s: there is no such key with this thumbprint here", printable(strconv.Quote(id)))
	}
	if bare, ok := input.Param("alg"); ok && bare != `"ed25519"` {
		return until, nil, "its alg is not ed25519, as the key is"
	}
	covered, why := coveredBy(input.List, req, resp)
	if why != "" {
		return until, nil, why
	}
	base, _ := signatureBase(covered, strings.TrimPrefix(structured.Member{Params: input.Params}.String(), "()"))
	if !ed25519.Verify(key.public, []byte(base), signature) {
		return until, nil, "it does not fit: it was made for another authority or body, or with another key"
	}
	created, okCreated := dateParam(input, "created")
	until, okExpires := dateParam(input, "expires")
	switch {
	case !okCreated || !okExpires:
		return until, nil, "it needs created and expires"
	case created.After(now):
		return until, nil, fmt.Sprintf("it was created in the future, at %s: set the clock", stamp(created))
	case !until.After(now):
		return until, nil, fmt.Sprintf("it has expired, at %s: sign the directory again", stamp(until))
	}
	return until, key, ""
}

// coveredBy returns the components that a signature covers, with their values.
// If a verifier could not trust a signature of these components, coveredBy
// returns the reason.
func coveredBy(list []structured.Member, req *http.Request, resp *http.Response) (covered []component, why string) {
	seen := make(map[string]bool)
	for _, it := range list {
		id := it.String()
		if seen[id] {
			return nil, "it covers " + printable(id) + " twice"
		}
		seen[id] = true
		value, ok := valueOf(it, req, resp)
		if !ok {
			return nil, "it covers " + printable(id) + ", which a verifier cannot find in the answer"
		}
		if len(value) > maxCovered {
			return nil, fmt.Sprintf("it covers %s, which has more than %d KiB", printable(id), maxCovered>>10)
		}
		covered = append(covered, component{id, value})
	}
	if !seen[`"@authority";req`] {
		return nil, `it does not cover "@authority";req, so that anybody may serve the keys as theirs`
	}
	if !seen[`"content-digest"`] {
		return nil, `it does not cover "content-digest", so that others may change the keys`
	}
	return covered, ""
}

// valueOf returns the value of a component (RFC 9421 §2). ok is false if the
// answer does not have the component, or if this package does not know it.
func valueOf(it structured.Member, req *http.Request, resp *http.Response) (value string, ok bool) {
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
	if !strings.HasPrefix(it.Value, `"`) || strings.HasPrefix(name, "@") || len(it.Params) > 0 || name != strings.ToLower(name) {
		return "", false
	}
	return fieldValue(resp.Header, name), len(resp.Header.Values(name)) > 0
}

// checkCaching reports each key whose signature expires while a cache may still
// keep the answer.
func (r *directoryReport) checkCaching(h http.Header, now time.Time) {
	kept, ok := maxAge(h)
	if !ok {
		return
	}
	for i, key := range r.keys {
		if !key.Until.IsZero() && now.Add(kept).After(key.Until) {
			r.problem("it may be cached for %v, but the signature of key %d ends in %v: sign for longer, or let it be cached for less",
				kept, i+1, key.Until.Sub(now).Truncate(time.Second))
		}
	}
}

// maxAge returns how long a private or shared cache may keep an answer, by
// Cache-Control (RFC 9111 §5.2). ok is false if the answer does not say how
// long.
func maxAge(h http.Header) (kept time.Duration, ok bool) {
	for _, directive := range strings.Split(fieldValue(h, "Cache-Control"), ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(directive), "=")
		switch strings.ToLower(name) {
		case "no-store", "no-cache":
			return 0, true
		case "max-age", "s-maxage":
			n, err := strconv.ParseInt(strings.Trim(value, `"`), 10, 32)
			isHuge := errors.Is(err, strconv.ErrRange) // then n is the largest number that fits (RFC 9111 §1.2.2)
			if (err == nil || isHuge) && n >= 0 {
				kept, ok = max(kept, time.Duration(n)*time.Second), true
			}
		}
	}
	return kept, ok
}

// memberOf returns the member with a key, or nil.
func memberOf(members []structured.Member, key string) *structured.Member {
	if i := slices.IndexFunc(members, func(m structured.Member) bool { return m.Key == key }); i >= 0 {
		return &members[i]
	}
	return nil
}

// dateParam returns a parameter that is a time in seconds since 1970.
func dateParam(m structured.Member, name string) (time.Time, bool) {
	bare, _ := m.Param(name)
	n, err := strconv.ParseInt(bare, 10, 64)
	return time.Unix(n, 0), err == nil && n >= 0
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// printable turns a text from outside into printable ASCII, so that the text
// cannot control a terminal. A text of more than 200 bytes is cut and ends with
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
