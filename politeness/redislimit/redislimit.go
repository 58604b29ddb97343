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
	// Namespace is the prefix of all keys and channels, in braces:
	// {Namespace}fleet, for example. Fleets with different Namespaces do not
	// affect each other. It must not contain braces, white space or the
	// characters *?[]\ of key patterns. If empty, "courtesy" is used.
	Namespace string

	// Lease is how long a member that cannot reach Redis continues to use the
	// hosts that it owns. If a member is killed, its hosts are paused for one
	// and a half Leases and 1 to 4 s, and for up to two and a half Leases if
	// Redis or the other members are slow. All members should have the same
	// Lease. If their Leases differ, the longest one determines these times. 0
	// means 10 s. The minimum is 5 s.
	Lease time.Duration

	// Timeout is how long one call to Redis may take. Requests to hosts that
	// this member owns need no call. 0 means 1 s. The maximum is a third of
	// Lease.
	Timeout time.Duration

	// Logger receives the events that the section Failures of the package
	// documentation lists, each of them once. It must not call the Fleet. nil
	// means slog.Default. go-redis logs broken connections itself: see
	// redis.SetLogger.
	Logger *slog.Logger
}

// New returns a member of the fleet that the client's Redis and opts.Namespace
// identify. The member connects when its Limiter first needs a host. It never
// closes the client.
func New(client redis.UniversalClient, opts Options) (*Fleet, error) {
	if client == nil {
		return nil, errors.New("redislimit: the client is nil: pass a client such as that of redis.NewUniversalClient")
	}
	opts.Namespace = cmp.Or(opts.Namespace, "courtesy")
	if strings.ContainsAny(opts.Namespace, "{}*?[]\\ \t\r\n") {
		return nil, fmt.Errorf("redislimit: the Namespace %q contains a brace, white space or a character of key patterns (*?[]\\)", opts.Namespace)
	}
	prefix := "{" + opts.Namespace + "}"
	keys := []string{prefix + "fleet", prefix + "hosts", prefix + "sessions"}
	return newFleet(&server{client, keys}, prefix, opts)
}

func newFleet(e engine, keyPrefix string, opts Options) (*Fleet, error) {
	opts.Lease = cmp.Or(opts.Lease, 10*time.Second)
	opts.Timeout = cmp.Or(opts.Timeout, time.Second)
	opts.Logger = cmp.Or(opts.Logger, slog.Default())
	if opts.Lease < 5*time.Second {
		return nil, fmt.Errorf("redislimit: the Lease is %v: set 5 s or more, or 0 for the default", opts.Lease)
	}
	if opts.Timeout < 0 || opts.Timeout > opts.Lease/3 {
		return nil, fmt.Errorf("redislimit: the Timeout is %v: set at most a third of the Lease (%v), or 0 for the default", opts.Timeout, opts.Lease)
	}
	f := &Fleet{
		engine:    e,
		keyPrefix: keyPrefix,
		version:   formatVersion,
		lease:     opts.Lease,
		timeout:   opts.Timeout,
		log:       opts.Logger,
		wake:      make(chan struct{}, 1),
	}
	f.member = newMember(f)
	return f, nil
}

var _ politeness.Fleet = (*Fleet)(nil)

// Look implements politeness.Fleet.
func (f *Fleet) Look(h fleet.Claim) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.enqueue(func() { f.member.look(h) })
	f.member.start()
}

// RequestEnded implements politeness.Fleet.
func (f *Fleet) RequestEnded(host string, r fleet.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	// If no goroutine runs, Redis expects no report about a request, so only a
	// pause is reported. After Close, nothing is reported.
	if f.done != nil || r.State != nil {
		dated := datedRecord{r, time.Now()}
		f.enqueue(func() { f.member.landed(host, dated) })
		f.member.start()
	}
}

// Close gives back all hosts of this member at once and ends its session.
// Waiting requests fail with a [politeness.DelayError]. Requests in flight
// continue, and other members may send requests to the same hosts after their
// delay. Callers should end their requests before Close, because a pause that
// begins with a later response is not shared with other members.
//
// Close waits until Redis has confirmed the end of the session, for at most
// three Timeouts. If Redis does not confirm it, Close returns an error, and the
// session ends when it expires. Further calls have no effect.
func (f *Fleet) Close() error {
	f.mu.Lock()
	f.enqueue(f.member.close)
	done := f.done
	f.mu.Unlock()
	if done == nil {
		return nil
	}
	cause := errors.New("no reply within three times Options.Timeout")
	select {
	case err := <-done:
		if err == nil {
			return nil
		}
		cause = err
	case <-time.After(3 * f.timeout):
	}
	return fmt.Errorf("redislimit: Close: Redis has not confirmed the end of the session: %w: "+
		"the hosts of this member are paused until the session expires, for up to two and a half Leases", cause)
}
