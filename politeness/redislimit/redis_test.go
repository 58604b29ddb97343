package redislimit

import (
	"fmt"
	"log/slog"
	"net"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// The suite runs with a real server, in real time. Each has a
// Namespace of its own, so their fleets know nothing of each other.
func TestFleetInRedis(t *testing.T) {
	if testing.Short() {
		t.Skip("takes half a minute")
	}
	t.Parallel()
	addr := startServer(t)
	var fleets atomic.Int32
	runSuite(t, func(t *testing.T) func() suiteMember {
		namespace := fmt.Sprint("test", fleets.Add(1))
		return func() suiteMember {
			client := redis.NewClient(&redis.Options{Addr: addr})
			t.Cleanup(func() { client.Close() })
			f, err := New(client, Options{Namespace: namespace, Lease: 5 * time.Second, Logger: slog.New(slog.DiscardHandler)})
			if err != nil {
				t.Fatal(err)
			}
			return suiteMember{Fleet: f}
		}
	}, nil)
}
