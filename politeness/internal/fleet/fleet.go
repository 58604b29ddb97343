// Package fleet defines the interface between a politeness.Limiter and its
// Fleet.
//
// A Fleet connects a Limiter with other Limiters, so that only one of them at a
// time sends requests to a host. That Limiter owns the host and delays the
// requests by its own clock, as if it were alone. Each Limiter has a Fleet of
// its own. Package redislimit has the Fleets of Redis and Valkey. A Fleet of
// another engine would be a package beside it.
//
// The Limiter requests a host by passing a new [Claim] to the Fleet. The Fleet
// calls methods of the Claim when the host is owned and when the host is lost.
// Later the Fleet takes the host back from the Claim, and gives the host to
// another Limiter, together with what was learned about the host.
package fleet

import "time"

// A Fleet is one member's connection to the others.
type Fleet interface {
	// Look makes the Fleet examine h soon. The Limiter calls Look when h is
	// new, when the result of h.Give may have changed or a State has to be
	// stored, and at the time that was passed to h.Wait. The Limiter's lock may
	// be held, so Look must return immediately and must not call a method of h.
	Look(h Claim)

	// Trusted reports whether it is certain at this moment that the hosts of
	// this Fleet's Limiter have no other owner. Trusted is called before each
	// request, with the Limiter's lock held. When the result is true again
	// after it was false, the Fleet calls Own or Lose for each owned Claim.
	// Then waiting requests check again whether they may start.
	Trusted() bool

	// RequestEnded reports that a request to a host that this Limiter has given
	// away or lost has ended, or has begun a pause, or that a host was lost
	// that is paused. The Record has the number of the Limiter's requests to
	// the host that are still in flight, and a State if the owner must learn of
	// a pause. The Limiter's lock is held, as for Look.
	RequestEnded(host string, r Record)
}

// A Claim is a host that a Limiter requests or owns. First the host is
// requested, then it is owned, then it is given away or lost. After that the
// Claim is over, and the Limiter makes a new Claim if it needs the host again.
//
// The methods are for the Fleet. Only one goroutine at a time may call them,
// and that goroutine must hold no lock that Look or Trusted takes.
type Claim interface {
	// Host returns the key of the host.
	Host() string

	// Settings returns the settings of the Limiter that all members should have
	// in common, as words such as "Delay=1s". A Fleet compares them with those
	// of other members.
	Settings() string

	// Own reports that the host is owned, and what is known of it: the number
	// of requests of others in flight, and in r.State what was stored last, by
	// this Claim or by others, or nil. Own makes the waiting requests check
	// again whether they may start. It is called again when more becomes known
	// of an owned host: another number of requests in flight, or a late state.
	Own(r Record)

	// Wait reports why the host cannot be owned now. The time until is the
	// earliest at which this Limiter can own the host, or the zero time if that
	// is unknown. At that time, the Limiter calls Look.
	Wait(until time.Time, r Record, why error)

	// Deny reports that this Fleet can never own the host. All requests to
	// the host end with a politeness.DelayError that wraps why.
	Deny(why error)

	// Lose reports that another Limiter may own the host already. If Give has
	// ended the Claim, Lose reports that the Fleet could not store the Record
	// from Give. In both cases, if the host is paused, the Limiter calls
	// RequestEnded.
	Lose()

	// Give is called when the Claim may end, and when the Fleet wants to know
	// what it has to store. The argument is whether other members wait for the
	// host. ok reports whether the Claim is over.
	//
	// The Claim ends in three cases: the host is owned and no longer needed;
	// other members wait and it is their turn; or the host was only requested,
	// and no request needs it any more. If it was owned, r is for the next
	// owner. Requests may still be in flight; the Limiter calls RequestEnded as
	// they end.
	//
	// If ok is false, the Limiter keeps the host or the request for it, and
	// calls Look when the result may have changed. If r.State is not nil, the
	// Fleet stores it, in case this member dies, and then calls Own with it.
	Give(others bool) (r Record, ok bool)
}

// A Record is what members exchange about a host.
type Record struct {
	State    []byte        // what was learned about the host; nil means nothing, or nothing new
	Keep     time.Duration // from Give and for RequestEnded: how long the State matters
	InFlight int           // requests in flight of members that do not own the host
	Age      time.Duration // how old the State is
	MinAge   time.Duration // the minimum age of the latest request, whatever the clocks do
	Missing  bool          // the State may lack requests, which may be only as old as MinAge
	Late     bool          // the State is that of a request that ended after a hand-over
}
