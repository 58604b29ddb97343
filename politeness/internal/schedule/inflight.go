package schedule

import (
	"iter"
	"time"
)

// HasSlot reports whether r could take a slot of h now. No request may start
// while another is on its way: net/http has requested a connection for it and
// has not written its header yet. A request that started while no interval was
// known is never on its way (see Request.OnItsWay), so only Slots limits the
// others then.
func (h *Host) HasSlot(r *Request) bool { return h.OnItsWay == 0 && h.InFlight < h.Slots(r) }

// Slots returns how many requests of this process to h may be in flight, r
// included, when r starts. It is 1 if h has a Crawl-delay, for an exempt
// request too. Requests of other members of a fleet take up slots.
func (h *Host) Slots(r *Request) int32 {
	slots := h.Settings.Concurrency
	if h.crawlDelayInForce(r.CrawlDelay) > 0 {
		slots = 1
	}
	return slots - h.InFlightElsewhere()
}

// InFlightElsewhere returns how many requests of other members of a fleet to h
// are in flight. Without a fleet, it is 0.
func (h *Host) InFlightElsewhere() int32 {
	if h.Claim == nil {
		return 0
	}
	return h.Claim.InFlightElsewhere
}

// Start lets r, which is in no queue, start now: r is granted, and may be sent.
// See SetOnItsWay for the time until it is sent. r takes a slot until Finish.
// The lease is the longest time for which r may hold the slot: see Expire.
func (h *Host) Start(now Time, r *Request, lease time.Duration) {
	h.inFlight.insert(r, false)
	h.InFlight++
	h.noteTurn(now, r) // examines whether the first page was due, so it precedes RestartIntervals
	if h.Claim != nil {
		h.Claim.HasStarted = true
	}
	r.PhaseStart = now
	r.LeaseEnd = now.Add(lease)
	r.CountsFromSending = h.hasInterval(now, r)
	h.RestartIntervals(now, r)
	h.DrawJitter()
}

// Finish frees the slot of r, which is over at the time end. intervalsRestarted
// reports whether the intervals of h count from then.
func (h *Host) Finish(end Time, r *Request) (intervalsRestarted bool) {
	h.SetOnItsWay(r, false)
	h.inFlight.remove(r)
	h.InFlight--
	h.reserveTimeForPages(end, r)
	if !h.restartsAtEnd(end, r) {
		return false
	}
	h.RestartIntervals(end, r)
	return true
}

// SetOnItsWay notes whether r, which has a slot, is on its way to the host.
func (h *Host) SetOnItsWay(r *Request, onItsWay bool) {
	switch {
	case r.OnItsWay == onItsWay:
		return
	case onItsWay:
		h.OnItsWay++
	default:
		h.OnItsWay--
	}
	r.OnItsWay = onItsWay
}

// OldestInFlight returns the request that has held its slot for longest, or nil
// if there is none.
func (h *Host) OldestInFlight() *Request { return h.inFlight.first }

// Holders returns an iterator over the requests that hold a slot, in the order
// of their starts. The caller may finish the request that it has just received.
func (h *Host) Holders() iter.Seq[*Request] {
	return func(yield func(*Request) bool) {
		for r := h.inFlight.first; r != nil; {
			next := h.inFlight.after(r)
			if !yield(r) {
				return
			}
			r = next
		}
	}
}

// Expire finishes the requests whose leases have expired, and calls expired for
// each of them.
//
// A lease is the longest time for which a request may hold a slot: the user's
// setting or the request's own timeout, whichever is longer. The caller calls
// Expire when another request needs the slot, when h may be given away to
// another member of a fleet, when a lease ends after h was given away, when its
// Table is full (see Table.Obtain), and at the stage of a GlobalRate.
func (h *Host) Expire(now Time, expired func(r *Request, intervalsRestarted bool)) {
	for r := range h.Holders() {
		if r.LeaseEnd <= now {
			intervalsRestarted := h.Finish(r.LeaseEnd, r)
			expired(r, intervalsRestarted)
		}
	}
}

// HasExpiredLease reports whether the lease of the request that has been in
// flight for longest has expired. Leases of later requests may have expired
// even if it has not.
func (h *Host) HasExpiredLease(now Time) bool {
	oldest := h.OldestInFlight()
	return oldest != nil && oldest.LeaseEnd <= now
}

// FirstLeaseEnd returns the time at which the first lease expires, or Forever
// if no request is in flight.
func (h *Host) FirstLeaseEnd() Time {
	end := Forever
	for r := range h.Holders() {
		end = min(end, r.LeaseEnd)
	}
	return end
}
