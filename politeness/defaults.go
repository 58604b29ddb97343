package politeness

import "time"

// These are the values that fields of a [Limiter], and the AttemptTimeout of a
// [Transport], have if they are 0.
const (
	DefaultDelay          = time.Second
	DefaultMaxCrawlDelay  = time.Minute
	DefaultMaxRetryAfter  = 24 * time.Hour
	DefaultBackOff        = 5 * time.Second
	DefaultMaxBackOff     = time.Hour
	DefaultLease          = 10 * time.Minute
	DefaultMaxHosts       = 1_000_000
	DefaultAttemptTimeout = 30 * time.Second
)

// orDefault returns v if v is positive, the argument zero if v is 0, and the
// argument negative if v is negative.
func orDefault[T int | time.Duration](v, zero, negative T) T {
	if v == 0 {
		return zero
	}
	if v < 0 {
		return negative
	}
	return v
}
