package robotsmw

import (
	"context"
	"time"
)

// A Store keeps robots.txt records beyond the life of a process, or shares them
// in a fleet. A site may serve another robots.txt to another robot. So robots
// with different product tokens or User-Agents may share a Store, but never a
// record: a key is an origin with a hash of the robot's tokens and User-Agent
// ("https://example.com#6c0d…"). It has at most a few hundred bytes of
// printable text. Values are opaque, at most 600 KiB.
//
// An implementation
//   - is safe for concurrent use and, if it is shared, for use by several
//     processes at once;
//   - returns from Get the whole value of the latest Put of that key, or a
//     miss: an error for which errors.Is(err, fs.ErrNotExist) is true;
//   - may remove a value at any time, and removes it after its ttl;
//   - keeps no reference to a value that it was given or has returned;
//   - obeys the context, and returns the context's error when the context ends;
//   - returns no error from Delete if the key is not there. A Checker never
//     deletes: an expired record is replaced, or is removed after its ttl.
//
// Package storetest checks whether a Store meets these conditions. The Checker
// gives each call of a Store two seconds. If a call fails, the Checker
// continues without the result of this call. A Store that does not answer in
// time is used again after ten seconds. At most 1,000 calls that never return
// are left behind, by all Checkers together.
type Store interface {
	Get(ctx context.Context, key string) ([]byte, error)
	Put(ctx context.Context, key string, value []byte, ttl time.Duration) error
	Delete(ctx context.Context, key string) error
}

// A Locker is an optional interface that a shared Store may implement. With a
// Locker, a fleet fetches each robots.txt once. While the Checker fetches, it
// holds the lock of the key, except while the fetch waits for a host that is
// not due.
//
// TryLock does not wait. ok is false while another caller holds the key's lock.
// The lock is released when unlock() is called, and expires after ttl. unlock()
// is called once, by any goroutine. If the lock has expired and another caller
// has acquired it, unlock() must not release the other caller's lock.
type Locker interface {
	TryLock(ctx context.Context, key string, ttl time.Duration) (unlock func(), ok bool, err error)
}
