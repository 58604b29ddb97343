// Package redisstore keeps robots.txt records in Redis or Valkey, so that a
// fleet of crawlers fetches each robots.txt once:
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
//	store, err := redisstore.New(client, "mybot:")
//	...
//	robots, err := robotsmw.NewClient(robotsmw.Options{UserAgent: agent, Store: store})
//
// The client may use a single server, Sentinel or a cluster. The server must be
// Redis 6.2 or later, or Valkey.
//
// # Keys in Redis
//
// A record is a string with the key PREFIX + "robots:" + key, where key is that
// of robotsmw.Store. While a process fetches a robots.txt, it holds a lock: a
// string with the key PREFIX + "robots-lock:" + key. Records and locks expire.
// The holder of a lock renews it. If the holder dies, the lock expires within
// 5 s, and another process may fetch the file. An ACL user needs these
// permissions only:
//
//	+get +set +del +pexpire +eval +evalsha ~PREFIXrobots*
//
// # If Redis does not respond
//
// The Store returns an error, and the Checker that uses it fetches robots.txt
// from the server, so its decisions are the same. To keep failed calls short,
// configure the client with short timeouts, such as a DialTimeout and a
// ReadTimeout of 100 ms.
package redisstore

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// A Store is a robotsmw.Store and a robotsmw.Locker in Redis. It must be
// created with New, and is safe for concurrent use. It does not close its
// client.
type Store struct {
	client redis.UniversalClient
	prefix string
}

// New returns a Store that uses client. All keys in Redis begin with prefix, so
// several crawlers can share a server. The prefix may be "".
func New(client redis.UniversalClient, prefix string) (*Store, error) {
	if client == nil {
		return nil, errors.New("redisstore: the client is nil: pass a client such as that of redis.NewUniversalClient")
	}
	return &Store{client: client, prefix: prefix}, nil
}

func (s *Store) valueKey(key string) string { return s.prefix + "robots:" + key }
func (s *Store) lockKey(key string) string  { return s.prefix + "robots-lock:" + key }

// reload is called after a failed call. It makes the client of a cluster look
// up the primary, in the background. Otherwise, the client notices a failover
// only after about a minute.
func (s *Store) reload(ctx context.Context) {
	if cluster, ok := s.client.(interface{ ReloadState(ctx context.Context) }); ok {
		cluster.ReloadState(ctx)
	}
}

// Get returns the value of the key. If there is no value, the error wraps
// fs.ErrNotExist. Any other error wraps the error of the client, or is the
// error of ctx.
func (s *Store) Get(ctx context.Context, key string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	value, err := s.client.Get(ctx, s.valueKey(key)).Bytes()
	if errors.Is(err, redis.Nil) {
		return nil, fmt.Errorf("redisstore: no record of %s: %w", key, fs.ErrNotExist)
	}
	if err != nil {
		s.reload(ctx)
		return nil, fmt.Errorf("redisstore: reading the record of %s: %w", key, err)
	}
	return value, nil
}

// Put stores the value, which expires after ttl, or after one millisecond if
// ttl is shorter.
func (s *Store) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.client.Set(ctx, s.valueKey(key), value, max(ttl, time.Millisecond)).Err(); err != nil {
		s.reload(ctx)
		return fmt.Errorf("redisstore: writing the record of %s: %w", key, err)
	}
	return nil
}

// Delete removes the value of the key, if there is one.
func (s *Store) Delete(ctx context.Context, key string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := s.client.Del(ctx, s.valueKey(key)).Err(); err != nil {
		s.reload(ctx)
		return fmt.Errorf("redisstore: deleting the record of %s: %w", key, err)
	}
	return nil
}

// unlockScript deletes a lock unless it has expired and may have another
// holder.
var unlockScript = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('del', KEYS[1])
end
return 0`)

// renewScript extends a lock if it still has the same holder.
var renewScript = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)

const (
	// lockTime is the expiry time of a lock in Redis. The holder renews the
	// lock after a third of it.
	lockTime = 5 * time.Second

	// callTimeout limits the calls that renew or release a lock, because they
	// have no caller's context. A lock that could not be released expires.
	callTimeout = time.Second
)

// TryLock locks the key for ttl. It returns true and a function that releases
// the lock, or false if another caller holds the lock. If this process dies,
// the lock expires within 5 s.
func (s *Store) TryLock(ctx context.Context, key string, ttl time.Duration) (func(), bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	l := &lock{store: s, key: s.lockKey(key), holder: rand.Text(), end: time.Now().Add(ttl)}
	err := s.client.SetArgs(ctx, l.key, l.holder, redis.SetArgs{Mode: "NX", TTL: l.remaining()}).Err()
	if errors.Is(err, redis.Nil) { // another caller holds the lock
		return nil, false, nil
	}
	if err != nil {
		s.reload(ctx)
		return nil, false, fmt.Errorf("redisstore: locking %s: %w", key, err)
	}
	l.renewLater()
	return l.unlock, true, nil
}

// A lock is a lock that this process holds.
type lock struct {
	store  *Store
	key    string
	holder string    // random
	end    time.Time // the lock is not renewed beyond this time

	mu       sync.Mutex
	timer    *time.Timer // for the next renewal
	released bool
}

// remaining returns the expiry time in Redis of a lock that is taken or renewed
// now.
func (l *lock) remaining() time.Duration {
	return max(min(time.Until(l.end), lockTime), time.Millisecond)
}

// renewLater schedules the next renewal, if one is necessary before the end.
func (l *lock) renewLater() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.released && time.Until(l.end) > lockTime/3 {
		l.timer = time.AfterFunc(lockTime/3, l.renew)
	}
}

func (l *lock) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	renewed, err := renewScript.Run(ctx, l.store.client, []string{l.key}, l.holder, l.remaining().Milliseconds()).Int()
	isLost := err == nil && renewed == 0
	if isLost || errors.Is(err, redis.ErrClosed) {
		return
	}
	l.renewLater()
}

// unlock releases the lock.
func (l *lock) unlock() {
	l.mu.Lock()
	l.released = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	unlockScript.Run(ctx, l.store.client, []string{l.key}, l.holder)
}
