package robotsmw

import (
	"context"
	"time"
)

// A Store keeps robots.txt records beyond the life of a process, or shares
// them in a fleet. Keys are origins ("https://example.com"), at most a few
// hundred bytes of printable text; values are opaque and at most 600 KiB.
//
// An implementation
//   - is safe for concurrent use, by several processes where it is shared;
//   - returns from Get what the latest Put of that key gave, whole, or a
//     miss: an error for which errors.Is(err, fs.ErrNotExist) holds;
//   - may forget a value at any time, and forgets it after its ttl;
//   - keeps no reference to a value it was given, and gives one away that
//     it does not keep;
//   - obeys the context, and returns its error when it ends;
//   - deletes what is not there without an error.
//
// The package storetest checks all of this. The checker gives a Store two
// seconds for each call, and goes on without it when it fails.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Delete(ctx context.Context, key string) error
}

// A Locker is what a shared Store may also be: with it, a fleet fetches each
// robots.txt once. The checker holds a key while it asks, and gives it back
// where it has to wait for a host that rests. TryLock does not wait; ok is
// false while another holds the key, which ends with its unlock or after its
// ttl, whichever is first. unlock is called once, by any goroutine, and must
// free nothing that has meanwhile become another's.
type Locker interface {
	TryLock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}
