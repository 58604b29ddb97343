package identity

import (
	"bufio"
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
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
	"github.com/goodbots/courtesy/robotsmw/webbotauth"
)

// newKeyFile generates a key, and writes a file in the format of openssl
// genpkey.
func newKeyFile(t *testing.T) (name string, public ed25519.PublicKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	text := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})
	name = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(name, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return name, public
}

// A result is the exit status and the output of a command.
type result struct {
	status         command.Status
	stdout, stderr string
}

// runIdentity runs the command. base sends its requests.
func runIdentity(t *testing.T, base http.RoundTripper, args ...string) result {
	t.Helper()
	var stdout, stderr strings.Builder
	e := command.Env{
		Stdin:  strings.NewReader(""),
		Stdout: bufio.NewWriter(&stdout),
		Stderr: &stderr,
		Base:   base,
	}
	status := Command.Run(t.Context(), e, args)
	e.Stdout.Flush()
	return result{status, stdout.String(), stderr.String()}
}

func (r result) checkStatus(t *testing.T, want command.Status) {
	t.Helper()
	if r.status != want {
		t.Errorf("exit status %d, want %d\nstandard output:\n%s\nstandard error:\n%s",
			r.status, want, r.stdout, r.stderr)
	}
}

func checkContains(t *testing.T, name, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%s lacks %q:\n%s", name, part, text)
		}
	}
}

const directoryName = "http-message-signatures-directory"

// A key directory that was created in advance passes the check if its server
// sends the header fields of the .headers file. It fails the check when its
// signatures have expired, or would expire in a cache.
func TestIdentity_Validity(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new", "keys")
		oldKey, oldPublic := newKeyFile(t)
		newKey, newPublic := newKeyFile(t)
		args := []string{"-out", dir, "-key", newKey, "-key", oldKey, "-validity", "100h", "Bot.example"}
		r := runIdentity(t, nil, args...)
		r.checkStatus(t, command.OK)
		name := filepath.Join(dir, directoryName)
		checkContains(t, "standard output", r.stdout,
			"https://Bot.example/.well-known/http-message-signatures-directory\n",
			webbotauth.KeyID(oldPublic),
			webbotauth.KeyID(newPublic),
			"signed until 2000-01-05T04:00:00Z",
			"wrote "+name+"\n",
			"renew it by 2000-01-03T02:00:00Z")

		var web robotstest.Internet
		web.Handle("https://bot.example", serveDirectory(t, name))
		for _, tt := range []struct {
			after  time.Duration
			status command.Status
			want   string
		}{
			{0, command.OK, "no problems"},
			{98 * time.Hour, command.OK, "no problems"},
			{
				90 * time.Minute, command.No,
				"problem: the response may be cached for 1h0m0s, but the signature of key 1 expires in 30m0s",
			},
			{time.Hour, command.No, "problem: signature binding: the signature expired at 2000-01-05T04:00:00Z"},
		} {
			time.Sleep(tt.after)
			r := runIdentity(t, &web, "-user-agent", "ExampleBot/1.0", "https://bot.example")
			r.checkStatus(t, tt.status)
			checkContains(t, "standard output", r.stdout, tt.want)
		}
		if got := web.Log()[0].Header.Get("User-Agent"); got != "ExampleBot/1.0" {
			t.Errorf("User-Agent is %q, want ExampleBot/1.0", got)
		}
	})
}

// serveDirectory serves the named file with the header fields of the .headers
// file.
func serveDirectory(t *testing.T, name string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lines, err := os.ReadFile(name + ".headers")
		if err != nil {
			t.Error(err)
		}
		for line := range strings.Lines(string(lines)) {
			field, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			w.Header().Set(field, value)
		}
		body, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
		}
		w.Write(body)
	})
}

func TestIdentity_JSON(t *testing.T) {
	file, public := newKeyFile(t)
	result := runIdentity(t, nil, "-json", "-out", t.TempDir(), "-key", file, "https://bot.example:8443/")
	var r report
	if err := json.Unmarshal([]byte(result.stdout), &r); err != nil {
		t.Fatalf("the output is not JSON: %v; standard error:\n%s", err, result.stderr)
	}
	if want := "https://bot.example:8443" + webbotauth.DirectoryPath; r.URL != want {
		t.Errorf("url is %q, want %q", r.URL, want)
	}
	if len(r.Keys) != 1 || r.Keys[0].ID != webbotauth.KeyID(public) {
		t.Errorf("keys are %+v, want only %s", r.Keys, webbotauth.KeyID(public))
	}
	if len(r.Files) != 3 {
		t.Errorf("files are %q, want 3", r.Files)
	}
	if r.Renew.IsZero() {
		t.Error("renew is missing, want a time")
	}
}

// The report contains which keys have signed the directory.
func TestReport_NotSigned(t *testing.T) {
	signedUntil := time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)
	r := &report{
		URL:  "https://bot.example/keys",
		Keys: []key{{ID: "a"}, {ID: "b", SignedUntil: signedUntil}},
	}
	var out strings.Builder
	r.Print(&out)
	const want = "https://bot.example/keys\n" +
		"  key a, not signed\n" +
		"  key b, signed until 2026-11-20T10:00:00Z\n" +
		"  no problems\n"
	if out.String() != want {
		t.Errorf("Print printed\n%swant\n%s", out.String(), want)
	}
}

// The file for nginx contains each header field, in quotes of nginx.
// default_type sets Content-Type, so there is no add_header for it.
func TestNginxConfig(t *testing.T) {
	got, err := nginxConfig("/srv/it's", http.Header{
		"Content-Type":    {"a/b"},
		"Signature-Input": {`binding=("@authority";req);tag="x"`},
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = `location = /.well-known/http-message-signatures-directory {
	alias '/srv/it\'s';
	types {}
	default_type a/b;
	gzip off; # Content-Digest applies to the uncompressed file
	max_ranges 0;
	etag off;
	if_modified_since off;
	add_header Signature-Input 'binding=("@authority";req);tag="x"';
}
`
	if got != want {
		t.Errorf("nginxConfig returned\n%s\nwant\n%s", got, want)
	}
}

// If the command fails, standard output is empty, and the message does not
// contain the private key.
func TestIdentity_Errors(t *testing.T) {
	file, _ := newKeyFile(t)
	private, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	readable := filepath.Join(t.TempDir(), "readable.pem")
	if err := os.WriteFile(readable, private, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(readable, 0o644); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	variable := filepath.Join(dir, "a$uri")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a key that others can read", []string{"-out", dir, "-key", readable}, "chmod 600"},
		{"an empty key file", []string{"-out", dir, "-key", empty}, "neither PKCS#8"},
		{"a short validity", []string{"-out", dir, "-key", file, "-validity", "1ms"}, "Validity"},
		{
			"a directory with a variable of nginx", []string{"-out", variable, "-key", file},
			"-out " + variable + ": nginx would expand a variable after the \"$\"; " +
				"use a directory without \"$\"",
		},
		{
			"a file instead of a directory",
			[]string{"-out", filepath.Join(empty, "x"), "-key", file}, empty,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := runIdentity(t, nil, append(tt.args, "https://bot.example")...)
			r.checkStatus(t, command.CannotTell)
			checkContains(t, "standard error", r.stderr, tt.want)
			if r.stdout != "" {
				t.Errorf("standard output is %q, want nothing", r.stdout)
			}
			if strings.Contains(r.stderr, strings.Split(string(private), "\n")[1]) {
				t.Error("standard error contains the private key")
			}
		})
	}
	if _, err := os.Stat(variable); err == nil {
		t.Errorf("directory %s exists, want an error before it is created", variable)
	}
}
