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
// It publishes the public keys as a JWK Set, and signs each answer with every
// key (draft appendix B). Cloudflare demands these signatures. To keep private
// keys off the web server, make the answer elsewhere with [Directory.Response].
//
// To change keys, publish the new key beside the old one. Wait until all
// answers without the new key have left the caches, and then sign requests with
// the new key. When the old key's last signature has expired, remove the old
// key.
//
// Directory is safe for concurrent use. Its fields must not be changed after
// its first use.
type Directory struct {
	private

	// Authority is the host that the keys belong to: "bot.example". If its port
	// is not 443, add the port. A request for another host is answered with
	// 421, because the keys would otherwise seem to belong to that host.
	// Required.
	Authority string

	// Keys are the private keys whose public parts are published. All of them
	// sign each answer, in this order. See [ReadKey]. At least one is required,
	// and at most ten are allowed. Two are usual while keys change.
	Keys []ed25519.PrivateKey

	// Validity is how long the signatures of an answer are valid, in whole
	// seconds: two seconds or more. An answer may be cached for half of this
	// time, but for one hour at most. 0 means 24 hours.
	Validity time.Duration
}

// ServeHTTP answers GET and HEAD with the directory, other methods with 405,
// and a request for another host with 421. If the Directory's fields are wrong,
// GET and HEAD are answered with 500 and the reason. If Authority is wrong,
// every request is answered in this way.
func (d *Directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	want, err := d.authority()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if got, err := normalHost(r.Host); err != nil || got != want {
		http.Error(w, "the keys here belong to another host", http.StatusMisdirectedRequest)
		return
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "the keys can be read, with GET", http.StatusMethodNotAllowed)
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

// Response returns the answer that the directory gives at the given time: the
// header fields and the body. A web server without the keys may serve this
// answer unchanged for half of Validity. A cache may keep the answer for the
// other half at most. So the signatures are still valid when the last copy
// leaves the caches. An error says which field of the Directory is wrong.
func (d *Directory) Response(now time.Time) (http.Header, []byte, error) {
	host, err := d.authority()
	if err != nil {
		return nil, nil, err
	}
	switch {
	case len(d.Keys) == 0:
		return nil, nil, errors.New("webbotauth: Directory.Keys: there is none: read one with ReadKey")
	case len(d.Keys) > maxKeys:
		return nil, nil, fmt.Errorf("webbotauth: Directory.Keys: %d are too many: verifiers try ten at most", len(d.Keys))
	}
	for i, key := range d.Keys {
		if err := checkKey(key); err != nil {
			return nil, nil, fmt.Errorf("webbotauth: Directory.Keys: key %d: %w", i+1, err)
		}
		if slices.ContainsFunc(d.Keys[:i], func(other ed25519.PrivateKey) bool { return key.Equal(other) }) {
			return nil, nil, fmt.Errorf("webbotauth: Directory.Keys: key %d: it is there twice", i+1)
		}
	}
	validity := d.Validity
	switch {
	case validity == 0:
		validity = 24 * time.Hour
	case validity < 2*time.Second:
		return nil, nil, fmt.Errorf("webbotauth: Directory.Validity %v: write two seconds or more, or 0 for 24 hours", validity)
	}
	header, body := signedDirectory(host, d.Keys, now, now.Add(validity))
	header.Set("Content-Type", directoryType)
	header.Set("Cache-Control", "max-age="+strconv.Itoa(int(min(validity/2, time.Hour)/time.Second)))
	return header, body, nil
}

// maxKeys is how many keys a directory may have. Verifiers set a limit too
// (draft section 6.7).
const maxKeys = 10

// authority returns the field Authority in the form of the component
// @authority.
func (d *Directory) authority() (string, error) {
	if d.Authority == "" || strings.ContainsAny(d.Authority, "/@?# ") {
		return "", fmt.Errorf("webbotauth: Directory.Authority %q: write the host alone, as in bot.example", d.Authority)
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
		public := publicOf(key)
		set.Keys = append(set.Keys, jwk{"OKP", "Ed25519", KeyID(public), base64.RawURLEncoding.EncodeToString(public), "sig"})
	}
	body, err := json.Marshal(set)
	if err != nil {
		panic(err) // a struct of strings can always be encoded
	}
	digest := contentDigest(body)
	var inputs, signatures []string
	for i, key := range keys {
		label := "binding"
		if i > 0 {
			label += strconv.Itoa(i + 1)
		}
		input, signature := sign(key, label, []component{{`"@authority";req`, host}, {`"content-digest"`, digest}},
			lifetime(created, expires)+`;keyid="`+KeyID(publicOf(key))+`";tag="`+directoryTag+`"`)
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
