package politeness

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

func TestDefaults_OfAZeroLimiter(t *testing.T) {
	l := new(Limiter)
	l.init()
	for _, tt := range []struct {
		field     string
		got, want time.Duration
	}{
		{"Delay", l.effective.host.Delay, DefaultDelay},
		{"MaxCrawlDelay", l.effective.host.MaxCrawlDelay, DefaultMaxCrawlDelay},
		{"MaxRetryAfter", l.effective.maxRetryAfter, DefaultMaxRetryAfter},
		{"BackOff", l.effective.host.BackOff, DefaultBackOff},
		{"MaxBackOff", l.effective.host.MaxBackOff, DefaultMaxBackOff},
		{"Lease", l.effective.lease, DefaultLease},
	} {
		if tt.got != tt.want {
			t.Errorf("%s is %v, want %v", tt.field, tt.got, tt.want)
		}
	}
	if l.effective.maxHosts != DefaultMaxHosts {
		t.Errorf("MaxHosts is %d, want %d", l.effective.maxHosts, DefaultMaxHosts)
	}
}

func TestDefaults_AttemptTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://example.com/", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, err = (&Transport{Base: hanging}).RoundTrip(req)
		if took := time.Since(start); took != DefaultAttemptTimeout || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("RoundTrip of the zero Transport took %v, error %v; want a timeout after %v", took, err, DefaultAttemptTimeout)
		}
	})
}
