// Package redisserver starts real Redis servers for tests. Each has a free
// loopback port and a temporary directory, and stops when its test ends.
package redisserver

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// A Server is a Redis server for one test.
type Server struct {
	Addr string // host:port

	t    testing.TB
	args []string
	env  []string
	cmd  *exec.Cmd
	log  bytes.Buffer
}

// Start starts a server that keeps nothing on disk, and stops it when the test
// ends. Start passes options such as "--maxmemory", "10mb" on to the server. If
// neither redis-server nor valkey-server is installed, Start skips the test.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	return StartWith(t, nil, options...)
}

// StartWith is like Start, and adds env to the server's environment:
// "LD_PRELOAD=…", for example.
func StartWith(t testing.TB, env []string, options ...string) *Server {
	t.Helper()
	binary, err := exec.LookPath("redis-server")
	if err != nil {
		if binary, err = exec.LookPath("valkey-server"); err != nil {
			t.Skip("SKIPPED: neither redis-server nor valkey-server is installed: install Debian's redis-server to run this test")
		}
	}
	s := &Server{Addr: FreeAddr(t), t: t, env: env}
	_, port, _ := net.SplitHostPort(s.Addr)
	s.args = append([]string{binary,
		"--bind", "127.0.0.1", "--port", port, "--dir", t.TempDir(),
		"--save", "", "--appendonly", "no", "--daemonize", "no",
	}, options...)
	t.Cleanup(s.Kill)
	s.Restart()
	return s
}

// Restart starts the server again after Kill. The server is then empty.
func (s *Server) Restart() {
	s.t.Helper()
	s.log.Reset()
	s.cmd = exec.Command(s.args[0], s.args[1:]...)
	s.cmd.Env = append(os.Environ(), s.env...)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatalf("redisserver: start the server: %v", err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		if s.answers() {
			return
		}
		if time.Now().After(deadline) {
			s.Kill()
			s.t.Fatalf("redisserver: the server at %s does not respond to PING; its log is\n%s", s.Addr, s.log.String())
		}
	}
}

// answers reports whether the server responds to a PING. It uses no Redis
// client.
func (s *Server) answers() bool {
	conn, err := net.DialTimeout("tcp", s.Addr, time.Second)
	if err != nil {
		return false
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprint(conn, "PING\r\n")
	answer := make([]byte, 64)
	n, _ := conn.Read(answer)
	// A server that requires a password responds with -NOAUTH.
	return strings.HasPrefix(string(answer[:n]), "+PONG") || strings.HasPrefix(string(answer[:n]), "-NOAUTH")
}

// Kill ends the server as the command kill -9 would. Its data is lost.
func (s *Server) Kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	s.cmd.Process.Kill()
	s.cmd.Wait()
	s.cmd = nil
}

// Signal sends the server a signal, such as syscall.SIGSTOP.
func (s *Server) Signal(sig os.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatalf("redisserver: send a signal: %v", err)
	}
}

// FreeAddr returns an address with a free port between 10000 and 19999. No
// other test gets this port before t ends, even while the server is down,
// because FreeAddr reserves the UDP port with the same number as a lock. Ports
// that a system assigns by itself are higher.
func FreeAddr(t testing.TB) string {
	t.Helper()
	for range 100 {
		addr := fmt.Sprintf("127.0.0.1:%d", 10_000+rand.N(10_000))
		lock, err := net.ListenPacket("udp", addr)
		if err != nil {
			continue
		}
		l, err := net.Listen("tcp", addr)
		if err != nil {
			lock.Close()
			continue
		}
		l.Close()
		t.Cleanup(func() { lock.Close() })
		return addr
	}
	t.Fatal("redisserver: none of 100 ports is free")
	return ""
}
