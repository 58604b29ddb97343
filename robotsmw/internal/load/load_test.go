package load

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

// Origins fail, change, respond late and redirect to each other, all at random.
// The cache is small, half of the seeds have a Store, and callers give up.
// Nevertheless, each Load returns within five minutes, and no flight is left at
// the end.
func TestChaos(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 1))
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
			const hosts = 12
			web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				select {
				case <-time.After(time.Duration(draw(3000)) * time.Millisecond):
				case <-r.Context().Done():
					return nil, r.Context().Err()
				}
				switch draw(12) {
				case 0:
					return nil, io.ErrUnexpectedEOF
				case 1:
					panic("base")
				case 2:
					return nil, &politeness.DelayError{Host: "x", Until: time.Now().Add(time.Minute)}
				case 3:
					return newResponse(r, 503, ""), nil
				case 4:
					return newResponse(r, 404, ""), nil
				case 5, 6, 7, 8:
					return newResponse(r, 301, "", fmt.Sprintf("Location: http://h%d.example/robots.txt", draw(hosts))), nil
				case 9:
					return nil, nil
				}
				return newResponse(r, 200, fmt.Sprintf("User-agent: *\nDisallow: /%d\n", draw(20)),
					"Cache-Control: max-age=300", `ETag: "x"`), nil
			})
			var s store.Store
			if seed%2 == 1 {
				s = &memoryStore{}
			}
			l := newLoader(web, func(c *Config) { c.Store, c.MaxOrigins = s, 1+int(seed)*2 })
			var wg sync.WaitGroup
			for range 30 {
				wg.Go(func() {
					for range 200 {
						name := fmt.Sprintf("http://h%d.example", draw(hosts))
						ctx, cancel := context.WithTimeout(
							t.Context(),
							time.Duration(draw(10_000))*time.Millisecond,
						)
						if draw(3) == 0 {
							ctx = context.Background()
						}
						start := time.Now()
						l.Load(ctx, []byte(name))
						if d := time.Since(start); d > 5*time.Minute {
							t.Errorf("Load took %v, want at most 5m", d)
						}
						cancel()
						if draw(50) == 0 {
							time.Sleep(time.Duration(draw(600)) * time.Second)
						}
					}
				})
			}
			wg.Wait()
			time.Sleep(10 * time.Minute)
			synctest.Wait()
			if n, flights, bytes := l.cache.Size(); flights != 0 || n > l.cfg.MaxOrigins || bytes < 0 {
				t.Errorf("%d origins, %d flights and %d bytes are left, want no flight", n, flights, bytes)
			}
		})
	}
}

// As in TestChaos, origins behave at random. In addition, a Limiter delays
// requests, hosts are paused after a 429, and callers give up while they wait
// for a slot. At the end, no request waits.
func TestChaosUnderAPace(t *testing.T) {
	for seed := range uint64(6) {
		synctest.Test(t, func(t *testing.T) {
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 2))
			draw := func(n int) int { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) }
			const hosts = 12
			web := roundTripperFunc(func(r *http.Request) (*http.Response, error) {
				if r.Context().Err() != nil {
					t.Error("a request was sent after its context had ended, want none")
				}
				time.Sleep(time.Duration(draw(3000)) * time.Millisecond)
				switch draw(6) {
				case 0:
					return newResponse(r, 429, "", fmt.Sprintf("Retry-After: %d", 1<<draw(14))), nil
				case 1:
					return newResponse(r, 404, "", "Cache-Control: max-age=300"), nil
				case 2, 3:
					return newResponse(r, 301, "", fmt.Sprintf("Location: http://h%d.example/robots.txt", draw(hosts))), nil
				}
				return newResponse(r, 200, fmt.Sprintf("User-agent: *\nDisallow: /%d\n", draw(20)),
					"Cache-Control: max-age=300"), nil
			})
			limiter := &politeness.Limiter{Delay: time.Duration(1+seed) * time.Second, Logger: slog.New(slog.DiscardHandler)}
			var s store.Store
			if seed%2 == 1 {
				s = &memoryStore{}
			}
			members := []*Loader{
				newLoader(&politeness.Transport{Base: web, Limiter: limiter}, func(c *Config) { c.Store, c.MaxOrigins = s, 1+int(seed)*3 }),
				newLoader(&politeness.Transport{Base: web, Limiter: limiter}, func(c *Config) { c.Store = s }),
			}
			var wg sync.WaitGroup
			for i := range 30 {
				wg.Go(func() {
					l := members[i%2]
					for range 200 {
						name := fmt.Sprintf("http://h%d.example", draw(hosts))
						patience := time.Duration(draw(20_000)) * time.Millisecond
						ctx, cancel := context.WithTimeout(t.Context(), patience)
						if draw(3) == 0 {
							cancel()
							ctx, cancel = context.WithCancel(t.Context())
							time.AfterFunc(patience, cancel)
						}
						start := time.Now()
						l.Load(ctx, []byte(name))
						if d := time.Since(start); d > patience {
							t.Errorf("Load took %v, want at most %v", d, patience)
						}
						cancel()
						if draw(20) == 0 {
							time.Sleep(time.Duration(draw(600)) * time.Second)
						}
					}
				})
			}
			wg.Wait()
			time.Sleep(48 * time.Hour)
			synctest.Wait()
			for _, l := range members {
				if n, flights, bytes := l.cache.Size(); flights != 0 || n > l.cfg.MaxOrigins || bytes < 0 {
					t.Errorf("%d origins, %d flights and %d bytes are left, want no flight", n, flights, bytes)
				}
			}
			if s := limiter.Stats(); s.Waiting != 0 || s.InFlight != 0 {
				t.Errorf("%d requests wait at the Limiter and %d are in flight, want none",
					s.Waiting, s.InFlight)
			}
		})
	}
}

// newLoader returns a Loader that sends its requests through the given
// RoundTripper, and logs nothing.
func newLoader(web http.RoundTripper, edit ...func(*Config)) *Loader {
	cfg := Config{
		Base:        web,
		UserAgent:   "ExampleBot/1.0",
		Timeout:     30 * time.Second,
		Kind:        &record.Kind{Tokens: []string{"ExampleBot"}},
		MaxOrigins:  1000,
		MaxBytes:    128 << 20,
		Logger:      slog.New(slog.DiscardHandler),
		Fetched:     func(Fetch) {},
		Recalled:    func(Fetch) {},
		StoreFailed: func(string, error) {},
	}
	for _, f := range edit {
		f(&cfg)
	}
	return New(cfg)
}

type roundTripperFunc func(*http.Request) (*http.Response, error)

func (f roundTripperFunc) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// newResponse returns a response to r, for transports without a server.
func newResponse(r *http.Request, code int, body string, headers ...string) *http.Response {
	h := http.Header{}
	for _, line := range headers {
		name, value, _ := strings.Cut(line, ": ")
		h.Set(name, value)
	}
	return &http.Response{
		StatusCode:    code,
		Proto:         "HTTP/1.1",
		ProtoMajor:    1,
		ProtoMinor:    1,
		Header:        h,
		Request:       r,
		Body:          io.NopCloser(strings.NewReader(body)),
		ContentLength: int64(len(body)),
	}
}

// A memoryStore is a Store and a Locker that a fleet can share.
type memoryStore struct {
	mu     sync.Mutex
	values map[string][]byte
	locks  map[string]time.Time
}

func (s *memoryStore) Get(_ context.Context, key string) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	v, ok := s.values[key]
	if !ok {
		return nil, fs.ErrNotExist
	}
	return bytes.Clone(v), nil
}

func (s *memoryStore) Put(_ context.Context, key string, value []byte, _ time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.values == nil {
		s.values = make(map[string][]byte)
	}
	s.values[key] = bytes.Clone(value)
	return nil
}

func (s *memoryStore) Delete(_ context.Context, key string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.values, key)
	return nil
}

func (s *memoryStore) TryLock(_ context.Context, key string, ttl time.Duration) (func(), bool, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Now().Before(s.locks[key]) {
		return nil, false, nil
	}
	if s.locks == nil {
		s.locks = make(map[string]time.Time)
	}
	until := time.Now().Add(ttl)
	s.locks[key] = until
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.locks[key].Equal(until) {
			delete(s.locks, key)
		}
	}, true, nil
}
