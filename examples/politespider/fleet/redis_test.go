package main

import (
	"bytes"
	"log/slog"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
	"github.com/goodbots/courtesy/examples/politespider/internal/tool/keep"
	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
)

// If Redis does not respond at the end, the process cannot give its hosts back
// to the fleet. It logs a warning.
func TestDisconnect_RedisUnreachable(t *testing.T) {
	t.Parallel()
	server := redisserver.Start(t)
	log := new(syncBuffer)
	c := &redisCrawl{url: "redis://" + server.Addr, crawl: "crawl", lease: time.Minute}
	kept, err := c.Open(t.Context(), keep.Options{
		Limits: frontier.Limits{Pages: 1},
		Logger: slog.New(slog.NewTextHandler(log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	u := &url.URL{Scheme: "http", Host: "a.example", Path: "/"}
	grant, err := (&politeness.Limiter{Fleet: kept.Fleet}).Acquire(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	grant.Done(politeness.Outcome{})
	if err := kept.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	server.Kill()
	kept.Disconnect()
	const want = `msg="politespider: the hosts of this process could not be released" ` +
		`error="redislimit: Close: Redis has not confirmed the end of the session`
	if got := log.String(); !strings.Contains(got, want) {
		t.Errorf("log is\n%s\nwant it to contain %s", got, want)
	}
}

// A syncBuffer is a bytes.Buffer that is safe for concurrent use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
