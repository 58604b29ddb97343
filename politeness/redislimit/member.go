package redislimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// formatVersion is the version of the data in Redis. It must change with each
// change of the script that members of an earlier version cannot work with.
const formatVersion = 2

const (
	// heartbeatInterval is the time between heartbeats. Every call renews the
	// session. A heartbeat is a call that also
	//   - offers owned hosts to be given back: a 30th of all hosts, and 256 at
	//     least,
	//   - requests up to 256 hosts again,
	//   - returns up to 1,000 silent sessions,
	//   - makes Redis send a notification that tests the subscription, unless
	//     one has arrived since the heartbeat before.
	heartbeatInterval = time.Second

	silenceToReport = 5 * heartbeatInterval / 2

	maxOperations        = 512 // in one call
	maxHostsPerHeartbeat = 256 // that are requested again
	reviewHeartbeats     = 30  // within about as many heartbeats, every host is reviewed

	// minLifetime is how long Redis keeps the state of a fleet, at least, when
	// no member is left; see PEXPIRE in call.lua.
	minLifetime = time.Hour

	resubscribeAfter = 4 // heartbeats without a notification
	reportAfter      = 8 // heartbeats without a notification
)

// A Fleet is this process's membership in a fleet whose members share hosts
// through Redis or Valkey. It is a [politeness.Fleet] for one Limiter, and safe
// for concurrent use. If its Limiter has not needed a host for a while, the
// Fleet owns no host and runs no goroutine.
type Fleet struct {
	engine    engine
	keyPrefix string
	version   int // formatVersion, except in tests
	lease     time.Duration
	timeout   time.Duration
	log       *slog.Logger

	renewedAt atomic.Pointer[time.Time] // when the last successful renewal was sent; nil means no session
	wake      chan struct{}             // contains a value if tasks is not empty

	mu    sync.Mutex // may be locked while the Limiter's lock is held, but not the other way around
	tasks []func()   // for the goroutine
	// done is closed when the goroutine has ended. If the session could not be
	// ended in Redis, done contains the error. nil means that the goroutine
	// does not run.
	done chan error

	member *member // used by the goroutine only
}

// enqueue adds a task for the goroutine. If the goroutine does not run, the
// task remains until the goroutine is started. The caller must hold f.mu.
func (f *Fleet) enqueue(task func()) {
	f.tasks = append(f.tasks, task)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Trusted implements politeness.Fleet. It reports whether less than a Lease has
// passed since the last renewal, by the monotonic clock and by the wall clock.
// The monotonic clock may stop while the machine is suspended, and the wall
// clock may be set back.
func (f *Fleet) Trusted() bool {
	renewedAt := f.renewedAt.Load()
	if renewedAt == nil {
		return false
	}
	now := time.Now()
	monotonic := now.Sub(*renewedAt)
	wall := now.Round(0).Sub(renewedAt.Round(0))
	return monotonic < f.lease && wall < f.lease
}

// runScript runs the script and waits for the reply, at most for f.timeout.
// Clients may ignore the deadline of a context.
func (f *Fleet) runScript(args []any) ([]any, error) {
	type result struct {
		reply []any
		err   error
	}
	results := make(chan result, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
		defer cancel()
		reply, err := f.engine.run(ctx, args)
		results <- result{reply, err}
	}()
	select {
	case r := <-results:
		return r.reply, r.err
	case <-time.After(f.timeout):
		return nil, errTimeout
	}
}

// A member is the state of a Fleet's goroutine. The goroutine runs from when
// the first host is needed until the last host has been given back and the
// session has ended. It makes one call at a time. Each call renews the session
// and contains all operations that are due. If the reply is lost, it is unknown
// whether the call has run, so the member sends the operations again in the
// next call.
//
// A host without an owner is handed out when the epoch is 2 s old. If an
// earlier epoch had members, one of them may own the host, so the epoch must be
// a Lease and one second old. This is so if a member that joins knew an earlier
// epoch, or if the data of the earlier epoch is still there and shows members.
//
// The age of the epoch grows with the server's clock, but by at most 2 s per
// call while any member has a session. Setting that clock therefore has little
// effect. While no member has a session, the whole time counts, so pauses of
// hosts end when they should. If all members are killed at once, the time until
// the next one joins is not counted, and pauses end later. The wall clocks of
// the members do not matter.
type member struct {
	*Fleet
	hosts      map[string]*hostState
	order      []*hostState        // the values of hosts, in any order
	reviewed   int                 // index in order of the host that was reviewed last
	resent     int                 // index in order of the host whose operations were sent again last
	dirty      map[*hostState]bool // hosts for which the next call has an operation
	endedPeers []endedSession      // sessions of others that the next call removes
	closed     bool

	longestLease      time.Duration // of the members, as far as this one knows
	settings          string        // of the Limiter
	warnedDifferences string        // of other members' settings
	epoch             string
	endedAt           time.Time // when it first ended since the session began; zero: not yet
	session           int64     // 0 means none
	callNumber        int64     // of the latest call of the session
	heartbeatAt       time.Time // when the latest heartbeat began
	peers             map[int64]peerSession
	otherVersion      otherVersion
	hasUnregistered   bool               // owned hosts may still have to be registered in the new epoch
	unsubscribe       context.CancelFunc // nil means that there is no subscription
	heartbeatsUnheard int                // heartbeats since the last notification; each but the first causes one
	noNotifications   bool               // no notification arrives, and this was logged

	answeredAt time.Time // when Redis last answered, or when the first call was made
	failure    error     // why calls fail; nil if they succeed
	reported   outage    // what was logged and passed to the Claims
	informedAt time.Time // when the Claims last received the failure
	retryAt    time.Time // no call is made earlier
	lapsed     bool      // the session is no longer trusted
}

// An endedSession is a session of another member that is removed unless the
// member has made another call.
type endedSession struct {
	id         int64
	callNumber int64
}

// A hostState is what a member knows about one host, and which operations it
// still has to send for it. These combinations occur:
//
//	phase           claim contended  register  drop  unsaved
//	unowned         any   no         no        yes   if in flight, or a pause
//	owned           yes   yes        yes       no    yes
//	givingBack      any   no         yes       yes   if requests are in flight
//	maybeGivenBack  any   no         no        yes   if requests are in flight
//	dropping        no    no         yes       yes   if a pause was reported
//	maybeDropped    no    no         no        yes   if a pause was reported
//
// In the phases maybeGivenBack and maybeDropped, another member may own the
// host already, so it is not registered.
type hostState struct {
	name        string
	index       int         // in member.order
	claim       fleet.Claim // requests or owns the host; nil means that the Limiter does not need it
	phase       phase
	unconfirmed fleet.Claim // has ended, but Redis has not confirmed "give"; nil means none

	contended bool // other members wait for the host
	drop      bool // Redis must learn that the host is no longer wanted
	keep      bool // Redis may not have the latest record (phases dropping and maybeDropped)
	register  bool // the host must be registered in a new epoch
	unsaved   bool // Redis does not have the latest record (phase owned) or lateRecord (otherwise)

	token      int64       // proves the ownership to Redis
	record     datedRecord // of the owner
	lateNumber int64       // of the latest late state that the Claim knows; see LATE in call.lua

	// lateRecord is the record of the requests that were in flight when the
	// host was given back, lost or dropped.
	lateRecord datedRecord

	owner      string // the last known owner; "" means none
	waitReason string // the owner and state that were last passed to the Claim; "" means none
}

// A datedRecord is a record of this member. It may be sent long after its State
// was exported, or again in a new epoch. All times in the State are relative to
// the export, so Redis must learn how old the State is.
type datedRecord struct {
	fleet.Record
	exportedAt time.Time
}

type phase uint8

const (
	unowned        phase = iota
	owned                // by the Claim
	givingBack           // the earlier Claim has ended, and Redis has not confirmed the operation "give"
	maybeGivenBack       // as givingBack, but "give" may have run
	dropping             // by close, and Redis has not confirmed the operation "drop"
	maybeDropped         // as dropping, but "drop" may have run
)

// canRegister reports whether the host can be registered in a new epoch.
func (h *hostState) canRegister() bool {
	return h.phase == owned || h.phase == givingBack || h.phase == dropping
}

// isGivingBack reports whether the operation "give" has to be sent.
func (h *hostState) isGivingBack() bool {
	return h.phase == givingBack || h.phase == maybeGivenBack
}

// isDropping reports whether close has given up the host and the operation
// "drop" has to be sent.
func (h *hostState) isDropping() bool {
	return h.phase == dropping || h.phase == maybeDropped
}

// isDone reports whether the member has nothing to do for the host any more.
func (h *hostState) isDone(closed bool) bool {
	if h.claim != nil || h.phase != unowned || h.drop {
		return false
	}
	awaitsResults := h.lateRecord.InFlight > 0 || h.unsaved
	return closed || !awaitsResults
}

// start starts the goroutine if it does not run and has a task. The caller must
// hold m.mu.
func (m *member) start() {
	if m.done == nil && len(m.tasks) > 0 {
		m.done = make(chan error, 1)
		go m.run()
	}
}

func (m *member) run() {
	for {
		wait, ended := m.step()
		if ended {
			return
		}
		select {
		case <-m.wake:
		case <-time.After(wait):
		}
	}
}

// step does what is due, and returns how long to wait for the next step. If
// ended is true, the session has ended, and the goroutine must end too.
func (m *member) step() (wait time.Duration, ended bool) {
	runtime.Gosched() // so that requests made at the same moment share a call
	m.mu.Lock()
	tasks := m.tasks
	m.tasks = nil
	m.mu.Unlock()
	for _, task := range tasks {
		task()
	}
	m.checkTrust(m.failure)
	now := time.Now()
	heartbeat := now.Sub(m.heartbeatAt) >= heartbeatInterval
	switch {
	case m.shouldEnd(now, heartbeat):
		m.endSession()
		return 0, true
	case now.Before(m.retryAt):
		return m.retryAt.Sub(now), false
	case m.session == 0:
		if !m.endedAt.IsZero() && now.Sub(m.endedAt) >= minLifetime {
			m.epoch = "" // its end means nothing, because the keys may have expired
		}
		m.answeredAt = cmp.Or(m.answeredAt, now)
		m.call(now, false)
		return 0, false
	}
	if heartbeat {
		m.heartbeatAt = now
		m.review()
	}
	if heartbeat || len(m.dirty) > 0 {
		m.call(now, heartbeat)
		return 0, false
	}
	return m.heartbeatAt.Add(heartbeatInterval).Sub(now), false
}

// shouldEnd reports whether the session should end. A session without hosts
// ends with the next heartbeat, so that a host that is needed a moment later
// needs no new session.
func (m *member) shouldEnd(now time.Time, heartbeat bool) bool {
	empty := len(m.hosts) == 0
	if empty && (heartbeat || m.closed) {
		return true
	}
	hasNoSession := m.session == 0 && !m.shouldRegister()
	unreachable := hasNoSession || m.failure != nil
	if unreachable && (empty || m.closed) {
		return true
	}
	// After two Leases, even hosts that could not be given back are available
	// to others.
	needed := m.count(func(h *hostState) bool { return h.claim != nil }) > 0
	return m.failure != nil && now.Sub(m.answeredAt) > 2*m.lease && !needed
}

// shouldRegister reports whether the member needs a session to register hosts
// in a new epoch. If it is closed, it does not renew its trust, so this ends
// after a Lease.
func (m *member) shouldRegister() bool {
	return m.Trusted() && m.count((*hostState).canRegister) > 0
}

// count returns the number of hosts for which matches returns true.
func (m *member) count(matches func(*hostState) bool) int {
	n := 0
	for _, h := range m.order {
		if matches(h) {
			n++
		}
	}
	return n
}

func (m *member) countOwned() int {
	return m.count(func(h *hostState) bool { return h.phase == owned })
}

// rotate yields the n hosts after the cursor, or all hosts if there are fewer,
// and moves the cursor. Unless hosts are added or removed, each host is yielded
// once before any host is yielded again.
func (m *member) rotate(cursor *int, n int) iter.Seq[*hostState] {
	return func(yield func(*hostState) bool) {
		for range min(n, len(m.order)) {
			*cursor++
			if *cursor >= len(m.order) {
				*cursor = 0
			}
			if !yield(m.order[*cursor]) {
				return
			}
		}
	}
}

// review is called with each heartbeat. It offers owned hosts to be given back,
// and requests hosts again in case a notification was lost or an owner has
// died. It handles only some of the hosts, because the cost of a heartbeat must
// not grow with their number.
func (m *member) review() {
	for h := range m.rotate(&m.reviewed, max(maxHostsPerHeartbeat, len(m.order)/reviewHeartbeats)) {
		if h.phase == owned {
			m.tryGiveBack(h)
		}
	}
	for h := range m.rotate(&m.resent, maxHostsPerHeartbeat) {
		m.resend(h)
	}
}

// resend makes the next call contain the operations that h needs: it requests h
// again if h is wanted or owned, and it gives h back or stores a record if the
// member has postponed that.
func (m *member) resend(h *hostState) {
	if h.claim != nil || h.isGivingBack() || h.unsaved {
		m.dirty[h] = true
	}
}

// resendAll calls resend for all hosts. It is called when the member may have
// missed notifications.
func (m *member) resendAll() {
	for _, h := range m.order {
		m.resend(h)
	}
}

// look handles a Claim that the Limiter has passed to Look.
func (m *member) look(claim fleet.Claim) {
	h := m.hosts[claim.Host()]
	if h == nil {
		h = &hostState{name: claim.Host()}
	}
	if h.claim == claim {
		m.tryGiveBack(h)
		return
	}
	_, ended := claim.Give(false)
	switch {
	case ended:
	case m.closed:
		claim.Deny(errClosed)
	case h.claim != nil:
		claim.Deny(errShared)
	default:
		m.add(h)
		m.dirty[h] = true
		h.claim = claim
		h.owner = ""
		h.waitReason = ""
		m.settings = claim.Settings()
		m.passFailure(h)
	}
}

// landed handles what the Limiter has passed to RequestEnded. A pause is
// reported even if Redis does not await the request: the request may have
// outlived the Limiter's Lease or the session.
func (m *member) landed(host string, r datedRecord) {
	h := m.hosts[host]
	if h == nil {
		h = &hostState{name: host}
	}
	isAwaited := h.lateRecord.InFlight > 0
	hasPause := r.State != nil
	if h.phase == owned || !isAwaited && !hasPause {
		return
	}
	m.add(h)
	h.lateRecord = r
	h.unsaved = true
	m.dirty[h] = true
}

// mayGiveBack reports whether the member may give hosts to others. A member
// whose subscription has ended keeps its hosts until the next heartbeat
// subscribes again, because it would not notice when a host is offered to it. A
// subscription is sufficient even if it delivers nothing, which the member does
// not notice immediately, or if it is not confirmed yet, because all hosts are
// requested again when it is. If notifications do not work at all
// (noNotifications), the member gives hosts back and requests them again with
// each heartbeat. A closed member does not need any host again.
func (m *member) mayGiveBack() bool {
	return m.closed || m.unsubscribe != nil || m.noNotifications
}

// tryGiveBack ends h's Claim if the Limiter agrees. If the Limiter declines, it
// calls Look when it may agree; the heartbeat is only a second chance. If the
// Claim does not own h, the member requests h again. While calls fail, an owner
// keeps the hosts that others wait for, as long as it needs them itself,
// because Redis could not offer them. If a host has no requests and its delay
// is over, its Claim ends even while calls fail, and the next request to the
// host waits for Redis.
func (m *member) tryGiveBack(h *hostState) {
	r, ended := h.claim.Give(h.contended && m.mayGiveBack() && m.failure == nil)
	if r.State != nil {
		h.record = datedRecord{r, time.Now()}
		h.unsaved = true
	}
	if ended || h.unsaved || h.phase != owned {
		m.dirty[h] = true
	}
	if !ended {
		return
	}
	if h.phase == owned {
		h.phase = givingBack
		h.unsaved = false // "give" contains the record
		h.lateRecord = datedRecord{Record: fleet.Record{InFlight: r.InFlight}}
		h.unconfirmed = h.claim
	} else {
		h.drop = true
	}
	h.claim = nil
	h.contended = false
}

// notified handles a message on the channel of the session. ctx has ended if
// the message is for an earlier subscription.
func (m *member) notified(ctx context.Context, message string) {
	if ctx.Err() != nil {
		return
	}
	if message == subscribed {
		m.resendAll() // a host may have been offered before the subscription began
		return
	}
	m.heartbeatsUnheard = 0
	if m.noNotifications {
		m.noNotifications = false
		m.log.Info("redislimit: notifications from Redis arrive again")
	}
	if h := m.hosts[message]; h != nil {
		m.dirty[h] = true
		if h.claim == nil {
			h.drop = true
		}
	}
}

// subscriptionEnded handles a subscription that has ended by itself. If Redis
// has rejected it, this is logged at once. In any case, the next heartbeat
// subscribes again.
func (m *member) subscriptionEnded(ctx context.Context, err error) {
	if ctx.Err() != nil { // the member has ended the subscription
		return
	}
	m.endSubscription()
	if _, ok := errors.AsType[redis.Error](err); ok {
		m.reportNoNotifications(err)
	}
}

// reportNoNotifications logs that no notifications arrive. From now on, hosts
// change owners with the heartbeats.
func (m *member) reportNoNotifications(err error) {
	if m.noNotifications {
		return
	}
	m.noNotifications = true
	m.log.Error("redislimit: no notifications from Redis arrive, so hosts change owners only once a second: allow the client to SUBSCRIBE, and scripts to PUBLISH, to the channels of the Namespace",
		"error", err)
}

// checkSubscription is called after each successful heartbeat. If no
// notification has arrived since the heartbeat before, a heartbeat makes Redis
// send one. If none arrives, the connection is broken, even if no error was
// returned.
func (m *member) checkSubscription() {
	m.heartbeatsUnheard++
	if m.heartbeatsUnheard%resubscribeAfter == 0 {
		m.endSubscription()
	}
	if m.heartbeatsUnheard >= reportAfter {
		m.reportNoNotifications(errNoNotifications)
	}
	if m.unsubscribe == nil {
		m.subscribe()
	}
}

func (m *member) endSubscription() {
	if m.unsubscribe != nil {
		m.unsubscribe()
		m.unsubscribe = nil
	}
}

// subscribe subscribes to the channel of the session.
func (m *member) subscribe() {
	ctx, cancel := context.WithCancel(context.Background())
	m.unsubscribe = cancel
	f := m.Fleet // m must not be read below, because endSession writes to *m
	channel := fmt.Sprint(m.keyPrefix, m.epoch, ":", m.session)
	receive := func(message string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.enqueue(func() { m.notified(ctx, message) })
	}
	go func() {
		err := f.engine.subscribe(ctx, channel, receive)
		f.mu.Lock()
		defer f.mu.Unlock()
		if ctx.Err() == nil {
			f.enqueue(func() { m.subscriptionEnded(ctx, err) })
		}
	}()
}

// lose makes h unowned, because this member cannot prove that it still owns h.
// It sends "drop" only if Redis may consider this member the owner of h in a
// new epoch.
func (m *member) lose(h *hostState) {
	wasOwned := h.phase == owned
	ended := h.unconfirmed
	h.phase = unowned
	h.unconfirmed = nil
	h.drop = h.drop || h.register // "register" may have run
	h.register = false
	if wasOwned {
		claim := h.claim
		h.claim = nil
		h.contended = false
		h.unsaved = false
		claim.Lose()
	}
	if ended != nil {
		ended.Lose()
	}
}

// checkTrust notices when the session is no longer trusted. Hosts that still
// have to be registered in a new epoch are then lost. The end of the session is
// logged only if it affects an owned host. failure is why the previous call
// failed, or nil.
func (m *member) checkTrust(failure error) {
	if m.lapsed || m.renewedAt.Load() == nil || m.Trusted() {
		return
	}
	m.lapsed = true
	if n := m.countOwned(); n > 0 {
		m.log.Warn("redislimit: the session of this member has ended: no request starts until Redis answers; check that Redis runs",
			"since", m.answeredAt, "hosts", n, "error", failure)
	}
	for _, h := range m.order {
		if h.register {
			m.lose(h)
		}
	}
}

// startSession handles the reply to the call that has started a session. If the
// epoch is new, owned hosts have to be registered in it.
func (m *member) startSession(epoch string, session int64) {
	lost := m.epoch != "" && epoch != m.epoch
	for _, h := range m.order {
		h.drop = h.isDropping()
		h.owner = ""
		h.waitReason = ""
		h.lateNumber = 0 // another epoch counts anew
		h.unsaved = h.unsaved || h.lateRecord.InFlight > 0
		h.register = lost && m.Trusted() && h.canRegister()
		if !h.register {
			m.lose(h)
		}
		m.dirty[h] = true
	}
	if lost {
		m.log.Warn("redislimit: Redis has lost the fleet's state (it was flushed, restarted or failed over, or has evicted a key): this member keeps the hosts that it owns; other hosts are paused for a Lease and a second",
			"hosts_kept", m.countOwned(), "epoch", epoch)
	}
	m.epoch = epoch
	m.session = session
	m.endedAt = time.Time{}
	m.hasUnregistered = lost
	m.otherVersion = otherVersion{}
	m.peers = make(map[int64]peerSession)
	m.endedPeers = nil
	m.heartbeatAt = time.Time{}
	m.heartbeatsUnheard = 0
	m.endSubscription()
}

// compareSettings logs a warning if the Limiter of the member that joined last
// has different settings from the Limiter of this member. Each member applies
// its own settings to the hosts that it owns, so the delay of a host would
// depend on its owner.
func (m *member) compareSettings(other string) {
	differences := settingDifferences(m.settings, other)
	if differences == "" || differences == m.warnedDifferences {
		return
	}
	m.warnedDifferences = differences
	m.log.Warn("redislimit: another member's Limiter has different settings, so the delay of a host depends on its owner: give all members the same settings",
		"differences", differences)
}

// callSucceeded handles a successful call that was sent at the given time.
// failure is why the previous call failed, or nil.
//
// While a host that this member owns is not registered in a new epoch, the
// member trusts only its earlier session. If it trusted the new session, it
// might use the host when another member already owns it.
func (m *member) callSucceeded(sentAt time.Time, failure error) {
	m.checkTrust(failure)
	if m.hasUnregistered {
		m.hasUnregistered = m.count(func(h *hostState) bool { return h.register && h.phase == owned }) > 0
	}
	if !m.closed && !m.hasUnregistered {
		m.renewedAt.Store(&sentAt)
	}
	now := time.Now()
	if m.reported != noOutage {
		m.log.Info("redislimit: Redis answers again", "after", now.Sub(m.answeredAt), "hosts", m.countOwned())
	}
	if m.lapsed {
		m.resendAll() // so that waiting requests check again whether they may start
	}
	m.answeredAt = now
	m.reported = noOutage
	m.lapsed = false
}

// An outage is why calls fail. A larger value replaces a smaller one in the
// log.
type outage uint8

const (
	noOutage    outage = iota
	unreachable        // Redis does not answer
	rejected           // Redis returns an error, or the fleet has another version
)

// callFailed handles a call that has failed. Failures that may end soon are
// logged only after silenceToReport.
func (m *member) callFailed(err error) {
	now := time.Now()
	m.failure = err
	m.retryAt = now.Add(retryInterval)
	cause := unreachable
	reportable := now.Sub(m.answeredAt) >= silenceToReport
	if r := asRejection(err); r != nil {
		m.failure = r
		m.retryAt = now.Add(r.retryIn)
		cause = rejected
		reportable = reportable || r.persistent
	}
	if !reportable && m.reported == noOutage {
		return
	}
	if reportable && cause > m.reported {
		m.reported = cause
		m.informedAt = time.Time{}
		m.logOutage()
	}
	if now.Sub(m.informedAt) >= heartbeatInterval { // not after each attempt, because there may be many hosts
		m.informedAt = now
		for _, h := range m.order {
			m.passFailure(h)
		}
	}
}

func (m *member) logOutage() {
	attributes := []any{"since", m.answeredAt, "hosts", m.countOwned(), "error", m.failure}
	if m.reported == unreachable {
		m.log.Warn("redislimit: Redis does not answer: requests to hosts that this member owns continue until its session ends, and requests to other hosts wait; check that Redis runs",
			attributes...)
		return
	}
	m.log.Error("redislimit: this member gets no more hosts: requests to hosts that it owns continue until its session ends, and requests to other hosts wait or fail",
		attributes...)
}

// passFailure passes the reason why calls fail to h's Claim if the Claim waits
// for the host and the reason was logged.
func (m *member) passFailure(h *hostState) {
	if m.reported == noOutage || h.claim == nil || h.phase == owned {
		return
	}
	h.waitReason = ""
	until := time.Now().Add(heartbeatInterval + retryInterval) // by then, passFailure has been called again
	if m.retryAt.After(until) {
		until = m.retryAt
	}
	h.claim.Wait(until, fleet.Record{}, &AwayError{Owner: h.owner, Since: m.answeredAt, Err: m.failure})
}

// An operation is a part of a call that concerns one host.
type operation struct {
	name string
	host *hostState
}

// The kinds of calls, as the script knows them.
const (
	ordinaryCall     = 0
	plainHeartbeat   = 1
	testingHeartbeat = 2 // also causes a notification
)

// A scriptCall collects the arguments of a call.
type scriptCall struct {
	args       []any
	operations []operation
}

// add adds an operation for a host, with one of the host's records.
func (c *scriptCall) add(name string, h *hostState, r *datedRecord) {
	keep := (r.Keep + time.Millisecond - 1).Milliseconds()
	stateAge := int64(0)
	if r.State != nil {
		stateAge = time.Since(r.exportedAt).Milliseconds()
	}
	c.args = append(c.args, name, h.name, h.token, r.State, keep, r.InFlight, h.lateNumber, stateAge)
	c.operations = append(c.operations, operation{name, h})
}

// addEnd adds the operation that ends a session. Its result has no meaning.
func (c *scriptCall) addEnd(s endedSession) {
	c.args = append(c.args, "finish", s.id, s.callNumber, "", 0, 0, 0, 0)
	c.operations = append(c.operations, operation{name: "finish"})
}

// newCall returns the next call, with the operations that are due for hosts in
// m.dirty. If there are more than maxOperations, the call after it contains the
// rest. A member without a session only starts one. The caller may add
// operations.
func (m *member) newCall(heartbeat bool) *scriptCall {
	m.callNumber++
	kind := ordinaryCall
	switch {
	case heartbeat && m.heartbeatsUnheard > 0:
		kind = testingHeartbeat
	case heartbeat:
		kind = plainHeartbeat
	}
	newEpoch := ""
	settings := ""
	if m.session == 0 {
		newEpoch = rand.Text()
		settings = m.settings
	}
	c := &scriptCall{args: make([]any, 0, 10+8*min(len(m.dirty)+len(m.endedPeers)+1, maxOperations))}
	c.args = append(c.args, m.version, m.keyPrefix, m.epoch, m.session, m.callNumber, m.longestLease.Milliseconds(),
		newEpoch, kind, m.otherVersion.argument(), settings)
	if m.session == 0 {
		return c
	}
	for _, s := range m.endedPeers {
		c.addEnd(s)
	}
	m.endedPeers = nil
	for h := range m.dirty {
		if len(c.operations) >= maxOperations {
			break
		}
		delete(m.dirty, h)
		m.addOperations(c, h)
	}
	return c
}

// addOperations adds the operations that are due for h.
func (m *member) addOperations(c *scriptCall, h *hostState) {
	if h.register {
		c.add("register", h, &h.record) // other operations follow when Redis has confirmed this one
		m.removeIfDone(h)
		return
	}
	if h.isGivingBack() {
		if !m.mayGiveBack() {
			return // resend repeats this later
		}
		c.add("give", h, &h.record)
	}
	if h.phase == owned && h.unsaved || h.isDropping() && h.keep {
		c.add("keep", h, &h.record)
	}
	if h.drop {
		c.add("drop", h, &h.record) // after "give" and "keep", whose records the next owner needs
	}
	if h.unsaved && (h.phase == unowned || h.isDropping()) {
		c.add("land", h, &h.lateRecord)
	}
	if h.claim != nil {
		c.add("want", h, &h.record)
	}
	m.removeIfDone(h)
}

// call renews the session, or starts one, and sends the operations that are
// due.
func (m *member) call(now time.Time, heartbeat bool) {
	c := m.newCall(heartbeat)
	reply, err := m.runScript(c.args)
	status := element[string](reply, 0)
	if status == "ok" {
		if m.session == 0 {
			m.startSession(element[string](reply, 3), element[int64](reply, 4))
			m.compareSettings(element[string](reply, 6))
		}
		m.longestLease = max(m.longestLease, milliseconds(reply, 1))
		failure := m.failure
		m.failure = nil // before applyResults, which may give hosts back
		m.applyResults(element[[]any](reply, 2), c.operations)
		if heartbeat {
			m.observePeers(element[[]any](reply, 5))
		}
		m.callSucceeded(now, failure)
		if heartbeat {
			m.checkSubscription()
		}
		return
	}

	// In a new epoch, a call that the client has sent once has not run.
	hasNotRun := status == "epoch" && element[string](reply, 1) == "1"
	for _, o := range c.operations {
		if o.host == nil {
			continue // observePeers finds the ended session again
		}
		m.dirty[o.host] = true
		if o.name == "give" && !hasNotRun {
			o.host.phase = maybeGivenBack
		}
		if o.name == "drop" && !hasNotRun && o.host.phase == dropping {
			o.host.phase = maybeDropped
		}
	}
	switch status {
	case "epoch":
		m.session = 0
		// Without this pause, a client that alternates between two servers
		// would call without end, because each call would return this status.
		m.retryAt = now.Add(newEpochInterval)
		if host := element[string](reply, 2); host != "" {
			m.log.Error("redislimit: the stored data of a host is invalid, so the fleet's state was deleted: check whether another program writes to the keys of the Namespace", "host", host)
		}
	case "session":
		m.session = 0
		m.renewedAt.Store(nil)
		m.log.Warn("redislimit: other members have ended the session of this member, which did not renew it in time: this member starts a new session and requests its hosts again",
			"since", m.answeredAt, "hosts", m.countOwned())
	case "version":
		m.session = 0
		m.renewedAt.Store(nil)
		m.longestLease = max(m.longestLease, milliseconds(reply, 3))
		m.otherVersion = m.otherVersion.observe(element[string](reply, 2), time.Now(), m.longestLease)
		m.callFailed(&versionError{stored: element[string](reply, 1), own: m.version})
	case "late":
		// Redis has ignored a call that the client has sent twice. The next
		// call contains the operations again.
	default:
		m.callFailed(cmp.Or(err, fmt.Errorf("redislimit: unexpected reply of the script: %v", reply)))
	}
}

// applyResults applies the results of the operations of a call.
func (m *member) applyResults(results []any, operations []operation) {
	for i, o := range operations {
		if o.host == nil {
			continue
		}
		h := o.host
		result := element[[]any](results, i)
		switch o.name {
		case "drop":
			h.drop = false
			if h.isDropping() {
				h.phase = unowned // Redis has also executed "keep", if any
			}
		case "give":
			h.phase = unowned
			h.unconfirmed = nil
			if h.unsaved {
				m.dirty[h] = true
			}
		case "land":
			// In a new epoch, Redis cannot store this yet. resend repeats it
			// later.
			h.unsaved = element[string](result, 0) == "closed"
		case "keep":
			if h.phase == owned {
				h.unsaved = false
			}
		case "register":
			h.register = false
			h.token = element[int64](result, 1)
			m.dirty[h] = true
			if element[string](result, 0) != "own" {
				m.lose(h)
			}
		case "want":
			m.applyWant(h, result)
		}
		m.removeIfDone(h)
	}
}

// applyWant applies the result of the operation "want" for h.
func (m *member) applyWant(h *hostState, result []any) {
	status := element[string](result, 0)
	switch {
	case status == "own":
		m.own(h, parseOwnedResult(result))
	case h.phase == owned:
		m.lose(h)
	case status == "closed":
		until := time.Now().Add(milliseconds(result, 1) + time.Millisecond)
		h.claim.Wait(until, fleet.Record{}, errNewEpoch)
	case status == "other":
		r := storedRecord(result)
		owner := fmt.Sprint("member ", element[int64](result, 1))
		reason := owner + string(r.State)
		if reason == h.waitReason {
			return // the Claim has it
		}
		h.owner = owner
		h.waitReason = reason
		h.claim.Wait(time.Time{}, r, fmt.Errorf("redislimit: %s of the fleet owns it, or is its next owner; this member waits for its turn", owner))
	}
}

// An ownedResult is the result of the operation "want" for a host that this
// member owns: see describeOwned in call.lua.
type ownedResult struct {
	token       int64
	contended   bool // other members wait for the host
	record      fleet.Record
	lateStates  []any         // see lateRecords
	keepFurther time.Duration // how much longer Redis must keep the states
}

func parseOwnedResult(result []any) ownedResult {
	return ownedResult{
		token:       element[int64](result, 1),
		contended:   element[int64](result, 2) > 0,
		record:      storedRecord(result),
		lateStates:  element[[]any](result, 8),
		keepFurther: milliseconds(result, 9),
	}
}

// own notes that this member owns h, or still owns it.
func (m *member) own(h *hostState, result ownedResult) {
	r := result.record
	isNew := h.phase != owned
	if isNew {
		h.phase = owned
		h.unconfirmed = nil
		h.lateRecord = datedRecord{}
		h.unsaved = false
		h.lateNumber = 0
		h.record = datedRecord{ // to be registered in the next epoch
			Record: fleet.Record{
				State: r.State,
				Keep:  r.Age + max(result.keepFurther, time.Hour),
			},
			exportedAt: time.Now().Add(-r.Age),
		}
	}
	h.token = result.token
	h.contended = result.contended
	late, largest := lateRecords(result.lateStates, h.lateNumber, r.InFlight)
	h.lateNumber = largest
	if isNew {
		// Own may make a request start at once, so the Claim must learn of late
		// pauses first.
		for _, l := range late {
			h.claim.Wait(time.Time{}, l, nil)
		}
		h.claim.Own(r)
	} else {
		h.claim.Own(r)
		for _, l := range late {
			h.claim.Own(l)
		}
	}
	if h.contended || len(late) > 0 {
		m.tryGiveBack(h)
	}
}

// lateRecords returns the records of the late states in the result of an
// operation whose numbers are larger than known, and the largest number.
func lateRecords(list []any, known int64, inFlight int) ([]fleet.Record, int64) {
	const fields = 3 // number, age and state
	var records []fleet.Record
	largest := known
	for i := 0; i < len(list); i += fields {
		number := element[int64](list, i)
		if number <= known {
			continue
		}
		largest = max(largest, number)
		records = append(records, fleet.Record{
			State:    []byte(element[string](list, i+2)),
			Age:      max(milliseconds(list, i+1)-time.Millisecond, 0),
			InFlight: inFlight,
			Late:     true,
		})
	}
	return records, largest
}

// storedRecord returns the record in the result of an operation. The ages are
// rounded down, because Redis counts whole milliseconds.
func storedRecord(result []any) fleet.Record {
	r := fleet.Record{
		Age:      max(milliseconds(result, 4)-time.Millisecond, 0),
		MinAge:   max(milliseconds(result, 5)-time.Millisecond, 0),
		Missing:  element[int64](result, 6) == 1,
		InFlight: int(element[int64](result, 7)),
	}
	if state, ok := element[any](result, 3).(string); ok {
		r.State = []byte(state)
	}
	return r
}

// observePeers finds sessions that have ended. The pairs are the sessions that
// were not renewed for a while, each with the number of its latest call.
func (m *member) observePeers(pairs []any) {
	now := time.Now()
	peers := make(map[int64]peerSession, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		id := element[int64](pairs, i)
		s := m.peers[id].observe(element[int64](pairs, i+1), now)
		peers[id] = s
		if id == m.session || !hasEnded(s.silentFor, m.longestLease) {
			continue
		}
		m.log.Info("redislimit: a member of the fleet has stopped renewing its session: its hosts are available to other members",
			"member", id, "for", s.silentFor)
		m.endedPeers = append(m.endedPeers, endedSession{id, s.callNumber})
		m.resendAll()
	}
	for id, s := range m.peers {
		_, isSilent := peers[id]
		if !isSilent && s.silentFor >= m.longestLease {
			// Probably another member has ended the session, so its hosts are
			// available.
			m.resendAll()
			break
		}
	}
	m.peers = peers
}

// close gives up all hosts. A host whose Claim cannot end now (requests are in
// flight, or wait, or the last one ended less than 50 ms ago) is dropped: the
// next owner waits a whole Delay from now. If Redis does not have the latest
// record, it is stored first. A late state would not do, because the next owner
// takes over only pauses from it, and no reservation of the Budget.
//
// If Redis has lost its data, hosts are registered in the new epoch before they
// are given back or dropped. The session stays trusted for this. No request can
// start meanwhile, because no Claim owns a host.
func (m *member) close() {
	m.closed = true
	for _, h := range m.order {
		m.dirty[h] = true
		if h.phase == owned {
			h.contended = true
			m.tryGiveBack(h)
		}
		switch {
		case h.claim != nil && h.phase == owned:
			h.keep = h.unsaved
			register := h.register
			m.lose(h)
			h.phase = dropping
			h.drop = true
			h.register = register
		case h.claim != nil:
			h.claim.Deny(errClosed)
			h.claim = nil
			h.drop = true
		}
	}
}

// add adds h to the hosts unless it is among them.
func (m *member) add(h *hostState) {
	if m.hosts[h.name] == h {
		return
	}
	m.hosts[h.name] = h
	h.index = len(m.order)
	m.order = append(m.order, h)
}

// removeIfDone removes h from the hosts if nothing is left to do for it.
func (m *member) removeIfDone(h *hostState) {
	if m.hosts[h.name] != h || !h.isDone(m.closed) {
		return
	}
	delete(m.hosts, h.name)
	last := len(m.order) - 1
	moved := m.order[last]
	m.order[h.index] = moved
	moved.index = h.index
	m.order[last] = nil
	m.order = m.order[:last]
}

// endSession ends the session and the goroutine. If tasks remain, it starts
// another goroutine, so that Close does not wait for later requests.
func (m *member) endSession() {
	if m.session != 0 {
		err := m.failure
		if err == nil {
			c := m.newCall(false)
			c.addEnd(endedSession{m.session, m.callNumber})
			_, err = m.runScript(c.args)
		}
		m.done <- err
	}
	m.renewedAt.Store(nil)
	m.endSubscription()
	m.mu.Lock()
	defer m.mu.Unlock()
	next := newMember(m.Fleet)
	next.closed = m.closed
	next.epoch = m.epoch
	next.endedAt = m.endedAt
	if m.endedAt.IsZero() {
		next.endedAt = time.Now()
	}
	next.longestLease = m.longestLease
	next.otherVersion = m.otherVersion
	next.noNotifications = m.noNotifications
	next.warnedDifferences = m.warnedDifferences
	*m = *next
	close(m.done)
	m.done = nil
	m.start()
}

func newMember(f *Fleet) *member {
	return &member{
		Fleet:        f,
		hosts:        make(map[string]*hostState),
		dirty:        make(map[*hostState]bool),
		longestLease: f.lease,
	}
}

// element returns element i of a list in a reply. If there is no such element,
// or if it has another type, element returns the zero value.
func element[T any](list []any, i int) T {
	var v T
	if i < len(list) {
		v, _ = list[i].(T)
	}
	return v
}

func milliseconds(list []any, i int) time.Duration {
	return time.Duration(element[int64](list, i)) * time.Millisecond
}
