package redislimit

import "time"

// maxObservedSilence is how much the silence of other members may grow between
// two of this member's calls that succeed. A member that cannot reach Redis
// must not count its own absence as the silence of others.
const maxObservedSilence = 2 * time.Second

// A peerSession is what this member knows about the session of another one that
// has not been renewed for a while.
type peerSession struct {
	callNumber int64         // the number of the session's latest call
	observedAt time.Time     // when that number was last read
	silentFor  time.Duration // for how long the number has not changed
}

// observe returns the state of the session after its number was read again.
// The receiver is the earlier state, or the zero value.
func (s peerSession) observe(callNumber int64, now time.Time) peerSession {
	next := peerSession{callNumber: callNumber, observedAt: now}
	if callNumber == s.callNumber && !s.observedAt.IsZero() {
		next.silentFor = s.silentFor + min(now.Sub(s.observedAt), maxObservedSilence)
	}
	return next
}

// otherVersion is what this member knows about a fleet of another format
// version in the same Namespace. The number of that fleet's calls is used like
// the call number of a session.
type otherVersion struct {
	callCount  string // "" means that there is no such fleet
	observedAt time.Time
	silentFor  time.Duration
	ended      bool // none of its members trusts its session any more
}

// observe returns the state of the fleet after its number of calls was read
// again. A count of "" means that the number was lost.
func (v otherVersion) observe(callCount string, now time.Time, lease time.Duration) otherVersion {
	next := otherVersion{callCount: callCount}
	countLost := callCount == "" && v.callCount != ""
	if callCount == v.callCount || countLost {
		next = v
		next.silentFor += min(now.Sub(v.observedAt), maxObservedSilence)
	}
	next.observedAt = now
	next.ended = hasEnded(next.silentFor, lease)
	return next
}

// argument returns the script's argument about a fleet of another version.
func (v otherVersion) argument() string {
	switch {
	case v.callCount == "":
		return ""
	case v.ended:
		return v.callCount
	}
	return "-"
}

// hasEnded reports whether a session that was silent for that long has ended.
// lease is the longest Lease of a member. A member stops trusting its session
// after one Lease. The additional half Lease is a margin for differences
// between clocks.
func hasEnded(silentFor, lease time.Duration) bool {
	return silentFor >= lease*3/2
}
