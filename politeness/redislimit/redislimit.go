package redislimit

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// Options are the settings of a Fleet. The zero value suits most fleets.
type Options struct {
	// Namespace is the beginning of the names of all keys and channels. In
	// these names, it is in braces, as in {Namespace}fleet. Fleets with
	// different Namespaces do not affect each other. A Namespace must not
	// contain braces, white space or the characters *?[]\ of key patterns. If
	// it is empty, it is taken as "courtesy".
	Namespace string

	// Lease is how long a member that cannot reach Redis keeps using the hosts
	// that it owns. When a member dies, its hosts rest for up to two and a half
	// Leases. 0 means 10 s. The least is 5 s.
	Lease time.Duration

	// Timeout is how long one call to Redis may take. Requests to hosts that
	// this member owns need no call. 0 means 1 s. A Timeout must not be longer
	// than a third of Lease.
	Timeout time.Duration

	// Logger receives one line when Redis stops answering, and one when it
	// answers again. Logger also receives a line when this member loses its
	// session, and one when Redis loses what the fleet knew. Logger must not
	// call the Fleet. nil means slog.Default. go-redis has a log of its own for
	// failing connections: see redis.SetLogger.
	Logger *slog.Logger
}

// New returns a member of a fleet. The client's Redis and opts.Namespace
// identify the fleet. The member does not connect before its Limiter needs a
// host, and never closes the client.
func New(client redis.UniversalClient, opts Options) (*Fleet, error) {
	if client == nil {
		return nil, errors.New("redislimit: the client is nil: give a redis.NewUniversalClient(…)")
	}
	opts.Namespace = cmp.Or(opts.Namespace, "courtesy")
	if strings.ContainsAny(opts.Namespace, "{}*?[]\\ \t\r\n") {
		return nil, fmt.Errorf("redislimit: the Namespace %q has a brace, white space or a character of key patterns: leave it out", opts.Namespace)
	}
	prefix := "{" + opts.Namespace + "}"
	return newFleet(&server{client, []string{prefix + "fleet", prefix + "hosts", prefix + "sessions"}}, prefix, opts)
}

func newFleet(e engine, prefix string, opts Options) (*Fleet, error) {
	opts.Lease = cmp.Or(opts.Lease, 10*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	if opts.Lease < 5*time.Second {
		return nil, fmt.Errorf("redislimit: the Lease is %v: give 5 s or more, or 0 for the default", opts.Lease)
	}
	if opts.Timeout < 0 || opts.Timeout > opts.Lease/3 {
		return nil, fmt.Errorf("redislimit: the Timeout is %v: give a positive duration up to a third of Lease (%v), or 0 for the default", opts.Timeout, opts.Lease)
	}
	f := &Fleet{engine: e, prefix: prefix, version: formatVersion, lease: opts.Lease, timeout: opts.Timeout, log: opts.Logger, wake: make(chan struct{}, 1)}
	f.member = &member{Fleet: f, places: make(map[string]*place), todo: make(map[*place]bool)}
	return f, nil
}

var _ politeness.Fleet = (*Fleet)(nil)

// Look implements politeness.Fleet.
func (f *Fleet) Look(h fleet.Hold) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.put(func() { f.member.look(h) })
	f.member.start()
}

// Landed implements politeness.Fleet.
func (f *Fleet) Landed(host string, r fleet.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.done != nil { // otherwise no host has been given away
		f.put(func() { f.member.landed(host, r) })
	}
}

// Close gives back all hosts of this member at once and ends its session.
// Waiting requests get no host any more. Requests in flight go on, so end them
// before Close: other members may ask the same hosts after an interval. Close
// waits, for three Timeouts at most, until Redis has confirmed that the session
// has ended. If Redis does not confirm that, Close returns an error, and the
// session ends by itself later. Calling Close again does nothing more.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.put(f.member.close)
	done := f.done
	f.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case err := <-done:
		if err == nil {
			return nil
		}
	case <-time.After(3 * f.timeout):
	}
	return errors.New("redislimit: Close: Redis does not answer: the hosts of this member rest until its session has ended, in two and a half Leases at most")
}
