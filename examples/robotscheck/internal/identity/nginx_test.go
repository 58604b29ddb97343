package identity

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// robotscheck identity writes a file that nginx can include. The answers of a
// real nginx with this file pass the check.
func TestIdentity_RealNginx(t *testing.T) {
	binary, err := exec.LookPath("nginx")
	if err != nil {
		if binary, err = exec.LookPath("/usr/sbin/nginx"); err != nil {
			t.Skip("SKIPPED: no nginx: install Debian's package nginx, or run .ci/run")
		}
	}
	dir, err := os.MkdirTemp("", "it's nginx") // a name that has to be quoted
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // nginx may run as another user
		t.Fatal(err)
	}
	file, _ := keyFile(t)
	if status, _, stderr := identity(t, nil, "-out", filepath.Join(dir, "keys"), "-key", file, "bot.example"); status != command.OK {
		t.Fatal(stderr)
	}
	sockets := t.TempDir()
	socket := filepath.Join(sockets, "s")
	config := filepath.Join(sockets, "nginx.conf")
	if err := os.WriteFile(config, fmt.Appendf(nil, "daemon off; master_process off; pid %[1]s/pid; error_log stderr; events {}\n"+
		"http { access_log off; gzip on; gzip_types *; gzip_min_length 1;\nserver { server_name bot.example; listen unix:%[2]s;\ninclude %[3]s;\n} }\n",
		sockets, socket, quote(filepath.Join(dir, "keys", "http-message-signatures-directory.nginx"))), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	nginx := exec.CommandContext(t.Context(), binary, "-p", sockets, "-c", config, "-e", "stderr")
	nginx.Stderr = &output
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		nginx.Process.Signal(os.Interrupt)
		nginx.Wait()
	}()
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	base := withoutTLS{transport}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		status, stdout, stderr := identity(t, base, "https://bot.example")
		if status == command.OK {
			return
		}
		if !strings.Contains(stderr, "no response") || time.Now().After(deadline) {
			t.Fatalf("%s\n%s", stdout, output.String())
		}
	}
}

type withoutTLS struct{ base http.RoundTripper }

func (w withoutTLS) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme = "http"
	return w.base.RoundTrip(req)
}
