package storetest_test

import (
	"bytes"
	"context"
	"io/fs"
	"sync"
	"testing"
	"time"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/storetest"
)

// A memory is a Store and a Locker that consists of maps. It is about as simple
// as a type that passes the tests can be.
type memory struct {
	mu     sync.Mutex
	values map[string]value
	locks  map[string]value
}

type value struct {
	bytes []byte
	until time.Time
}

func (m *memory) Get(ctx context.Context, key string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	v, ok := m.values[key]
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case !ok || time.Now().After(v.until):
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(v.bytes), nil
}

func (m *memory) Put(ctx context.Context, key string, b []byte, ttl time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		m.values[key] = value{bytes.Clone(b), time.Now().Add(ttl)}
	}
	return ctx.Err()
}

func (m *memory) Delete(ctx context.Context, key string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() == nil {
		delete(m.values, key)
	}
	return ctx.Err()
}

func (m *memory) TryLock(ctx context.Context, key string, ttl time.Duration) (func(), bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if ctx.Err() != nil || time.Now().Before(m.locks[key].until) {
		return nil, false, ctx.Err()
	}
	mine := value{until: time.Now().Add(ttl)}
	m.locks[key] = mine
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.locks[key].until.Equal(mine.until) {
			delete(m.locks, key)
		}
	}, true, nil
}

var _ robotsmw.Locker = (*memory)(nil)

func TestMemory(t *testing.T) {
	storetest.Run(t, func(*testing.T) robotsmw.Store {
		return &memory{values: make(map[string]value), locks: make(map[string]value)}
	})
}
