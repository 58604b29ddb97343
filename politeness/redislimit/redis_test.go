package redislimit

import (
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"
)

// startServer starts a Redis for the test, and returns its address. (Package
// redisserver of integration_test does more, but may not be imported here.)
func startServer(t *testing.T) string {
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if binary, err = exec.LookPath("valkey-server"); err != nil {
			t.Skip("SKIPPED: neither redis-server nor valkey-server is installed")
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().(*net.TCPAddr)
	l.Close()
	cmd := exec.Command(binary, "--bind", "127.0.0.1", "--port", fmt.Sprint(addr.Port), "--save", "", "--dir", t.TempDir())
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", addr.String())
		if err == nil {
			conn.Close()
			return addr.String()
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
}
