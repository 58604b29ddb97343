package schedule

import (
	"encoding/binary"
	"math"
	"time"
)

// learnedLifetime is how long the next owner of a host may need what was
// learned from it.
const learnedLifetime = time.Hour

// A State is what the owner of a host hands over to the next owner. All fields
// are relative to the time of the export, because members of a fleet share no
// clock. The zero value means that no request was made and nothing was learned.
// The number of requests that are still in flight is not part of it: it is in
// fleet.Record, and becomes Claim.InFlightElsewhere.
type State struct {
	HasStarted           bool          // Host.LastStart still matters
	SinceStart           time.Duration // the time since Host.LastStart
	HasCrawlDelayStart   bool          // Host.LastCrawlDelayStart still matters
	SinceCrawlDelayStart time.Duration // the time since Host.LastCrawlDelayStart
	CrawlDelayLeft       time.Duration // how much longer the Crawl-delay that counts from it lasts

	PauseLeft     time.Duration // how much longer the pause lasts
	CrawlDelay    time.Duration // the most recently declared Crawl-delay
	AdaptiveDelay time.Duration

	Level         uint8         // of the back-off
	Latest        Class         // of the latest incident
	SinceIncident time.Duration // the time since the latest incident; 0 without Level and Latest

	// The quota that the host declares. Both are 0 if there is none to spread.
	QuotaInterval time.Duration // the interval that spreads the quota
	QuotaLeft     time.Duration // how much longer the interval applies

	// What is reserved of the host's budget of a day or, at a hand-over, what
	// was used of it: see Budgets.Export. Day counts from 1970, in UTC. All are
	// 0 if that is nothing.
	Day      int64
	Requests int64
	Bytes    int64
}

// stateVersion is the first byte of an encoded State. Unsigned varints follow,
// in the order of State's fields, with durations in microseconds. SinceStart+1
// stands for HasStarted and SinceStart, and 0 means that HasStarted is false.
// The start of the Crawl-delay is encoded likewise. 4*Level + Latest stands for
// these two. Zeros at the end are left out.
const stateVersion = 1

// Encode returns the encoded form of s.
func (s State) Encode() []byte {
	fields := [...]uint64{
		optional(s.HasStarted, s.SinceStart),
		optional(s.HasCrawlDelayStart, s.SinceCrawlDelayStart),
		micros(s.CrawlDelayLeft),
		micros(s.PauseLeft),
		micros(s.CrawlDelay),
		micros(s.AdaptiveDelay),
		4*uint64(s.Level) + uint64(s.Latest),
		micros(s.SinceIncident),
		micros(s.QuotaInterval),
		micros(s.QuotaLeft),
		uint64(max(s.Day, 0)),
		uint64(max(s.Requests, 0)),
		uint64(max(s.Bytes, 0)),
	}
	n := len(fields)
	for n > 0 && fields[n-1] == 0 {
		n--
	}
	encoded := make([]byte, 1, 1+8*n)
	encoded[0] = stateVersion
	for _, x := range fields[:n] {
		encoded = binary.AppendUvarint(encoded, x)
	}
	return encoded
}

// DecodeState decodes what Encode returned. It accepts any bytes, because they
// are received from another process. ok is false if the version is unknown.
func DecodeState(encoded []byte) (s State, ok bool) {
	if len(encoded) == 0 || encoded[0] != stateVersion {
		return State{}, false
	}
	encoded = encoded[1:]
	next := func() int64 {
		x, n := binary.Uvarint(encoded)
		encoded = encoded[max(n, 0):]
		return int64(min(x, math.MaxInt64))
	}
	span := func() time.Duration { return fromMicros(next()) }
	s.HasStarted, s.SinceStart = fromOptional(next())
	s.HasCrawlDelayStart, s.SinceCrawlDelayStart = fromOptional(next())
	s.CrawlDelayLeft = span()
	s.PauseLeft = span()
	s.CrawlDelay = span()
	s.AdaptiveDelay = span()
	backOff := next()
	s.Level = uint8(min(backOff/4, math.MaxUint8))
	s.Latest = Class(backOff % 4)
	s.SinceIncident = span()
	s.QuotaInterval = span()
	s.QuotaLeft = span()
	s.Day = next()
	s.Requests = next()
	s.Bytes = next()
	return s, true
}

// micros returns d in whole microseconds, or 0 if d is negative.
func micros(d time.Duration) uint64 { return uint64(max(d, 0) / time.Microsecond) }

func fromMicros(n int64) time.Duration {
	return time.Duration(min(n, int64(Unlimited/time.Microsecond/2))) * time.Microsecond
}

func optional(ok bool, d time.Duration) uint64 {
	if !ok {
		return 0
	}
	return 1 + micros(d)
}

func fromOptional(n int64) (ok bool, d time.Duration) {
	if n == 0 {
		return false, 0
	}
	return true, fromMicros(n - 1)
}

// Export returns what the next owner of h must know, except for its budget, and
// how long this matters. If final is false, the present owner keeps h, and the
// State has only what was learned.
func (h *Host) Export(now Time, final bool) (s State, keep time.Duration) {
	if final {
		keep = max(h.FreeAt().Sub(now), 0)
		interval := h.LengthenedInterval()
		sinceStart := now.Sub(h.LastStart)
		inInterval := sinceStart < interval || now < h.quotaDue()
		if h.LastStart != Never && inInterval {
			s.HasStarted = true
			s.SinceStart = sinceStart
		}
		sinceCrawlDelayStart := now.Sub(h.LastCrawlDelayStart)
		inCrawlDelay := h.Learned != nil && now < h.Learned.CrawlDelayEnd
		if h.LastCrawlDelayStart != Never && (sinceCrawlDelayStart < interval || inCrawlDelay) {
			s.HasCrawlDelayStart = true
			s.SinceCrawlDelayStart = sinceCrawlDelayStart
		}
		if inCrawlDelay {
			s.CrawlDelayLeft = roundUp(h.Learned.CrawlDelayEnd.Sub(now))
		}
	}
	if k := h.Learned; k != nil {
		pauseLeft := k.PauseEnd.Sub(now)
		s.PauseLeft = max(roundUp(pauseLeft), 0)
		s.CrawlDelay = roundUp(k.CrawlDelay)
		s.AdaptiveDelay = k.Adaptive
		if hasBackOff(k.Level, k.Latest) {
			s.Level = k.Level
			s.Latest = k.Latest
			s.SinceIncident = now.Sub(k.Incident)
		}
		quotaLeft := k.spreadEnd.Sub(now)
		if k.spread > 0 && quotaLeft > 0 {
			s.QuotaInterval = roundUp(k.spread)
			s.QuotaLeft = roundUp(quotaLeft)
			keep = max(keep, quotaLeft)
		}
		// A State without a Crawl-delay matters too: there is no longer one.
		keep = max(keep, pauseLeft, k.CrawlDelay, learnedLifetime)
	}
	return s, keep
}

// roundUp rounds d up to microseconds, so that the next owner never starts a
// request too early.
func roundUp(d time.Duration) time.Duration {
	return Sum(d, time.Microsecond-1).Truncate(time.Microsecond)
}

// Import takes over what another owner has handed over. s replaces what h
// knows, with these exceptions:
//
//   - A quota that h knows stays in force if it is stricter.
//   - Of two starts, ends of a Crawl-delay, pauses or incidents, the later one
//     counts.
//   - With keepCrawlDelay, h keeps its Crawl-delay, which was declared after
//     this member requested the host.
//   - If s has no adaptive delay, h keeps its own. The same is true of the
//     back-off.
//   - A back-off that this member has stored itself is ignored: see
//     ImportBackOff.
//
// age is how old s is, and minAge is how old its starts are at least. The
// argument lastStored is what h.Durable returned when this member last stored a
// State.
func (h *Host) Import(now Time, s State, age, minAge time.Duration, keepCrawlDelay bool, lastStored Learned) {
	if s.HasStarted {
		h.LastStart = max(h.LastStart, now.Add(-minAge).Add(-s.SinceStart))
	}
	if s.HasCrawlDelayStart {
		h.LastCrawlDelayStart = max(h.LastCrawlDelayStart, now.Add(-minAge).Add(-s.SinceCrawlDelayStart))
	}
	if s.CrawlDelayLeft > 0 {
		k := h.Learn()
		k.CrawlDelayEnd = max(k.CrawlDelayEnd, now.Add(-minAge).Add(s.CrawlDelayLeft))
	}
	if !keepCrawlDelay && (s.CrawlDelay > 0 || h.Learned != nil) {
		h.Learn().CrawlDelay = s.CrawlDelay
	}
	if s.AdaptiveDelay > 0 {
		h.Learn().Adaptive = s.AdaptiveDelay
	}
	// A stricter quota that h knows remains in force, as if a response had
	// declared that of s.
	quota := Quota{Spread: s.QuotaInterval, RenewsIn: s.QuotaLeft - age}
	if quota.RenewsIn > 0 {
		h.applyQuota(now, quota)
	}
	h.ImportBackOff(now, s, age, lastStored)
}

// ImportBackOff takes over a pause and the level of the back-off. It ignores
// the level if h knows of a later incident, or if this member has stored that
// level itself and may have learned something since. A pause that ends less
// than a second later than the known one is the same pause, which was reported
// with a delay. Otherwise a pause would grow on its way from member to member.
func (h *Host) ImportBackOff(now Time, s State, age time.Duration, lastStored Learned) {
	k := h.Learned
	end := now.Add(-age).Add(s.PauseLeft)
	isLater := k == nil || end.Add(-time.Second) > k.PauseEnd
	if end > now && isLater {
		k = h.Learn()
		k.PauseEnd = end
		k.pauseCause = ReasonBackOff
	}
	isOwn := s.Level == lastStored.Level && s.Latest == lastStored.Latest
	if !hasBackOff(s.Level, s.Latest) || isOwn {
		return
	}
	incident := now.Add(-age).Add(-s.SinceIncident)
	k = h.Learned
	if k != nil && incident.Add(time.Second) <= k.Incident {
		return
	}
	k = h.Learn()
	k.Level = s.Level
	k.Latest = s.Latest
	k.Incident = max(k.Incident, incident)
}

// Durable returns what was learned from h that must not be lost if its owner
// dies.
func (h *Host) Durable() Learned {
	if h.Learned == nil {
		return Learned{PauseEnd: Never, Latest: Good}
	}
	k := h.Learned
	return Learned{PauseEnd: k.PauseEnd, CrawlDelay: k.CrawlDelay, Level: k.Level, Latest: max(k.Latest, Good)}
}

// NoteImported notes that the fleet has stored s, which h has just imported. h
// may know another Crawl-delay or back-off, which the fleet must store: see
// Import. Pauses are left to the caller, because those of s are relative.
func (h *Host) NoteImported(s State) {
	stored := h.Durable()
	stored.CrawlDelay = s.CrawlDelay
	stored.Level = s.Level
	stored.Latest = max(s.Latest, Good)
	h.Claim.LastStored = stored
}

// NoteStored notes that this member is about to store what h.Durable returns.
// It reports whether that differs from what the fleet stored last.
func (h *Host) NoteStored() (changed bool) {
	durable := h.Durable()
	changed = durable != h.Claim.LastStored
	h.Claim.LastStored = durable
	return changed
}
