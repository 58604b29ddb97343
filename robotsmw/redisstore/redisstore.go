// Package redisstore keeps robots.txt records in Redis or Valkey, so that a
// fleet of crawlers fetches each robots.txt once:
//
//	client := redis.NewUniversalClient(&redis.UniversalOptions{Addrs: []string{"127.0.0.1:6379"}})
//	store, err := redisstore.New(client, "mybot:")
//	...
//	robots, err := robotsmw.NewClient(robotsmw.Options{UserAgent: agent, Store: store})
//
// Any redis.UniversalClient will do, for a single server, Sentinel or a
// cluster. The server must be Redis 6.2 or later, or Valkey.
//
// # What it does in Redis
//
// A record is a string with the key PREFIX + "robots:" + key. The lock of a
// fetch under way is a string with the key PREFIX + "robots-lock:" + key. Both
// expire by themselves. A lock expires after 5 s, unless its holder renews it:
// if a process dies while it fetches, others fetch after 5 s. For the key of a
// record, see robotsmw.Store. An ACL user needs no more than
//
//	+get +set +del +pexpire +eval +evalsha ~PREFIXrobots*
//
// # When Redis is away
//
// If Redis does not answer, the Store returns errors, and the Checker that uses
// it fetches robots.txt itself. So decisions stay right. Give the client short
// timeouts, such as a DialTimeout and a ReadTimeout of 100 ms. Then a failed
// call takes little time.
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

// A Store is a robotsmw.Store and a robotsmw.Locker in Redis. Make one with
// New. A Store is safe for concurrent use. It does not close its client.
type Store struct {
	client redis.UniversalClient
	prefix string
}

// New returns a Store that uses client. All keys in Redis begin with prefix, so
// several crawlers can share a server. The prefix may be "".
func New(client redis.UniversalClient, prefix string) (*Store, error) {
	if client == nil {
		return nil, errors.New("redisstore: the client is nil: give a redis.NewUniversalClient(…)")
	}
	return &Store{client: client, prefix: prefix}, nil
}

func (s *Store) valueKey(key string) string { return s.prefix + "robots:" + key }
func (s *Store) lockKey(key string) string  { return s.prefix + "robots-lock:" + key }

// reload is called after a failed call. It makes the client of a cluster find
// out which node is the primary now. By itself, the client does so only now and
// then. The client does the work in the background.
func (s *Store) reload(ctx context.Context) {
	if cluster, ok := s.client.(interface{ ReloadState(ctx context.Context) }); ok {
		cluster.ReloadState(ctx)
	}
}

// Get returns the value of the key. If there is no value, errors.Is finds
// fs.ErrNotExist in the error. Any other error wraps the error of the client,
// or is the error of ctx.
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

// Put keeps the value for ttl, but at least for a millisecond, because Redis
// knows no shorter time.
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

// unlock deletes a lock only if its holder still has it. Otherwise the lock has
// expired, and another holder may have it now.
var unlock = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('del', KEYS[1])
end
return 0`)

// renew lets a lock last for longer if its holder still has it.
var renew = redis.NewScript(`
if redis.call('get', KEYS[1]) == ARGV[1] then
	return redis.call('pexpire', KEYS[1], ARGV[2])
end
return 0`)

const (
	// lockTime is how long a lock lasts in Redis. Its holder renews it three
	// times as often.
	lockTime = 5 * time.Second

	// callTimeout limits the calls that renew and free a lock, which have no
	// context of a caller. A lock that could not be freed expires by itself.
	callTimeout = time.Second
)

// TryLock takes the lock of the key for ttl. It returns true and a function
// that frees the lock. If another caller holds the lock, TryLock returns false.
// If this process ends, the lock ends within 5 s.
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

// A lock is one that this process holds.
type lock struct {
	store       *Store
	key, holder string
	end         time.Time // when the lock ends, whoever renews it

	mu     sync.Mutex
	timer  *time.Timer // for the next renewal
	closed bool        // the lock was given back or has ended
}

// remaining returns for how long the lock lasts in Redis if it is taken or
// renewed now.
func (l *lock) remaining() time.Duration {
	return max(min(time.Until(l.end), lockTime), time.Millisecond)
}

// renewLater starts the timer for the next renewal, if there has to be one.
func (l *lock) renewLater() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed && time.Until(l.end) > lockTime/3 {
		l.timer = time.AfterFunc(lockTime/3, l.renew)
	}
}

func (l *lock) renew() {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	held, err := renew.Run(ctx, l.store.client, []string{l.key}, l.holder, l.remaining().Milliseconds()).Int()
	lost := err == nil && held == 0
	if lost || errors.Is(err, redis.ErrClosed) {
		return
	}
	l.renewLater()
}

// unlock frees the lock.
func (l *lock) unlock() {
	l.mu.Lock()
	l.closed = true
	if l.timer != nil {
		l.timer.Stop()
	}
	l.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	unlock.Run(ctx, l.store.client, []string{l.key}, l.holder)
}
