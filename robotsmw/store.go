package robotsmw

import (
	"context"
	"time"
)

// A Store keeps robots.txt records beyond the life of a process, or shares them
// in a fleet. Robots with different product tokens or User-Agents may share a
// Store but never a record, because a site may serve a different robots.txt to
// each of them. A key consists of an origin and a hash of the robot's tokens
// and User-Agent ("https://example.com#6c0d…"), and has at most a few hundred
// bytes of printable text. Values are opaque and have at most 600 KiB.
//
// An implementation
//   - is safe for concurrent use and, if it is shared, for use by several
//     processes at once;
//   - returns from Get the whole value of the latest Put of that key, or a
//     miss: an error for which errors.Is(err, fs.ErrNotExist) is true;
//   - may remove a value at any time, and removes it after its ttl;
//   - keeps no reference to a value that it was given or has returned;
//   - obeys the context, and returns the context's error when the context ends;
//   - returns no error from Delete if the key does not exist. A Checker never
//     calls Delete: an expired record is replaced, or is removed after its ttl.
//
// Package storetest checks whether a Store meets these conditions. The Checker
// gives each call of a Store two seconds. If a call fails, the Checker
// continues without the result of this call. After a call that takes longer,
// the Store is not called for ten seconds. The Checkers of a process leave at
// most 1,000 calls running that do not return.
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
