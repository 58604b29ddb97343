package gate

import (
	"cmp"
	"net/netip"
	"sync"
	"sync/atomic"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// How long a client waits for its turn, how many slots clients hold, and how
// many of their requests are under way.
const maxWait, maxSlots, maxRequests = 5 * time.Minute, 1000, 1000

// A Handler answers /check, /done and /fetch; see the package doc. Make one
// with New. It is safe for concurrent use. Its fields must not be changed after
// the first request.
type Handler struct {
	// Token is what a client that is not on loopback has to send. "" lets no
	// such client in.
	Token string

	// MaxBody is how many bytes of a page /fetch passes on. 0 means 64 MiB.
	MaxBody int64

	robots  *robotsmw.Transport
	limiter *politeness.Limiter
	timeout time.Duration          // of a fetch, with its wait
	refuse  func(netip.Addr) error // nil means that Base decides
	under   atomic.Int64           // requests under way

	mu    sync.Mutex
	slots map[string]slot // held by clients, by id
}

// A slot is held by a client.
type slot struct {
	admission *robotsmw.Admission
	lease     *time.Timer // frees the slot; nil if the Limiter has no Lease
}

// New returns a Handler that decides and fetches by these options. If opts has
// no Limiter, it uses a zero one, as NewClient does. A Go program shares the
// pace with its gate by the same Limiter, and robots.txt by the same Store. If
// an option is wrong, the error says which one and what to write instead.
func New(opts robotsmw.Options) (*Handler, error) {
	if opts.Base == nil && opts.RefuseAddress == nil {
		opts.RefuseAddress = robotsmw.PublicOnly
	}
	if opts.Limiter == nil {
		opts.Limiter = new(politeness.Limiter)
	}
	robots, err := robotsmw.NewTransport(opts)
	if err != nil {
		return nil, err
	}
	return &Handler{
		robots: robots, limiter: opts.Limiter, refuse: opts.RefuseAddress, slots: make(map[string]slot),
		timeout: maxWait + max(cmp.Or(opts.AttemptTimeout, politeness.DefaultAttemptTimeout), 0),
	}, nil
}

// keep notes a slot for its lease. It returns false if too many are held.
func (h *Handler) keep(id string, admission *robotsmw.Admission) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.slots) >= maxSlots {
		return false
	}
	held := slot{admission: admission}
	if lease := cmp.Or(h.limiter.Lease, politeness.DefaultLease); lease > 0 {
		// The Limiter would free the slot only when another request to the
		// host needs it.
		held.lease = time.AfterFunc(lease, func() { h.take(id).Done(politeness.Outcome{}) })
	}
	h.slots[id] = held
	return true
}

// take returns the admission of the slot with this id, and forgets the slot. It
// returns nil if there is none.
func (h *Handler) take(id string) *robotsmw.Admission {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.slots[id]
	delete(h.slots, id)
	if held.lease != nil {
		held.lease.Stop() // or a busy gate has a timer for each slot of the last Lease
	}
	return held.admission
}
