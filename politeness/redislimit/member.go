package redislimit

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"maps"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness/internal/fleet"
)

// formatVersion is the version of what is stored in Redis. It must change with
// each change of the script that members of an earlier version cannot work
// with.
const formatVersion = 1

const (
	beat    = time.Second     // how often a session is renewed
	contact = 2 * time.Second // a session's silence grows by at most this much from one answer to the next
	silence = 5 * beat / 2    // how long Redis may be silent before the log says so
	pause   = beat / 4        // the time between attempts to reach Redis
	maxOps  = 512             // the most operations in one call
	maxAsks = 256             // one beat asks again for at most this many hosts
	mute    = 4               // a channel without a message for this many beats is subscribed to anew
	rounds  = 30              // a member reviews all its hosts within about this many beats
)

// A Fleet is this process's membership in a fleet whose members share hosts
// through Redis or Valkey. It is a [politeness.Fleet] for one Limiter, and safe
// for concurrent use. When its Limiter has needed no host for a while, the
// Fleet owns no host and runs no goroutine.
type Fleet struct {
	engine         engine
	prefix         string // how the keys begin
	version        int    // formatVersion, except in tests
	lease, timeout time.Duration
	log            *slog.Logger

	trust atomic.Pointer[time.Time] // when the last successful renewal was sent; nil means no session
	wake  chan struct{}             // holds one value if the inbox is not empty

	mu    sync.Mutex // held for moments; taken after the Limiter's lock, never before it
	inbox []func()   // what the goroutine has to do next
	// done is closed when the goroutine has ended. Before, it gets an error if
	// Redis has not confirmed the end of the session. nil means that the
	// goroutine does not run.
	done chan error

	member *member // used by the goroutine only
}

// put makes the goroutine call do() as soon as the goroutine runs. The caller
// must hold f.mu.
func (f *Fleet) put(do func()) {
	f.inbox = append(f.inbox, do)
	select {
	case f.wake <- struct{}{}:
	default:
	}
}

// Trusted implements politeness.Fleet. It reports whether both clocks say that
// the Lease is not over. One clock is not enough, because it may fall behind:
// the monotonic clock may stand still while the machine is suspended, and the
// wall clock may be set back.
func (f *Fleet) Trusted() bool {
	sent := f.trust.Load()
	if sent == nil {
		return false
	}
	now := time.Now()
	return now.Sub(*sent) < f.lease && now.Round(0).Sub(sent.Round(0)) < f.lease
}

// ask runs the script and waits for its answer, but no longer than Timeout.
func (f *Fleet) ask(args ...any) (reply []any, err error) {
	var answer []any // written before "came" receives a value
	came := make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), f.timeout)
		defer cancel()
		var err error
		answer, err = f.engine.run(ctx, args)
		came <- err
	}()
	select {
	case err := <-came:
		return answer, err
	case <-time.After(f.timeout):
		return nil, errSlow
	}
}

// A member is the state of a Fleet's goroutine. The goroutine runs from when
// the first host is needed until the last host has been given back and the
// session has ended. It makes one call at a time. A call renews the session and
// carries all that the member asks for and gives back at that moment. If the
// answer to a call is lost, the call may or may not have run. So the member
// says the same again in the next call.
//
// A host without an owner is given away when the epoch is 2 s old. But if any
// member knew an earlier epoch, it is given away only one second after the new
// epoch has become as old as a Lease. The age of the epoch grows by what the
// server's clock says has passed since the last call, but by no more than 2 s
// while any member has a session. So it matters little if that clock is set.
// While nobody has a session, all of it counts: a pause ends when it said,
// although no process was there. If all members are killed at once, the time
// until the next one comes is not counted: pauses end later by as much. The
// members' wall clocks do not matter.
type member struct {
	*Fleet
	places          map[string]*place
	order           []*place        // the places, in any order
	reviewed, asked int             // the indexes in order of the places that had their turn last: see review
	todo            map[*place]bool // the places that the next call is about
	dead            []*place        // the sessions to end: host is the id, token is the latest call's number
	closed          bool

	settings string // of the Limiter
	warned   string // how the settings of others differ, as logged
	epoch    string
	id       int64              // the session's id; 0 means none
	number   int64              // the latest call's number
	beaten   time.Time          // when the latest beat began
	sessions map[int64]watched  // the silent sessions of others
	others   others             // the fleet of another version
	entering bool               // some place may still have to be entered into a new epoch
	unlisten context.CancelFunc // ends the listening to the channel; nil means that the member does not listen
	unheard  int                // beats since the last message; each beat causes one
	deaf     bool               // no hints arrive, which was logged: hosts change hands with the beats

	answered time.Time // when Redis last answered; before the first answer, when it was first asked
	failing  error     // why Redis does not answer now; nil if it answers
	reported trouble   // what the log and waiting requests know about it
	informed time.Time // when waiting requests last received the error
	retry    time.Time // no call before this time
	lapsed   bool      // the session is no longer trusted
}

// others is what a member knows about a fleet of another version, which uses
// the same keys.
type others struct {
	count  string        // the count of its calls; "" means there is no such fleet
	at     time.Time     // when the count was last looked at
	silent time.Duration // for how long the count has stood still
	over   bool          // none of its members owns a host any more
}

// A place has what a member knows about one host, and what the member still has
// to do for it. What Redis has to be told can be set together as follows:
//
//	phase    hold  others  enter  drop  news
//	none     any   no      no     yes   yes, with requests in flight
//	owned    yes   yes     yes    no    yes
//	leaving  any   no      yes    yes   yes, with requests in flight
//	unsure   any   no      no     yes   yes, with requests in flight
type place struct {
	host   string
	index  int        // in member.order
	hold   fleet.Hold // the Hold that asks for the host or owns it; nil means there is none
	phase  phase
	others bool // others wait for the host
	drop   bool // Redis has to be told that the host is no longer wanted
	enter  bool // the host has to be entered into a new epoch
	news   bool // Redis does not have the latest record (phase owned) or lesson (otherwise)

	token  int64 // proves the ownership to Redis
	record fleet.Record
	lesson fleet.Record // of requests in flight after the host was given away
	holder string       // the owner that Redis named last; "" means none
	told   string       // the holder and state that the Hold was told last; "" means none
}

type phase uint8

const (
	none    phase = iota
	owned         // the Hold owns the host
	leaving       // the previous Hold gave the host away, and Redis has not confirmed this
	unsure        // as leaving, but Redis may already have taken the host back
)

// watched is what is known about a session: the number of its latest call, when
// that number was last seen, and how long the session has been silent.
type watched struct {
	number int64
	at     time.Time
	silent time.Duration
}

// start starts the goroutine if it does not run and has something to do. The
// caller must hold m.mu.
func (m *member) start() {
	if m.done == nil && len(m.inbox) > 0 {
		m.done = make(chan error, 1)
		go m.run()
	}
}

func (m *member) run() {
	for wait, over := m.step(); !over; wait, over = m.step() {
		select {
		case <-m.wake:
		case <-time.After(wait):
		}
	}
}

// step does what is due now, and returns how long to wait for the next step. If
// over is true, the goroutine ends.
func (m *member) step() (wait time.Duration, over bool) {
	runtime.Gosched() // so that requests made at the same moment share a call
	m.mu.Lock()
	inbox := m.inbox
	m.inbox = nil
	m.mu.Unlock()
	for _, do := range inbox {
		do()
	}
	m.lapse()
	now := time.Now()
	due := now.Sub(m.beaten) >= beat
	switch {
	case len(m.places) == 0 && (due || m.closed), (len(m.places) == 0 || m.closed) && (m.id == 0 || m.failing != nil),
		m.failing != nil && now.Sub(m.answered) > 2*m.lease && m.count(func(p *place) bool { return p.hold != nil }) == 0:
		m.end() // after two Leases, even hosts that could not be given back are free
		return 0, true
	case now.Before(m.retry):
		return m.retry.Sub(now), false
	case m.id == 0:
		m.answered = cmp.Or(m.answered, now) // nothing is known about the time before
		m.call(now, false)
		return 0, false
	}
	if due {
		m.beaten = now
		m.review()
	}
	if due || len(m.todo) > 0 {
		m.call(now, due)
		return 0, false
	}
	return m.beaten.Add(beat).Sub(now), false
}

// count returns how many places the given function accepts.
func (m *member) count(which func(*place) bool) (n int) {
	for _, p := range m.places {
		if which(p) {
			n++
		}
	}
	return n
}

func (m *member) owned() int { return m.count(func(p *place) bool { return p.phase == owned }) }

// turns returns the next n places, or all of them if they are fewer. The cursor
// is where it stopped last. All places have their turn before a place has it
// again, unless places come and go.
func (m *member) turns(cursor *int, n int) iter.Seq[*place] {
	return func(yield func(*place) bool) {
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

// review looks at some hosts with each beat. It asks the Holds of owned hosts
// whether they end. And it asks Redis again for hosts that are wanted or owned,
// because a hint may have been lost, or an owner may have died. A beat must not
// cost more because the member has many hosts: they take turns.
func (m *member) review() {
	for p := range m.turns(&m.reviewed, max(maxAsks, len(m.order)/rounds)) {
		if p.phase == owned {
			m.consider(p)
		}
	}
	for p := range m.turns(&m.asked, maxAsks) {
		m.askAgain(p)
	}
}

// askAgain asks again for p's host if it is wanted or owned. It also gives the
// host away if it was kept while no hints arrived.
func (m *member) askAgain(p *place) {
	if p.hold != nil || p.phase >= leaving {
		m.todo[p] = true
	}
}

// askAgainForAll is for the moments at which any place may have missed
// something.
func (m *member) askAgainForAll() {
	for _, p := range m.order {
		m.askAgain(p)
	}
}

// look handles a Hold that the Limiter has passed to Look.
func (m *member) look(h fleet.Hold) {
	p := cmp.Or(m.places[h.Host()], &place{host: h.Host()})
	if p.hold == h {
		m.consider(p)
		return
	}
	switch _, over := h.Give(false); {
	case over:
	case m.closed:
		h.Refuse(errClosed)
	case p.hold != nil:
		h.Refuse(errShared)
	default:
		m.add(p)
		m.todo[p] = true
		p.hold, p.holder, p.told = h, "", ""
		m.settings = h.Settings()
		m.away(p)
	}
}

// landed handles what the Limiter has passed to Landed.
func (m *member) landed(host string, r fleet.Record) {
	if p := m.places[host]; p != nil && p.phase != owned && p.lesson.InFlight > 0 {
		p.lesson, p.news, m.todo[p] = r, true, true
	}
}

// mayGive reports whether the member may give hosts to others. It keeps its
// hosts for a moment while it begins to listen. If it cannot listen, it gives
// them away nevertheless, and asks for them again with each beat.
func (m *member) mayGive() bool { return m.unlisten != nil || m.deaf }

// consider asks p's Hold whether it ends now. If the Hold goes on without
// owning the host, the member asks for the host again. While Redis is away, an
// owner keeps its hosts even if others wait, because Redis could not give the
// hosts to anybody.
func (m *member) consider(p *place) {
	r, over := p.hold.Give(p.others && m.mayGive() && m.failing == nil)
	if r.State != nil {
		p.record, p.news = r, true
	}
	if over || p.news || p.phase != owned {
		m.todo[p] = true
	}
	if over {
		p.drop = p.drop || p.phase != owned
		if p.phase == owned {
			p.phase, p.news, p.lesson = leaving, false, fleet.Record{InFlight: r.InFlight}
		}
		p.hold, p.others = nil, false
	}
}

// hint handles a message, unless ctx has ended: then it is for an earlier
// session.
func (m *member) hint(ctx context.Context, text string) {
	p := m.places[text]
	switch {
	case ctx.Err() != nil:
	case text == listens:
		m.askAgainForAll() // an offer may have come before the hints did
	default:
		m.hear()
		if p != nil {
			p.drop, m.todo[p] = p.drop || p.hold == nil, true
		}
	}
}

// hear notes that a message has arrived.
func (m *member) hear() {
	m.unheard = 0
	if m.deaf {
		m.deaf = false
		m.log.Info("redislimit: hints of Redis arrive again")
	}
}

// subscriptionEnded notes that the listening has ended by itself. If Redis
// refuses the subscription, the log says so at once. Otherwise the next beat
// tries again.
func (m *member) subscriptionEnded(ctx context.Context, err error) {
	if ctx.Err() != nil { // it was for an earlier session
		return
	}
	m.deafen()
	if _, is := errors.AsType[redis.Error](err); is {
		m.goDeaf(err)
	}
}

// goDeaf lets hosts change hands with the beats, and logs why.
func (m *member) goDeaf(err error) {
	if m.deaf {
		return
	}
	m.deaf = true
	m.log.Error("redislimit: no hints of Redis arrive: hosts change hands more slowly, with the beats of the members; let the client SUBSCRIBE and scripts PUBLISH to the channels of the Namespace",
		"error", err)
}

// listenAgain is called with each beat that has succeeded. Each beat makes
// Redis send a message. If none arrives, the connection is broken, although
// nothing else may show it, and listenAgain subscribes anew.
func (m *member) listenAgain() {
	m.unheard++
	if m.unheard%mute == 0 {
		m.deafen()
	}
	if m.unheard >= 2*mute {
		m.goDeaf(errMute)
	}
	if m.unlisten == nil {
		m.listen()
	}
}

// lose gives up p's host, and tells p's Hold. Redis is told only if it may
// believe that this member owns the host in a new epoch.
func (m *member) lose(p *place) {
	hold, was := p.hold, p.phase
	p.phase, p.drop, p.enter = none, p.drop || p.enter, false // the operation "enter" may have run
	if was == owned {
		p.hold, p.others, p.news = nil, false, false
		hold.Lose()
	}
}

// lapse checks whether the session can still be trusted. If not, lapse gives up
// the places that still have to be entered into a new epoch. It logs the end of
// the session only if the member owns a host.
func (m *member) lapse() {
	if m.lapsed || m.trust.Load() == nil || m.Trusted() {
		return
	}
	m.lapsed = true
	if n := m.owned(); n > 0 {
		m.log.Warn("redislimit: the session of this member has ended: it starts no request until Redis answers; check that Redis runs",
			"since", m.answered, "hosts", n, "error", m.failing)
	}
	for _, p := range m.places {
		if p.enter {
			m.lose(p)
		}
	}
}

// join begins a session. If the epoch is new, join marks the places that have
// to be entered into it.
func (m *member) join(epoch string, id int64) {
	anew := m.epoch != "" && epoch != m.epoch
	for _, p := range m.places {
		p.drop, p.holder, p.told = false, "", ""
		p.news = p.news || p.lesson.InFlight > 0
		p.enter = anew && m.Trusted() && (p.phase == owned || p.phase == leaving)
		if !p.enter {
			m.lose(p)
		}
		m.todo[p] = true
	}
	if anew {
		m.log.Warn("redislimit: Redis has lost what the fleet knew (it was flushed or restarted, has evicted a key, or failed over): this member goes on with what it owns; other hosts rest for a Lease and a second",
			"hosts_kept", m.owned(), "epoch", epoch)
	}
	m.epoch, m.id, m.entering, m.others = epoch, id, anew, others{}
	m.sessions = make(map[int64]watched)
	m.dead, m.beaten, m.unheard = nil, time.Time{}, 0
	m.deafen()
}

// compareSettings warns if the Limiter of the member that joined last has other
// settings than this member's. Each member paces the hosts that it owns with
// its own settings, so the pace of a host would depend on its owner.
func (m *member) compareSettings(others string) {
	theirs := maps.Collect(eachSetting(others))
	var differences []string
	for name, value := range eachSetting(m.settings) {
		if other, known := theirs[name]; known && other != value {
			differences = append(differences, fmt.Sprintf("%s is %s here and %s there", name, value, other))
		}
	}
	if text := strings.Join(differences, "; "); text != "" && text != m.warned {
		m.warned = text
		m.log.Warn("redislimit: another member's Limiter has other settings, so the pace of a host depends on its owner: give all members the same settings", "settings", text)
	}
}

// eachSetting yields the names and values of settings such as "delay=1s".
func eachSetting(settings string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for word := range strings.FieldsSeq(settings) {
			name, value, _ := strings.Cut(word, "=")
			if !yield(name, value) {
				return
			}
		}
	}
}

// succeed records that a call to Redis has succeeded. The argument is the time
// at which the call was sent. While this member owns a host that it still has
// to enter into a new epoch, it trusts only its earlier session. If it trusted
// the new session too, it might go on using the host when another member
// already has it.
func (m *member) succeed(sent time.Time) {
	m.lapse()
	m.entering = m.entering && m.count(func(p *place) bool { return p.enter && p.phase == owned }) > 0
	if !m.closed && !m.entering {
		m.trust.Store(&sent)
	}
	now := time.Now()
	if m.reported != noTrouble {
		m.log.Info("redislimit: Redis answers again", "after", now.Sub(m.answered), "hosts", m.owned())
	}
	if m.lapsed {
		m.askAgainForAll() // so that waiting requests check again whether they may start
	}
	m.answered, m.failing, m.reported, m.lapsed = now, nil, noTrouble, false
}

// deafen ends the listening.
func (m *member) deafen() {
	if m.unlisten != nil {
		m.unlisten()
		m.unlisten = nil
	}
}

// listen begins to listen to the session's channel.
func (m *member) listen() {
	ctx, cancel := context.WithCancel(context.Background())
	m.unlisten = cancel
	f, channel := m.Fleet, fmt.Sprint(m.prefix, m.epoch, ":", m.id) // end writes to *m
	hear := func(text string) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.put(func() { m.hint(ctx, text) })
	}
	go func() {
		err := f.engine.listen(ctx, channel, hear)
		f.mu.Lock()
		defer f.mu.Unlock()
		if ctx.Err() == nil {
			f.put(func() { m.subscriptionEnded(ctx, err) })
		}
	}()
}

// trouble is why calls fail.
type trouble uint8

const (
	noTrouble trouble = iota
	silent            // Redis does not answer
	refused           // Redis answers with an error
)

// fail records that a call has failed: Redis did not answer, or its answer was
// an error. The log gets a line when it is clear what the trouble is.
func (m *member) fail(err error) {
	now := time.Now()
	m.failing, m.retry = err, now.Add(pause)
	trouble, clear := silent, now.Sub(m.answered) >= silence
	if r := refusal(err); r != nil {
		trouble, clear = refused, clear || r.clear
		m.failing, m.retry = r, now.Add(r.retry)
	}
	if !clear && m.reported == noTrouble {
		return
	}
	if clear && trouble > m.reported {
		m.reported = trouble
		switch trouble {
		case silent:
			m.log.Warn("redislimit: Redis does not answer: this member goes on with the hosts that it owns until its session ends, and requests to other hosts wait; check that Redis runs",
				"since", m.answered, "hosts", m.owned(), "error", m.failing)
		case refused:
			m.log.Error("redislimit: Redis refuses to serve the fleet: this member gets no more hosts, and uses those that it owns until its session ends",
				"since", m.answered, "hosts", m.owned(), "error", m.failing)
		}
		m.informed = time.Time{}
	}
	if now.Sub(m.informed) >= beat { // not after each attempt, because there may be many hosts
		m.informed = now
		for _, p := range m.order {
			m.away(p)
		}
	}
}

// away tells p's Hold that Redis does not answer. It does so only if the Hold
// waits for the host, and if the log says already that Redis does not answer.
func (m *member) away(p *place) {
	if m.reported != noTrouble && p.hold != nil && p.phase != owned {
		p.told = ""
		until := time.Now().Add(beat + pause) // by then, the Hold is informed again
		if m.retry.After(until) {
			until = m.retry
		}
		p.hold.Wait(until, fleet.Record{}, &AwayError{Owner: p.holder, Since: m.answered, Err: m.failing})
	}
}

// refusal returns nil if err is not an answer of Redis.
func refusal(err error) *refusedError {
	if _, is := errors.AsType[*versionError](err); is {
		return &refusedError{err: err, clear: true, retry: beat}
	}
	if _, is := errors.AsType[redis.Error](err); !is {
		return nil
	}
	text := err.Error()
	word, _, _ := strings.Cut(text, " ")
	for _, r := range refusals {
		if word == r.word || r.part != "" && strings.Contains(text, r.part) {
			return &refusedError{advice: r.advice, err: err, clear: true, retry: cmp.Or(r.retry, pause)}
		}
	}
	return &refusedError{advice: "see its answer", err: err, retry: pause} // LOADING, for example, which is over soon
}

// refusals are the answers of Redis that the log has at once, because they do
// not end by themselves. Each begins with the word or contains the part.
var refusals = []struct {
	word, part string
	advice     string
	retry      time.Duration // the time until the next attempt; 0 means pause
}{
	{part: "ompiling script", advice: "the server is too old: it has to be Redis 7.0 or later, or Valkey", retry: 20 * pause},
	{word: "NOPERM", advice: tooFewRights, retry: 20 * pause},
	{word: "NOAUTH", advice: tooFewRights, retry: 20 * pause},
	{word: "WRONGPASS", advice: tooFewRights, retry: 20 * pause},
	{part: "user executing the script can't", advice: tooFewRights, retry: 20 * pause},
	{part: "nknown command", advice: unknownCommand, retry: 20 * pause},
	{part: "nknown Redis command", advice: unknownCommand, retry: 20 * pause},
	{word: "WRONGTYPE", advice: "another program's keys are in the namespace: choose another", retry: 20 * pause},
	{word: "MISCONF", advice: "the server accepts no writes because it cannot save its data: see its log, and free its disk"},
	{word: "READONLY", advice: "the server is a replica: give the client the address of the primary"},
	{word: "BUSY", advice: "another script has run for too long: SCRIPT KILL ends it"},
}

const (
	tooFewRights   = "the user has too few rights: the package doc lists them"
	unknownCommand = "the server or a proxy does not know a command that the package doc lists"
)

// An operation is one part of a call: what to do with the host of a place. If
// the operation ends a session, its place stands for that session, as in
// member.dead.
type operation struct {
	name  any // a string, kept as any so that no call has to convert it
	place *place
}

// compose returns the arguments and operations of the next call.
func (m *member) compose(beat bool) (args []any, operations []operation) {
	m.number++
	isBeat := 0
	if beat {
		isBeat = 1
	}
	args = append(make([]any, 0, 6*min(len(m.todo)+4, maxOps)),
		m.version, m.prefix, m.epoch, m.id, m.number, m.lease.Milliseconds(), rand.Text(), isBeat, m.others.known(), m.settings)
	if m.id == 0 {
		return args, nil
	}
	say := func(name any, p *place, r *fleet.Record, when bool) {
		if when {
			keep := (r.Keep + time.Millisecond - 1).Milliseconds()
			args = append(args, name, p.host, p.token, r.State, keep, r.InFlight)
			operations = append(operations, operation{name, p})
		}
	}
	for _, session := range m.dead {
		say("finish", session, &session.record, true)
	}
	m.dead = nil
	for p := range m.todo {
		if len(operations) >= maxOps {
			break
		}
		delete(m.todo, p)
		known, left := !p.enter, p.phase >= leaving // Redis must answer the operation "enter" before p's other operations are sent
		if known && left && !m.mayGive() {
			continue // askAgain says it again
		}
		say("enter", p, &p.record, p.enter)
		say("give", p, &p.record, known && left)
		say("drop", p, &p.record, known && p.drop) // must follow "give", whose state says when the next request may start
		say("land", p, &p.lesson, known && p.phase == none && p.news)
		say("keep", p, &p.record, known && p.phase == owned && p.news)
		say("want", p, &p.record, known && p.hold != nil)
		m.tidy(p)
	}
	return args, operations
}

// call renews the session and sends the operations that are to be done.
func (m *member) call(now time.Time, due bool) {
	args, operations := m.compose(due)
	reply, err := m.ask(args...)
	status := at[string](reply, 0)
	if status == "ok" {
		if m.id == 0 {
			m.join(at[string](reply, 3), at[int64](reply, 4))
			m.compareSettings(at[string](reply, 6))
		}
		m.heed(at[[]any](reply, 2), operations)
		if due {
			m.watch(at[[]any](reply, 5), max(m.lease, milliseconds(reply, 1)))
		}
		m.succeed(now)
		if due {
			m.listenAgain()
		}
		return
	}
	for _, o := range operations {
		m.todo[o.place] = true
		if o.name == "give" && (status != "epoch" || at[string](reply, 1) != "1") { // the call may have run
			o.place.phase = unsure
		}
	}
	switch status {
	case "epoch":
		m.id = 0
		m.retry = now.Add(pause / 10) // a short wait: two servers that answer by turns cause this status each time
		if host := at[string](reply, 2); host != "" {
			m.log.Error("redislimit: what Redis has about a host cannot be read and is dropped, with all that the fleet knew: find out who else writes to these keys", "host", host)
		}
	case "session":
		m.id = 0
		m.trust.Store(nil)
		m.log.Warn("redislimit: the fleet has ended the session of this member, which was silent for too long: it asks for its hosts anew",
			"since", m.answered, "hosts", m.owned())
	case "version":
		m.id = 0
		m.trust.Store(nil)
		m.watchOthers(at[string](reply, 2), max(m.lease, milliseconds(reply, 3)))
		m.fail(&versionError{stored: at[string](reply, 1), own: m.version})
	case "late":
	default:
		m.fail(cmp.Or(err, fmt.Errorf("redislimit: an answer is %v", reply)))
	}
}

// heed applies the results of the operations of a call.
func (m *member) heed(results []any, operations []operation) {
	for i, o := range operations {
		p, answer := o.place, at[[]any](results, i)
		switch o.name {
		case "drop":
			p.drop = false
		case "give":
			p.phase, m.todo[p] = none, m.todo[p] || p.news
		case "land", "keep":
			p.news = false
		case "enter":
			p.enter, p.token, m.todo[p] = false, at[int64](answer, 1), true
			if at[string](answer, 0) != "own" {
				m.lose(p)
			}
		case "want":
			m.answer(p, answer)
		}
		m.tidy(p)
	}
}

// answer applies Redis's answer to the operation "want" for p's host.
func (m *member) answer(p *place, answer []any) {
	r := fleet.Record{Age: max(milliseconds(answer, 4)-time.Millisecond, 0), MinAge: max(milliseconds(answer, 5)-time.Millisecond, 0),
		Missing: at[int64](answer, 6) == 1, InFlight: int(at[int64](answer, 7))}
	if s, ok := at[any](answer, 3).(string); ok {
		r.State = []byte(s)
	}
	switch word := at[string](answer, 0); {
	case word == "own":
		if p.phase != owned {
			p.phase, p.lesson, p.news = owned, fleet.Record{}, false
			p.record = fleet.Record{State: r.State, Keep: time.Hour} // to be entered into the next epoch
		}
		p.token, p.others = at[int64](answer, 1), at[int64](answer, 2) > 0
		p.hold.Own(r)
		if p.others {
			m.consider(p)
		}
	case p.phase == owned:
		m.lose(p)
	case word == "closed":
		p.hold.Wait(time.Now().Add(milliseconds(answer, 1)+time.Millisecond), fleet.Record{}, errNew)
	case word == "other":
		holder := fmt.Sprint("member ", at[int64](answer, 1))
		if told := holder + string(r.State); told != p.told { // the Hold is told only what is new
			p.holder, p.told = holder, told
			p.hold.Wait(time.Time{}, r, fmt.Errorf("redislimit: %s of the fleet owns it, and gives it away in its turn", holder))
		}
	}
}

// watch finds sessions that have been silent for so long that their members
// cannot trust them any more. The pairs are the silent sessions, each with the
// number of its latest call. No member's Lease is longer than lease. The time
// during which this member cannot reach Redis does not count as silence.
func (m *member) watch(pairs []any, lease time.Duration) {
	now, sessions := time.Now(), make(map[int64]watched, len(pairs)/2)
	for i := 0; i < len(pairs); i += 2 {
		id, w := at[int64](pairs, i), watched{number: at[int64](pairs, i+1), at: now}
		if was := m.sessions[id]; was.number == w.number && !was.at.IsZero() {
			w.silent = was.silent + min(now.Sub(was.at), contact)
		}
		if w.silent >= lease*3/2 && id != m.id {
			m.log.Info("redislimit: a member of the fleet is silent: its hosts are free", "member", id, "for", w.silent)
			m.dead = append(m.dead, &place{host: fmt.Sprint(id), token: w.number})
			m.askAgainForAll()
		}
		sessions[id] = w
	}
	m.sessions = sessions
}

// watchOthers finds out whether the members of another version have gone. They
// have if the count of their calls stands still for so long that none of them
// trusts its session any more.
func (m *member) watchOthers(count string, lease time.Duration) {
	now, o := time.Now(), others{count: count}
	if was := m.others; count == was.count || count == "" && was.count != "" {
		o = was
		o.silent += min(now.Sub(was.at), contact)
	}
	o.at = now
	o.over = o.silent >= lease*3/2
	m.others = o
}

// known returns what the script has to know about a fleet of another version.
func (o others) known() string {
	switch {
	case o.count == "":
		return ""
	case o.over:
		return o.count
	}
	return "-"
}

// close gives up all places. Of a host that cannot be given away, Redis hears
// what has been learnt there.
func (m *member) close() {
	m.closed = true
	m.trust.Store(nil)
	for _, p := range m.places {
		m.todo[p] = true
		if p.phase == owned {
			p.others = true
			m.consider(p)
		}
		switch {
		case p.hold != nil && p.phase == owned:
			news := p.news
			m.lose(p)
			p.lesson, p.drop, p.news = p.record, true, news
		case p.hold != nil:
			p.hold.Refuse(errClosed)
			p.hold, p.drop = nil, true
		}
	}
}

// add adds p to the places, if it is not among them.
func (m *member) add(p *place) {
	if m.places[p.host] != p {
		m.places[p.host] = p
		p.index = len(m.order)
		m.order = append(m.order, p)
	}
}

// tidy forgets p if nothing is left to do for its host.
func (m *member) tidy(p *place) {
	if p.hold == nil && p.phase == none && !p.drop && (m.closed || p.lesson.InFlight == 0 && !p.news) && m.places[p.host] == p {
		delete(m.places, p.host)
		last := m.order[len(m.order)-1]
		m.order[p.index] = last
		last.index = p.index
		m.order[len(m.order)-1] = nil
		m.order = m.order[:len(m.order)-1]
	}
}

// end ends the session. The goroutine ends too. If there is more to do, another
// goroutine is started, so Close does not wait for requests that still come.
func (m *member) end() {
	if m.id != 0 {
		err := m.failing
		if err == nil {
			args, _ := m.compose(false)
			_, err = m.ask(append(args, "finish", m.id, m.number, "", 0, 0)...)
		}
		m.done <- err
	}
	m.trust.Store(nil)
	m.deafen()
	m.mu.Lock()
	defer m.mu.Unlock()
	*m = member{Fleet: m.Fleet, places: make(map[string]*place), todo: make(map[*place]bool), closed: m.closed, epoch: m.epoch, others: m.others, deaf: m.deaf, warned: m.warned}
	close(m.done)
	m.done = nil
	m.start()
}

// at returns element i of a list in an answer. If there is no such element, or
// if it has another type, at returns a zero value.
func at[T any](list []any, i int) (v T) {
	if i < len(list) {
		v, _ = list[i].(T)
	}
	return v
}

func milliseconds(list []any, i int) time.Duration {
	return time.Duration(at[int64](list, i)) * time.Millisecond
}
