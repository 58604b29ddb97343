package redislimit

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// slot is a politeness.Slot in Redis.
type slot struct {
	b        *Backend
	host     string
	terms    politeness.Terms
	start    time.Time
	final    bool   // it need not be looked at again
	busy     bool   // it is no slot, but a time to ask again
	void     bool   // it did not stand
	at       int64  // start, in Redis's ms
	before   int64  // what its host's latest slot was before it
	voids    byte   // the host's count of void slots
	epoch    int64  // that it is of
	lease    uint32 // its number; 0: none has been taken yet
	mu       sync.Mutex
	state    slotState
	renewal  *time.Timer
	leaseEnd time.Time
}

type slotState uint8

const (
	taken slotState = iota
	claimed
	freed
)

var (
	errAgain   = errors.New("redislimit: Redis has been lost")
	errUnknown = errors.New("redislimit: Redis does not know the fleet")
)

func (b *Backend) takeRedis(ctx context.Context, host string, terms politeness.Terms, limit time.Time) (politeness.Slot, error) {
	s := &slot{b: b, host: host, terms: terms}
	if terms.EndToStart || terms.Pace < eager {
		s.lease = leaseNumber()
	}
	b.mu.Lock()
	sha := b.sha
	b.mu.Unlock()
	c, err := b.do(ctx, limit, s, "evalsha", sha, 2, b.prefix+host, b.epochKey, "take", s.ask())
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case strings.HasPrefix(err.Error(), "NOSCRIPT"):
		b.mu.Lock()
		b.unloaded = true
		b.mu.Unlock()
		return nil, errUnknown
	default:
		b.lose(err)
		return nil, errAgain
	}
	if err := s.read(c); err != nil {
		return nil, err
	}
	return s, nil
}

func leaseNumber() uint32 { return 1 + rand.Uint32N(math.MaxUint32) }

// ask is what pace.lua is told of s: eight numbers of eight bytes each.
func (s *slot) ask() string {
	told, exempt := int64(-1), int64(0)
	if s.terms.Told {
		told = millis(s.terms.CrawlDelay)
	}
	if s.terms.Exempt {
		exempt = 1
	}
	question := make([]byte, 0, 64)
	for _, n := range [8]int64{
		millis(s.terms.Pace), told, s.terms.MaxWait.Milliseconds(), int64(max(s.terms.Concurrency, 1)), exempt,
		int64(math.Float64bits(1 + s.terms.Jitter)), int64(s.lease), millis(min(s.terms.Lease, holdFor)),
	} {
		question = binary.BigEndian.AppendUint64(question, uint64(n))
	}
	return string(question)
}

// What pace.lua answers to a take is up to seven numbers. The first is one of these.
const (
	answerClosed int64 = iota
	answerRefused
	answerBusy
	answerNow
	answerTaken
)

// read reads the answer to a take.
func (s *slot) read(c *call) error {
	answer, _ := c.cmd.Val().(string)
	var n [7]int64
	var octets [8 * len(n)]byte
	copy(octets[:], answer)
	for i := range n {
		n[i] = int64(binary.BigEndian.Uint64(octets[8*i:]))
	}
	if len(answer) < 3*8 {
		n[0] = -1 // none of those below
	}
	b := s.b
	b.mu.Lock()
	defer b.mu.Unlock()
	now := time.Now()
	if n[1] > 0 {
		b.clock.learn(c.sent, c.received, n[1])
	}
	s.start = b.clock.local(n[2] * 1000)
	if n[0] != answerClosed && n[3]*1000 > n[1] {
		b.paused(s.host, b.clock.local(n[3]*1000), now)
	}
	switch n[0] {
	case answerNow:
		s.start, s.final = b.clock.local(n[1]), true // the answer may have come late
	case answerTaken:
		// By Redis's clock: while the answer was under way, the slot may have become void.
		s.final = n[2]*1000-n[1] <= lead.Microseconds()
	case answerBusy:
		s.busy = true
		return nil
	case answerRefused:
		b.stats.Refused++
		return &politeness.DelayError{Host: s.host, Until: s.start}
	case answerClosed:
		return errUnknown
	default:
		return fmt.Errorf("redislimit: Redis answers %v: are there two versions of the script?", c.cmd.Val())
	}
	s.at, s.voids, s.before, s.epoch = n[2], byte(n[4]), n[5], n[6]
	return nil
}

// Time is the moment at which the slot begins, by the local clock.
func (s *slot) Time() time.Time { return s.start }

// At implements politeness.Slot.
func (s *slot) At() time.Time {
	if s.final || s.busy {
		return s.start
	}
	return s.start.Add(-lead)
}

// tooLate reports whether a request may no longer start at the slot of start: it
// would be too near to the next.
func tooLate(start time.Time, terms politeness.Terms) bool {
	return terms.Pace > 0 && time.Since(start) > max(terms.Pace/4, 5*time.Millisecond)
}

// Claim implements politeness.Slot.
func (s *slot) Claim(ctx context.Context) bool {
	if s.busy {
		return false
	}
	stands := (s.final || s.stands(ctx)) && sleepUntil(ctx, s.start) && !tooLate(s.start, s.terms)
	s.mu.Lock()
	defer s.mu.Unlock()
	if !stands {
		s.void = ctx.Err() == nil
		s.b.count(&s.b.stats.Void)
		return false
	}
	s.b.count(&s.b.stats.Slots)
	s.state = claimed
	s.leaseEnd = time.Now().Add(s.terms.Lease)
	if s.lease == 0 {
		// Most requests are over long before the next may start: nobody has to
		// hear of those.
		s.renewal = time.AfterFunc(time.Until(s.start)+s.terms.Pace/2, s.hold)
	} else {
		s.renewal = time.AfterFunc(holdFor/3, s.hold)
	}
	return true
}

// stands asks Redis whether the slot that had to be waited for is still good.
func (s *slot) stands(ctx context.Context) bool {
	b := s.b
	b.mu.Lock()
	lost, look := b.own != nil, b.look
	b.mu.Unlock()
	if lost {
		return false
	}
	c, err := b.do(ctx, time.Now().Add(b.timeout), nil, "evalsha", look, 2, b.prefix+s.host, b.epochKey)
	switch {
	case err == nil:
	case ctx.Err() != nil || strings.HasPrefix(err.Error(), "NOSCRIPT"):
		return false // the next to take a slot finds out why
	default:
		b.lose(err)
		return false
	}
	reply, _ := c.cmd.Slice()
	if len(reply) != 2 {
		return false
	}
	state, _ := reply[0].(string)
	open, _ := reply[1].(string)
	epoch, err := strconv.ParseInt(open, 10, 64)
	return err == nil && epoch == s.epoch && len(state) > 6 && state[6]&0x7f == s.voids
}

func sleepUntil(ctx context.Context, t time.Time) bool {
	wait := time.Until(t)
	if wait <= 0 {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// hold takes the lease of a request that is still in flight, or renews it.
func (s *slot) hold() {
	s.mu.Lock()
	defer s.mu.Unlock()
	left := time.Until(s.leaseEnd)
	if s.state != claimed || left <= 0 {
		return
	}
	if s.lease == 0 {
		s.lease = leaseNumber()
	}
	s.b.note(s.host, "hold", s.lease, millis(min(left, holdFor)), max(s.terms.Concurrency, 1), millis(lead))
	s.renewal.Reset(holdFor / 3)
}

// Free implements politeness.Slot.
func (s *slot) Free() {
	s.mu.Lock()
	defer s.mu.Unlock()
	was := s.state
	s.state = freed
	exempt := 0
	if s.terms.Exempt {
		exempt = 1
	}
	switch {
	case was == freed || s.busy:
	case was == taken && s.void && s.lease == 0: // nobody can use it
	case was == taken:
		s.b.note(s.host, "back", s.at, s.before, exempt, s.lease, s.voids)
	default:
		s.renewal.Stop()
		interval := int64(0)
		if s.terms.EndToStart {
			interval = max(millis(max(s.terms.Pace, s.terms.CrawlDelay)), 1)
		}
		if s.lease != 0 || interval > 0 {
			s.b.note(s.host, "free", s.lease, exempt, interval)
		}
	}
}

// note is tell, if Redis is there to hear.
func (b *Backend) note(host, op string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.own == nil || b.own.cause == nil {
		b.tell(host, op, args...)
	}
}

func (b *Backend) count(n *uint64) {
	b.mu.Lock()
	defer b.mu.Unlock()
	*n++
}

// ownSlot is a politeness.Slot of a member that is on its own.
type ownSlot struct {
	b     *Backend
	own   *own
	terms politeness.Terms
	start time.Time
	at    time.Time // when to claim it
	again bool      // it is no slot, but a time to ask again
}

func (b *Backend) takeOwn(host string, terms politeness.Terms) (politeness.Slot, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	o, now := b.own, time.Now()
	s := &ownSlot{b: b, own: o, terms: terms, start: now, at: now, again: true}
	if o == nil {
		return s, nil // Redis is back just now
	}
	waiting := o.resume.IsZero()
	if waiting && now.Sub(o.failed) > probe/2 {
		b.startReport(now)
	}
	usable := !b.stop && b.seated()
	switch {
	case usable || !waiting:
	case !o.sure:
		s.at = now.Add(b.timeout / 4) // by then it may be back
		return s, nil
	default:
		b.stats.Refused++
		return nil, &AwayError{Host: host, Until: now.Add(probe), Err: o.cause}
	}
	if usable {
		// The last slots that Redis gave are over by an interval then.
		interval := terms.Pace
		if !terms.Exempt {
			interval = max(interval, terms.CrawlDelay)
		}
		// And what was no more than a hiccup is over.
		first := o.since.Add(max(interval, 4*b.timeout) + lead)
		if now.After(first) {
			first = now
		}
		if end := b.pauses[host]; end.After(first) {
			first = end
		}
		s.start = o.clock.local(ownCell(o.clock.server(first), b.seat.number, b.seat.of, terms))
	}
	switch {
	case !waiting && (!usable || !s.start.Before(o.resume)):
		s.start, s.at = o.resume, o.resume
	case s.start.Sub(now) > repoll:
		s.at = now.Add(repoll)
	default:
		s.again = false
		s.at = s.start.Add(-b.timeout - lead) // so that a last report fits in
	}
	if s.start.Sub(now) > terms.MaxWait {
		b.stats.Refused++
		return nil, &politeness.DelayError{Host: host, Until: s.start}
	}
	return s, nil
}

// Time is the moment at which the slot begins, by the local clock.
func (s *ownSlot) Time() time.Time { return s.start }

// At implements politeness.Slot.
func (s *ownSlot) At() time.Time { return s.at }

// Claim implements politeness.Slot. No request starts without Redis unless a
// report has failed just before. So when Redis is back, all members have heard of
// it before any of them may use its slots.
func (s *ownSlot) Claim(ctx context.Context) bool {
	if s.again {
		return false
	}
	b, o := s.b, s.own
	b.mu.Lock()
	if now := time.Now(); b.own == o && o.resume.IsZero() && now.Sub(o.failed) > probe/2 {
		b.startReport(now) // it will have failed before the slot begins, if it does
	}
	b.mu.Unlock()
	if !sleepUntil(ctx, s.start) {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	known := s.start.Before(o.resume) || o.resume.IsZero() && time.Since(o.failed) < probe+b.timeout
	if b.own != o || !known || tooLate(s.start, s.terms) {
		b.stats.Void++
		return false
	}
	o.starts++
	b.stats.Own++
	return true
}

// Free implements politeness.Slot. There is nothing to give back: the others have
// their own.
func (s *ownSlot) Free() {}
