package integration_test

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/integration_test/redisserver"
	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/limittest"
	"github.com/goodbots/courtesy/politeness/redislimit"
)

// openPace is a member of a fleet on the server.
func openPace(t testing.TB, server *redisserver.Server, opts redislimit.Options) *redislimit.Backend {
	t.Helper()
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	b, err := redislimit.New(redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}, ContextTimeoutEnabled: true}, max(opts.Timeout, impatient)), opts)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// oldFleet makes the fleet in the namespace one that has been there for long: in a new one, the first request to
// every host waits for an interval.
func oldFleet(t testing.TB, server *redisserver.Server, namespace string) {
	t.Helper()
	admin := redisClient(t, &redis.UniversalOptions{Addrs: []string{server.Addr}}, patient)
	info := admin.Info(t.Context(), "server").Val()
	_, run, _ := strings.Cut(info, "run_id:")
	run, _, _ = strings.Cut(run, "\r\n")
	prefix := "{" + namespace + "}"
	if err := admin.HSet(t.Context(), prefix+"fleet", "run", run, "evicted", 0).Err(); err != nil {
		t.Fatal(err)
	}
	if err := admin.Set(t.Context(), prefix+"epoch", 1, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

func TestRedisLimit(t *testing.T) {
	server := redisserver.Start(t)
	n := 0
	limittest.Run(t, func(t *testing.T) func() politeness.Backend {
		n++
		opts := redislimit.Options{Namespace: fmt.Sprintf("test%d", n), Timeout: patient}
		oldFleet(t, server, opts.Namespace)
		return func() politeness.Backend { return openPace(t, server, opts) }
	})
}
