package limittest

import (
	"context"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// Memory is a politeness.Backend for Limiters of one process: for tests of what
// a fleet does, and to read what a Backend has to do. The zero value is ready.
// It never forgets a host.
type Memory struct {
	mu    sync.Mutex
	hosts map[string]*host
}

var _ politeness.Backend = (*Memory)(nil)

// host is what all know of a host. Times that have not been are zero.
type host struct {
	page, exempt time.Time     // the latest slots
	crawl        time.Duration // the Crawl-delay told last
	paused       time.Time     // until when
	pauses       int           // how many there were
	flying       []*slot
}

type slot struct {
	memory *Memory
	host   *host
	terms  politeness.Terms
	at     time.Time
	before time.Time // the slot before it
	pauses int
	busy   bool // it is none: there is only a time to ask again
	freed  bool
	lease  time.Time // when it ends, once claimed
}

// Take implements politeness.Backend.
func (m *Memory) Take(ctx context.Context, name string, terms politeness.Terms) (politeness.Slot, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(name)
	if terms.Told && !terms.Exempt {
		h.crawl = terms.CrawlDelay
	}
	now := time.Now()
	s := &slot{memory: m, host: h, terms: terms, pauses: h.pauses, before: h.page}
	pace, crawl := longer(terms.Pace, terms.Jitter), longer(max(terms.Pace, h.crawl), terms.Jitter)
	if terms.Exempt {
		s.before = h.exempt
		s.at = h.between(latest(now, h.exempt.Add(pace), h.paused), terms.Pace)
	} else {
		s.at = latest(now, h.page.Add(crawl), h.exempt.Add(pace), h.paused)
	}
	if h.full(s, now) {
		s.busy = true
		s.at = latest(s.at, now.Add(max(terms.Pace/2, 10*time.Millisecond)))
	}
	if s.at.Sub(now) > terms.MaxWait {
		return nil, &politeness.DelayError{Host: name, Until: s.at}
	}
	if !s.busy {
		*h.last(terms.Exempt) = s.at
	}
	return s, nil
}

// Pause implements politeness.Backend.
func (m *Memory) Pause(name string, wait time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := m.host(name)
	now := time.Now()
	h.paused = latest(h.paused, now.Add(wait))
	h.pauses++
	if h.page.After(now) {
		h.page = now // nobody will come at the slots after now
	}
	if h.exempt.After(now) {
		h.exempt = now
	}
}

func (m *Memory) host(name string) *host {
	h := m.hosts[name]
	if h == nil {
		if m.hosts == nil {
			m.hosts = make(map[string]*host)
		}
		h = new(host)
		m.hosts[name] = h
	}
	return h
}

func (h *host) last(exempt bool) *time.Time {
	if exempt {
		return &h.exempt
	}
	return &h.page
}

// between is the first moment from t on that is a pace away from the slots of
// pages: they have been given away into the future, one Crawl-delay after the
// other.
func (h *host) between(t time.Time, pace time.Duration) time.Time {
	if h.page.IsZero() || t.Sub(h.page) >= pace {
		return t
	}
	room := h.crawl >= 2*pace && h.crawl > 0
	if !room || t.After(h.page) {
		return latest(t, h.page.Add(pace))
	}
	next := h.page.Sub(t) % h.crawl // until the next page's slot
	switch {
	case next < pace:
		return t.Add(next + pace)
	case h.crawl-next < pace:
		return t.Add(pace - (h.crawl - next))
	}
	return t
}

// full reports whether as many requests as s allows are in flight.
func (h *host) full(s *slot, now time.Time) bool {
	n := 0
	for _, f := range h.flying {
		if f.lease.After(now) {
			h.flying[n] = f
			n++
		}
	}
	h.flying = h.flying[:n]
	most := s.terms.Concurrency
	if h.crawl > 0 && !s.terms.Exempt {
		most = 1
	}
	return n >= max(most, 1)
}

// At implements politeness.Slot.
func (s *slot) At() time.Time { return s.at }

// Claim implements politeness.Slot.
func (s *slot) Claim(ctx context.Context) bool {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	now := time.Now()
	late := now.Sub(s.at) > max(s.terms.Pace/4, 5*time.Millisecond)
	if ctx.Err() != nil || s.busy || s.freed || late || s.pauses != s.host.pauses || s.host.full(s, now) {
		return false
	}
	s.lease = now.Add(s.terms.Lease)
	s.host.flying = append(s.host.flying, s)
	return true
}

// Free implements politeness.Slot.
func (s *slot) Free() {
	s.memory.mu.Lock()
	defer s.memory.mu.Unlock()
	if s.freed || s.busy {
		return
	}
	s.freed = true
	last := s.host.last(s.terms.Exempt)
	if s.lease.IsZero() {
		if last.Equal(s.at) {
			*last = s.before
		}
		return
	}
	s.lease = time.Time{}
	if s.terms.EndToStart {
		*last = latest(*last, time.Now())
	}
}

func longer(d time.Duration, jitter float64) time.Duration {
	return d + time.Duration(float64(d)*jitter)
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
