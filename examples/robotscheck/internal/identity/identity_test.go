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

// keyFile makes a key, and writes a file in the format of openssl genpkey.
func keyFile(t *testing.T) (string, ed25519.PublicKey) {
	t.Helper()
	public, private, err := ed25519.GenerateKey(nil)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return file, public
}

func identity(t *testing.T, base http.RoundTripper, args ...string) (status command.Status, stdout, stderr string) {
	t.Helper()
	var out, errOut strings.Builder
	e := command.Env{Stdin: strings.NewReader(""), Stdout: bufio.NewWriter(&out), Stderr: &errOut, Base: base}
	status = Command.Run(t.Context(), e, args)
	e.Stdout.Flush()
	return status, out.String(), errOut.String()
}

// A key directory that was made in advance passes the check if its server sends
// the header fields of the .headers file. It no longer passes when its
// signatures have expired, or would expire while a cache keeps the directory.
func TestIdentity_MadeAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dir := filepath.Join(t.TempDir(), "new", "keys")
		oldKey, oldPublic := keyFile(t)
		newKey, newPublic := keyFile(t)
		status, stdout, stderr := identity(t, nil, "-out", dir, "-key", newKey, "-key", oldKey, "-validity", "100h", "Bot.example")
		if status != command.OK || stderr != "" {
			t.Fatalf("%d %s %s", status, stdout, stderr)
		}
		name := filepath.Join(dir, "http-message-signatures-directory")
		for _, want := range []string{
			"https://Bot.example/.well-known/http-message-signatures-directory\n", webbotauth.KeyID(oldPublic), webbotauth.KeyID(newPublic),
			"signed until 2000-01-05T04:00:00Z", "wrote " + name + "\n", "renew it by 2000-01-03T02:00:00Z",
		} {
			if !strings.Contains(stdout, want) {
				t.Errorf("it prints no %q:\n%s", want, stdout)
			}
		}

		var web robotstest.Internet
		web.Handle("https://bot.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
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
		}))
		for _, tt := range []struct {
			after  time.Duration
			status command.Status
			want   string
		}{
			{0, command.OK, "no problems"},
			{98 * time.Hour, command.OK, "no problems"},
			{90 * time.Minute, command.No, "problem: it may be cached for 1h0m0s, but the signature of key 1 expires in 30m0s"},
			{time.Hour, command.No, "problem: signature binding: it expired at 2000-01-05T04:00:00Z"},
		} {
			time.Sleep(tt.after)
			status, stdout, stderr := identity(t, &web, "-user-agent", "ExampleBot/1.0", "https://bot.example")
			if status != tt.status || stderr != "" || !strings.Contains(stdout, tt.want) {
				t.Errorf("at %v: %d %s %s", time.Now(), status, stdout, stderr)
			}
		}
		if got := web.Log()[0].Header.Get("User-Agent"); got != "ExampleBot/1.0" {
			t.Errorf("asked as %q", got)
		}
	})
}

func TestIdentity_JSON(t *testing.T) {
	file, public := keyFile(t)
	_, stdout, stderr := identity(t, nil, "-json", "-out", t.TempDir(), "-key", file, "https://bot.example:8443/")
	var r report
	if err := json.Unmarshal([]byte(stdout), &r); err != nil {
		t.Fatal(err, stderr)
	}
	if r.URL != "https://bot.example:8443"+webbotauth.DirectoryPath || len(r.Keys) != 1 || r.Keys[0].ID != webbotauth.KeyID(public) || len(r.Files) != 3 || r.Renew.IsZero() {
		t.Errorf("%+v", r)
	}
}

// The report shows which keys have signed the directory and which have not.
func TestReport_NotSigned(t *testing.T) {
	var out strings.Builder
	(&report{URL: "https://bot.example/keys", Keys: []key{{ID: "a"}, {ID: "b", SignedUntil: time.Date(2026, time.November, 20, 10, 0, 0, 0, time.UTC)}}}).Print(&out)
	const want = "https://bot.example/keys\n  key a, not signed\n  key b, signed until 2026-11-20T10:00:00Z\n  no problems\n"
	if out.String() != want {
		t.Errorf("it prints\n%swant\n%s", out.String(), want)
	}
}

// The file for nginx has each header field, in quotes that nginx understands.
func TestIdentity_Nginx(t *testing.T) {
	got, err := nginxConfig("/srv/it's", http.Header{"Content-Type": {"a/b"}, "Signature-Input": {`binding=("@authority";req);tag="x"`}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `location = /.well-known/http-message-signatures-directory {
	alias '/srv/it\'s';
	types {}
	default_type a/b;
	gzip off; # Content-Digest is of the file as it is
	max_ranges 0;
	etag off;
	if_modified_since off;
	add_header Signature-Input 'binding=("@authority";req);tag="x"';
}
`
	if got != want { // default_type sets Content-Type, so there is no add_header for it
		t.Errorf("it is\n%s\nwant\n%s", got, want)
	}
}

func TestIdentity_Refuses(t *testing.T) {
	file, _ := keyFile(t)
	open := filepath.Join(t.TempDir(), "open.pem")
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(open, data, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(open, 0o644); err != nil {
		t.Fatal(err)
	}
	plain := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	variable := filepath.Join(t.TempDir(), "a$uri")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"a key that others can read", []string{"-out", t.TempDir(), "-key", open, "https://bot.example"}, "chmod 600"},
		{"no key", []string{"-out", t.TempDir(), "-key", plain, "https://bot.example"}, "neither PKCS#8"},
		{"no time", []string{"-out", t.TempDir(), "-key", file, "-validity", "1ms", "https://bot.example"}, "Validity"},
		{"a variable of nginx", []string{"-out", variable, "-key", file, "https://bot.example"},
			"-out " + variable + ": nginx would expand a variable after the \"$\"; use a directory without \"$\""},
		{"a file in the way", []string{"-out", filepath.Join(plain, "x"), "-key", file, "https://bot.example"}, plain},
	} {
		status, stdout, stderr := identity(t, nil, tt.args...)
		if status != command.CannotTell || stdout != "" || !strings.Contains(stderr, tt.want) {
			t.Errorf("%s: %d %q %q", tt.name, status, stdout, stderr)
		}
		if strings.Contains(stderr, strings.Split(string(data), "\n")[1]) {
			t.Errorf("%s: it tells the key", tt.name)
		}
	}
	if _, err := os.Stat(variable); err == nil {
		t.Errorf("%s was made", variable)
	}
}
