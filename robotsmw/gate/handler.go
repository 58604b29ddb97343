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

const (
	maxWait     = 5 * time.Minute // of a client for its host
	maxSlots    = 1000            // held by clients
	maxRequests = 1000            // processed at a time

	maxHeaderValue = 4 << 10  // bytes
	defaultMaxBody = 64 << 20 // bytes
)

// A Handler serves /check, /done and /fetch, as the package documentation
// describes. It must be created with New, and is safe for concurrent use. Its
// fields must not be changed after the first request.
type Handler struct {
	// Token must be sent by clients that are not on a loopback address. If it
	// is "", such clients have no access.
	Token string

	// MaxBody limits the bytes of a page that /fetch returns. 0 means 64 MiB.
	// It must not be negative.
	MaxBody int64

	robots  *robotsmw.Transport
	limiter *politeness.Limiter
	timeout time.Duration          // of a fetch, including its wait
	refuse  func(netip.Addr) error // Options.RefuseAddress
	active  atomic.Int64           // requests that are being processed

	mu    sync.Mutex
	slots map[string]slot // held by clients, by id
}

// A slot is held by a client.
type slot struct {
	admission *robotsmw.Admission
	lease     *time.Timer // frees the slot; nil if the Limiter has no Lease
}

// New returns a Handler with these options. If opts has no Limiter, a zero
// Limiter is used, as by NewClient. A Go program and its gate share delays if
// they use the same Limiter, and robots.txt files if they use the same Store.
// If an option is invalid, the error contains its name and the valid values.
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
		robots:  robots,
		limiter: opts.Limiter,
		refuse:  opts.RefuseAddress,
		slots:   make(map[string]slot),
		timeout: maxWait + max(cmp.Or(opts.AttemptTimeout, politeness.DefaultAttemptTimeout), 0),
	}, nil
}

// keep stores a slot under its id until its lease ends. It returns false if
// clients hold maxSlots already.
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

// take removes the slot with this id, and returns its admission. It returns nil
// if there is no such slot.
func (h *Handler) take(id string) *robotsmw.Admission {
	h.mu.Lock()
	defer h.mu.Unlock()
	held := h.slots[id]
	delete(h.slots, id)
	if held.lease != nil {
		held.lease.Stop() // otherwise, timers of released slots would take memory
	}
	return held.admission
}
