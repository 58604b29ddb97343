package webbotauth

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// KeyID returns the ID of a key: its JWK SHA-256 thumbprint in base64url (RFC
// 7638 §3, RFC 8037 appendix A.3). Every signature contains the ID of its key
// (keyid), and so does the directory (kid).
func KeyID(public ed25519.PublicKey) string {
	h := sha256.Sum256([]byte(`{"crv":"Ed25519","kty":"OKP","x":"` + base64.RawURLEncoding.EncodeToString(public) + `"}`))
	return base64.RawURLEncoding.EncodeToString(h[:])
}

// ReadKey reads an Ed25519 private key from a file. The file must contain a JWK
// (RFC 8037), or a PKCS#8 key in PEM as written by this command:
//
//	openssl genpkey -algorithm ed25519 -out key.pem
//
// ReadKey returns an error if the permissions of the file exceed 0600, except
// on Windows, or if the key is an example key of RFC 9421 or RFC 8037. No error
// contains any part of the file's content.
func ReadKey(file string) (ed25519.PrivateKey, error) {
	data, err := readPrivate(file)
	if err != nil {
		return nil, fmt.Errorf("webbotauth: cannot read the key: %w", err)
	}
	key, err := parseKey(data)
	clear(data)
	if err != nil {
		return nil, fmt.Errorf("webbotauth: cannot use the key in %s: %w", file, err)
	}
	if err := checkKey(key); err != nil {
		return nil, fmt.Errorf("webbotauth: cannot use the key in %s: %w", file, err)
	}
	return key, nil
}

// maxKeyFile is the largest size of a key file, in bytes.
const maxKeyFile = 16 << 10

// readPrivate reads a regular file that is not too large for a key. Except on
// Windows, it returns an error if the permissions of the file exceed 0600.
func readPrivate(file string) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	switch mode := info.Mode(); {
	case !mode.IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", file)
	case mode.Perm()&^0o600 != 0 && runtime.GOOS != "windows":
		return nil, fmt.Errorf("%s has the mode %#o, which exceeds 0600, the most that is allowed for a key: run chmod 600",
			file, mode.Perm())
	case info.Size() > maxKeyFile:
		return nil, fmt.Errorf("%s is too large for a key", file)
	}
	return io.ReadAll(io.LimitReader(f, maxKeyFile))
}

// The errors of parseKey do not contain any part of the key.
var (
	errNoKey      = errors.New("the key is neither PKCS#8 in PEM (BEGIN PRIVATE KEY) nor a JWK: create a key with openssl genpkey -algorithm ed25519")
	errNotEd25519 = errors.New("the key is not an Ed25519 key: create a key with openssl genpkey -algorithm ed25519")
	errPublic     = errors.New("the key is a public key: the private key is required")
	errMismatch   = errors.New("the public and private parts of the key do not match")
)

func parseKey(data []byte) (ed25519.PrivateKey, error) {
	if data = bytes.TrimSpace(data); len(data) > 0 && data[0] == '{' {
		return parseJWK(data)
	}
	block, _ := pem.Decode(data)
	switch {
	case block == nil:
		return nil, errNoKey
	case block.Type == "PUBLIC KEY":
		return nil, errPublic
	case block.Type == "ENCRYPTED PRIVATE KEY":
		return nil, errors.New("the key is encrypted: remove the password with openssl pkey")
	case block.Type != "PRIVATE KEY":
		return nil, errNoKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	clear(block.Bytes)
	if err != nil {
		return nil, errNoKey
	}
	key, ok := parsed.(ed25519.PrivateKey)
	if !ok {
		return nil, errNotEd25519
	}
	return key, nil
}

// parseJWK parses a private key in JSON (RFC 8037 §2).
func parseJWK(data []byte) (ed25519.PrivateKey, error) {
	var jwk struct{ Kty, Crv, D, X string }
	if json.Unmarshal(data, &jwk) != nil {
		return nil, errNoKey
	}
	if jwk.Kty != "OKP" || jwk.Crv != "Ed25519" {
		return nil, errNotEd25519
	}
	if jwk.D == "" {
		return nil, errPublic
	}
	seed, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(jwk.D, "="))
	if err != nil || len(seed) != ed25519.SeedSize {
		return nil, errNoKey
	}
	key := ed25519.NewKeyFromSeed(seed)
	clear(seed)
	if jwk.X != "" && strings.TrimRight(jwk.X, "=") != base64.RawURLEncoding.EncodeToString(publicKey(key)) {
		return nil, errMismatch
	}
	return key, nil
}

// publicKey returns the public key of a private key, which must have the
// correct length.
func publicKey(key ed25519.PrivateKey) ed25519.PublicKey {
	return ed25519.PublicKey(key[ed25519.SeedSize:])
}

// checkKey returns an error if a key is not a valid Ed25519 key or is a test
// key.
func checkKey(key ed25519.PrivateKey) error {
	if len(key) == 0 {
		return errors.New("the key is empty: read a key with ReadKey")
	}
	if len(key) != ed25519.PrivateKeySize {
		return errors.New("the key does not have the size of an Ed25519 private key: read it with ReadKey")
	}
	if !key.Equal(ed25519.NewKeyFromSeed(key.Seed())) {
		return errMismatch
	}
	if from, ok := testKeys[KeyID(publicKey(key))]; ok {
		return fmt.Errorf("the key is the test key of %s, which is public: create a key with openssl genpkey -algorithm ed25519",
			from)
	}
	return nil
}

// testKeys maps the IDs of example keys to the sections of the standards that
// contain their private parts. These keys must not be used (draft section 6.8).
var testKeys = map[string]string{
	"poqkLGiymh_W0uP6PZFw-dvez3QJT5SolqXBCW38r0U": "RFC 9421 appendix B.1.4",
	"kPrK_qmxVWaYVA9wwBF6Iuo3vVzz7TxHCTwXBygrS4k": "RFC 8037 appendix A.1",
}

// private is embedded in structs that contain keys, so that logs and errors
// contain no key. Such a struct is formatted, and encoded as JSON, as
// privateText.
type private struct{}

const privateText = "(private)"

// Format writes privateText for every verb.
func (private) Format(f fmt.State, _ rune) { io.WriteString(f, privateText) }

// MarshalText returns privateText.
func (private) MarshalText() ([]byte, error) { return []byte(privateText), nil }
