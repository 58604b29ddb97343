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
// expire by themselves. For the key of a record, see robotsmw.Store. An ACL
// user needs no more than
//
//	+get +set +del +eval +evalsha ~PREFIXrobots*
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

// unlockTimeout limits the call that frees a lock. The function that TryLock
// returns makes this call, and gets no context. A lock that could not be freed
// expires by itself.
const unlockTimeout = time.Second

// TryLock takes the lock of the key for ttl. It returns true and a function
// that frees the lock. If another caller holds the lock, TryLock returns false.
func (s *Store) TryLock(ctx context.Context, key string, ttl time.Duration) (func(), bool, error) {
	if err := ctx.Err(); err != nil {
		return nil, false, err
	}
	holder := rand.Text()
	err := s.client.SetArgs(ctx, s.lockKey(key), holder, redis.SetArgs{Mode: "NX", TTL: max(ttl, time.Millisecond)}).Err()
	if errors.Is(err, redis.Nil) { // another caller holds the lock
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("redisstore: locking %s: %w", key, err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), unlockTimeout)
		defer cancel()
		unlock.Run(ctx, s.client, []string{s.lockKey(key)}, holder)
	}, true, nil
}
