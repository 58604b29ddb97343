package webbotauth

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func newKey(t testing.TB) ed25519.PrivateKey {
	t.Helper()
	_, key, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// encodePEM writes a key as openssl genpkey does.
func encodePEM(t testing.TB, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
}

// encodeJWK writes a key as a JSON Web Key (RFC 7517).
func encodeJWK(key ed25519.PrivateKey) []byte {
	private := base64.RawURLEncoding.EncodeToString(key.Seed())
	public := base64.RawURLEncoding.EncodeToString(publicKey(key))
	return fmt.Appendf(
		nil,
		`{"kty":"OKP","crv":"Ed25519","kid":"mine","d":%q,"x":%q}`,
		private, public,
	)
}

func writeFile(t testing.TB, data []byte, mode os.FileMode) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(file, mode); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestReadKey(t *testing.T) {
	key := newKey(t)
	for name, data := range map[string][]byte{
		"PKCS#8": encodePEM(t, key),
		"JWK":    encodeJWK(key),
		"JWK without x": fmt.Appendf(
			nil,
			"\n {\"kty\":\"OKP\",\"crv\":\"Ed25519\",\"d\":%q}\n",
			base64.RawURLEncoding.EncodeToString(key.Seed()),
		),
		"PKCS#8 after a comment": append([]byte("# my key\n"), encodePEM(t, key)...),
	} {
		for _, mode := range []os.FileMode{0o600, 0o400} {
			got, err := ReadKey(writeFile(t, data, mode))
			if err != nil || !got.Equal(key) {
				t.Errorf("ReadKey of %s with mode %o: got the error %v, want the key", name, mode, err)
			}
		}
	}
}

// TestReadKey_Rejected reads files that contain no usable key. The error must
// contain the reason, and no part of the file's content.
func TestReadKey_Rejected(t *testing.T) {
	key := newKey(t)
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	public, err := x509.MarshalPKIXPublicKey(key.Public())
	if err != nil {
		t.Fatal(err)
	}
	block := func(kind string, data []byte) []byte {
		return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data})
	}
	other := newKey(t)
	tests := []struct {
		name string
		data []byte
		want string
	}{
		{"an empty file", nil, "neither PKCS#8"},
		{"a password", []byte("hunter2 hunter2 hunter2"), "neither PKCS#8"},
		{"a seed without an encoding", key.Seed(), "neither PKCS#8"},
		{"OpenSSH's format", block("OPENSSH PRIVATE KEY", key.Seed()), "neither PKCS#8"},
		{"damaged PKCS#8", block("PRIVATE KEY", key.Seed()), "neither PKCS#8"},
		{"encrypted PKCS#8", block("ENCRYPTED PRIVATE KEY", key.Seed()), "encrypted"},
		{"a public key", block("PUBLIC KEY", public), "public key"},
		{"another curve", encodePEM(t, ec), "not an Ed25519 key"},
		{"damaged JSON", encodeJWK(key)[:60], "neither PKCS#8"},
		{
			name: "a JWK of another type",
			data: []byte(`{"kty":"EC","crv":"P-256","d":"c2VjcmV0"}`),
			want: "not an Ed25519 key",
		},
		{
			name: "a public JWK",
			data: []byte(`{"kty":"OKP","crv":"Ed25519","x":"JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs"}`),
			want: "public key",
		},
		{
			name: "a JWK with a short d",
			data: []byte(`{"kty":"OKP","crv":"Ed25519","d":"c2VjcmV0"}`),
			want: "neither PKCS#8",
		},
		{
			name: "a JWK with an invalid d",
			data: []byte(`{"kty":"OKP","crv":"Ed25519","d":"!secret!"}`),
			want: "neither PKCS#8",
		},
		{
			name: "a JWK of two keys",
			data: bytes.Replace(
				encodeJWK(key),
				[]byte(base64.RawURLEncoding.EncodeToString(publicKey(key))),
				[]byte(base64.RawURLEncoding.EncodeToString(publicKey(other))),
				1,
			),
			want: "public and private parts",
		},
		{"the key of RFC 9421", encodePEM(t, testKey(t)), "test key of RFC 9421"},
		{"the key of RFC 9421, as a JWK", encodeJWK(testKey(t)), "test key of RFC 9421"},
		{
			name: "the key of RFC 8037",
			data: []byte(`{"kty":"OKP","crv":"Ed25519","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}`),
			want: "test key of RFC 8037",
		},
		{"a long file", bytes.Repeat([]byte("x"), maxKeyFile+1), "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			file := writeFile(t, tt.data, 0o600)
			got, err := ReadKey(file)
			if err == nil || got != nil {
				t.Fatalf("ReadKey = %v, %v, want no key and an error", got, err)
			}
			for _, want := range []string{tt.want, file} {
				if !strings.Contains(err.Error(), want) {
					t.Fatalf("ReadKey returns the error %v, want one that contains %q", err, want)
				}
			}
			checkSecret(t, err.Error(), key, tt.data)
		})
	}
}

// checkSecret checks that a text contains no part of the key, and no line of
// the file.
func checkSecret(t *testing.T, text string, key ed25519.PrivateKey, file []byte) {
	t.Helper()
	secrets := []string{
		string(key.Seed()),
		fmt.Sprintf("%x", key.Seed()),
		fmt.Sprintf("%d", key[:8])[1:20],
		fmt.Sprint(key),
		base64.RawURLEncoding.EncodeToString(key.Seed()),
		base64.StdEncoding.EncodeToString(key),
		"c2VjcmV0",
		"!secret!",
		"hunter2",
	}
	for line := range strings.Lines(string(file)) {
		if line = strings.TrimSpace(line); len(line) > 12 && !strings.HasPrefix(line, "-----") {
			secrets = append(secrets, line)
		}
	}
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("got %q, want a text without %q", text, secret)
		}
	}
}

func TestReadKey_Modes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no such modes")
	}
	for _, mode := range []os.FileMode{0o644, 0o640, 0o604, 0o620, 0o700, 0o666, 0o610} {
		_, err := ReadKey(writeFile(t, encodePEM(t, newKey(t)), mode))
		if err == nil || !strings.Contains(err.Error(), "chmod 600") {
			t.Errorf(`ReadKey of mode %o: got the error %v, want one that contains "chmod 600"`, mode, err)
		}
	}
}

func TestReadKey_NoFile(t *testing.T) {
	_, err := ReadKey(t.TempDir())
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf(`ReadKey of a directory: got the error %v, want "not a regular file"`, err)
	}
	_, err = ReadKey(filepath.Join(t.TempDir(), "none"))
	if !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf(`ReadKey of no file: got the error %v, want "no such file"`, err)
	}
}

// TestPrivateKeyIsNotLogged prints and logs a Transport and a Directory.
func TestPrivateKeyIsNotLogged(t *testing.T) {
	key := newKey(t)
	transport := &Transport{Key: key, Agent: testAgent}
	directory := &Directory{Authority: "bot.example", Keys: []ed25519.PrivateKey{key}}
	for _, v := range []any{transport, directory, *directory, struct{ Base any }{transport}} {
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("text", "v", v)
		slog.New(slog.NewJSONHandler(&log, nil)).Info("json", "v", v)
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&log, verb+"\n", v)
		}
		if err := json.NewEncoder(&log).Encode(v); err != nil {
			t.Error(err)
		}
		checkSecret(t, log.String(), key, nil)
	}
	if got := fmt.Sprintf("%+v", transport); got != privateText {
		t.Errorf("a Transport is printed as %q, want %q", got, privateText)
	}
}

// FuzzParseKey checks that parseKey does not panic, and that its errors do not
// contain the text that was parsed.
func FuzzParseKey(f *testing.F) {
	f.Add(encodePEM(f, newKey(f)))
	f.Add(encodeJWK(newKey(f)))
	f.Add([]byte(`{"kty":"OKP","crv":"Ed25519","d":"!"}`))
	f.Add([]byte("-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----"))
	f.Fuzz(func(t *testing.T, data []byte) {
		text := string(data)
		key, err := parseKey(data)
		if err == nil {
			if len(key) != ed25519.PrivateKeySize {
				t.Fatalf("parseKey returns a key of %d bytes, want %d", len(key), ed25519.PrivateKeySize)
			}
			return
		}
		if len(text) > 30 && strings.Contains(err.Error(), text) {
			t.Errorf("parseKey returns the error %q, want one without the text %q", err, text)
		}
	})
}
