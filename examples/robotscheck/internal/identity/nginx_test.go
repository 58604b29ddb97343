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

// nginx can include the file that the command writes, and its responses pass
// the check.
func TestIdentity_RealNginx(t *testing.T) {
	binary := findNginx(t)
	dir, err := os.MkdirTemp("", "it's nginx") // a name that requires quotes
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil { // nginx may run as another user
		t.Fatal(err)
	}
	file, _ := newKeyFile(t)
	keys := filepath.Join(dir, "keys")
	runIdentity(t, nil, "-out", keys, "-key", file, "bot.example").checkStatus(t, command.OK)

	socket, output := startNginx(t, binary, filepath.Join(keys, directoryName+".nginx"))
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}
	defer transport.CloseIdleConnections()
	base := withoutTLS{transport}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		r := runIdentity(t, base, "https://bot.example")
		if r.status == command.OK {
			return
		}
		isStarting := strings.Contains(r.stderr, "no response")
		if !isStarting || time.Now().After(deadline) {
			t.Fatalf("exit status %d, want 0; standard output:\n%s\nnginx:\n%s", r.status, r.stdout, output)
		}
	}
}

func findNginx(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"nginx", "/usr/sbin/nginx"} {
		if binary, err := exec.LookPath(name); err == nil {
			return binary
		}
	}
	t.Skip("SKIPPED: no nginx: install Debian's package nginx, or run .ci/run")
	return ""
}

// startNginx starts a server for bot.example with the included file. It returns
// the name of its socket, and its output. nginx ends with the test.
func startNginx(t *testing.T, binary, include string) (socket string, output *bytes.Buffer) {
	t.Helper()
	dir := t.TempDir()
	socket = filepath.Join(dir, "s")
	config := fmt.Sprintf(`daemon off; master_process off; pid %s/pid; error_log stderr; events {}
http {
	access_log off; gzip on; gzip_types *; gzip_min_length 1;
	server {
		server_name bot.example;
		listen unix:%s;
		include %s;
	}
}
`, dir, socket, nginxQuote(include))
	name := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(name, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	output = new(bytes.Buffer)
	nginx := exec.CommandContext(t.Context(), binary, "-p", dir, "-c", name, "-e", "stderr")
	nginx.Stderr = output
	if err := nginx.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		nginx.Process.Signal(os.Interrupt)
		nginx.Wait()
	})
	return socket, output
}

// withoutTLS sends requests for https URLs over plain http.
type withoutTLS struct{ base http.RoundTripper }

func (w withoutTLS) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme = "http"
	return w.base.RoundTrip(req)
}
