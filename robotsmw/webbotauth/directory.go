package webbotauth

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// directoryType is the media type of a directory at DirectoryPath.
const directoryType = "application/http-message-signatures-directory+json"

// directoryTag is the tag of a signature over the directory. Such a signature
// proves that its key belongs to the directory.
const directoryTag = "http-message-signatures-directory"

// A Directory serves the crawler's public keys to verifiers. It is an
// http.Handler for [DirectoryPath], behind TLS.
//
// It publishes the public keys as a JWK Set, and signs each response with every
// key (draft appendix B). Cloudflare requires these signatures. If the web
// server should not have the private keys, the response can be created in
// advance with [Directory.Response].
//
// To change keys, first publish the new key beside the old one. When responses
// without the new key have expired in caches, sign requests with the new key.
// When the old key's last signature has expired, remove the old key.
//
// A Directory is safe for concurrent use. Its fields must not be changed after
// its first use.
type Directory struct {
	private

	// Authority is the host of the keys, such as "bot.example", with the port
	// if that is not 443. Requests for another host receive a 421, because the
	// keys would otherwise seem to belong to that host. Required.
	Authority string

	// Keys are the private keys whose public parts are published. All of them
	// sign each response, in this order. See [ReadKey]. At least one key is
	// required, and at most ten are allowed. While a key is being replaced,
	// both the old and the new key should be in Keys.
	Keys []ed25519.PrivateKey

	// Validity is how long the signatures of a response are valid. It must be
	// at least two seconds; if it is zero, signatures are valid for 24 hours.
	// The times in a signature are in whole seconds. A response may be cached
	// for half of Validity, but for at most one hour.
	Validity time.Duration
}

// ServeHTTP responds to GET and HEAD with the directory, to other methods with
// 405, and to requests for another host with 421. If a field of the Directory
// is invalid, it responds to GET and HEAD with 500 and the reason. If Authority
// is invalid, it responds to every request in this way.
func (d *Directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want, err := d.authority()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if got, err := normalHost(r.Host); err != nil || got != want {
		http.Error(w,
			"webbotauth: the keys of this server belong to another host", http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w,
			"webbotauth: the key directory requires the method GET or HEAD", http.StatusMethodNotAllowed)
		return
	}
	header, body, err := d.Response(time.Now())
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Write(body)
}

// Response returns the header fields and the body of the response at the given
// time. A web server without the keys may serve them unchanged for half of
// Validity. Caches may store a response for at most the other half, so caches
// contain no response with an expired signature. Response returns an error if a
// field of the Directory is invalid.
func (d *Directory) Response(now time.Time) (http.Header, []byte, error) {
	host, err := d.authority()
	if err != nil {
		return nil, nil, err
	}
	if len(d.Keys) == 0 {
		return nil, nil, errors.New("webbotauth: Directory.Keys is empty: read a key with ReadKey")
	}
	if len(d.Keys) > maxKeys {
		return nil, nil, fmt.Errorf("webbotauth: Directory.Keys has %d keys: verifiers try at most ten",
			len(d.Keys))
	}
	for i, key := range d.Keys {
		if err := checkKey(key); err != nil {
			return nil, nil, fmt.Errorf("webbotauth: Directory.Keys: key %d: %w", i+1, err)
		}
		if slices.ContainsFunc(d.Keys[:i], func(other ed25519.PrivateKey) bool { return key.Equal(other) }) {
			return nil, nil, fmt.Errorf("webbotauth: Directory.Keys: key %d is a duplicate", i+1)
		}
	}
	validity := d.Validity
	switch {
	case validity == 0:
		validity = 24 * time.Hour
	case validity < 2*time.Second:
		return nil, nil, fmt.Errorf("webbotauth: Directory.Validity is %v: set two seconds or more, or 0 for 24 hours",
			validity)
	}
	header, body := signedDirectory(host, d.Keys, now, now.Add(validity))
	header.Set("Content-Type", directoryType)
	header.Set("Cache-Control", "max-age="+strconv.Itoa(int(min(validity/2, time.Hour)/time.Second)))
	return header, body, nil
}

// maxKeys is the maximum number of keys in a directory. Verifiers limit the
// number of keys too (draft section 6.7).
const maxKeys = 10

// authority returns Authority in the form of the component @authority.
func (d *Directory) authority() (string, error) {
	if d.Authority == "" || strings.ContainsAny(d.Authority, "/@?# ") {
		return "", fmt.Errorf("webbotauth: Directory.Authority is %q: set a host only, such as bot.example",
			d.Authority)
	}
	return normalHost(d.Authority)
}

type jwk struct {
	Kty string `json:"kty"`
	Crv string `json:"crv"`
	Kid string `json:"kid"`
	X   string `json:"x"`
	Use string `json:"use"`
}

// signedDirectory returns the body of a directory, and the header fields that
// prove possession of its keys.
func signedDirectory(host string, keys []ed25519.PrivateKey, created, expires time.Time) (http.Header, []byte) {
	var set struct {
		Keys []jwk `json:"keys"`
	}
	for _, key := range keys {
		public := publicKey(key)
		set.Keys = append(set.Keys, jwk{
			Kty: "OKP",
			Crv: "Ed25519",
			Kid: KeyID(public),
			X:   base64.RawURLEncoding.EncodeToString(public),
			Use: "sig",
		})
	}
	body, err := json.Marshal(set)
	if err != nil {
		panic(err) // encoding a struct of strings never fails
	}
	digest := contentDigest(body)
	var inputs, signatures []string
	for i, key := range keys {
		label := "binding"
		if i > 0 {
			label += strconv.Itoa(i + 1)
		}
		input, signature := sign(key, label, []component{{`"@authority";req`, host}, {`"content-digest"`, digest}},
			lifetime(created, expires)+`;keyid="`+KeyID(publicKey(key))+`";tag="`+directoryTag+`"`)
		inputs = append(inputs, input)
		signatures = append(signatures, signature)
	}
	return http.Header{
		contentDigestField:  {digest},
		signatureInputField: {strings.Join(inputs, ", ")},
		signatureField:      {strings.Join(signatures, ", ")},
	}, body
}

const contentDigestField = "Content-Digest"

// contentDigest returns the value of Content-Digest (RFC 9530).
func contentDigest(body []byte) string {
	h := sha256.Sum256(body)
	return "sha-256=:" + base64.StdEncoding.EncodeToString(h[:]) + ":"
}
