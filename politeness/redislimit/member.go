package redislimit

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/goodbots/courtesy/politeness"
)

const (
	beat     = time.Second     // how often a session is renewed
	idleFor  = 3 * time.Second // how long a member that needs no host keeps its session
	contact  = 2 * time.Second // the most that the time between two answers adds to a session's silence
	silence  = 5 * beat / 2    // how long Redis may be silent before the log says so
	maxRetry = time.Second     // the longest time between attempts to reach Redis
	maxOps   = 512             // operations in one call
	maxAsks  = 256             // how many asks for hosts a beat repeats at most
	far      = 24 * time.Hour  // how long requests that can get no host from this Fleet are told to wait
	remember = int64(time.Hour / time.Millisecond)
)

// A member is the state of a Fleet's goroutine. The goroutine runs from when
// the first host is needed until the last is given back and the session has
// ended. It makes one call at a time. A call renews the session and carries all
// that the member asks for and gives back at that moment. A call whose answer
// is lost may have run, so the next call repeats what it said.
type member struct {
	*Fleet
	places map[string]*place
	todo   []*place // the places that the next call is about
	dead   []watched

	epoch    string
	id       int64 // the session's id; 0: none
	number   int64 // the latest call's number
	age      int64 // the epoch's age in ms at the time aged, as Redis told it
	aged     time.Time
	longest  time.Duration // the longest Lease of any member
	beaten   time.Time
	opens    time.Time // when a new epoch begins to give hosts away; zero: it does already
	sessions map[int64]watched
	unlisten context.CancelFunc // ends the listening to the channel
	listened time.Time          // when the last attempt to listen began
	deaf     bool               // no hints arrive, so the next success begins to listen
	enters   bool               // a new epoch may still have to be told of some place
	suspect  bool               // the connection for hints has ended, and no call has succeeded since

	answered time.Time // when Redis last answered; before that, when it was first asked
	failing  error     // why Redis does not answer now; nil: it does
	failures int
	told     bool      // the log and waiting requests were told that Redis does not answer
	retry    time.Time // no call before this time
	lapsed   bool      // the session is no longer trusted
	unneeded time.Time // when the last place was given up; zero: there are places
}

// A place is what a member knows about one host and has still to do for it.
type place struct {
	host    string
	hold    *politeness.Hold // asks for the host or owns it; nil: neither
	owned   bool             // hold owns the host
	others  bool             // others wait for the host
	known   bool             // an ask for hold may have been sent
	leaving bool             // the previous hold gave the host away, and Redis has not confirmed it
	unknown bool             // while leaving: the give may have run
	drop    bool             // Redis has to be told that the host is no longer wanted
	enter   bool             // a new epoch has to be told that the host is owned, or leaving
	news    bool             // state is new to Redis
	queued  bool             // in member.todo

	token   int64 // proves the ownership to Redis
	state   []byte
	keep    int64     // how long Redis keeps state, in ms
	offered int64     // the token of the offer that a hint told of
	heard   time.Time // when that hint came
	holder  int64     // the owner, as told last; 0: not told
	away    bool      // the Hold was last told that Redis does not answer
}

// watched is the session of another member: the number of its latest call, when
// that number was seen, and how long the session has been silent.
type watched struct {
	id, number int64
	at         time.Time
	silent     time.Duration
}

func (m *member) run() {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, over := m.step()
		if over {
			return
		}
		if wait <= 0 {
			continue
		}
		timer.Reset(wait)
		select {
		case <-m.wake:
		case <-timer.C:
		}
	}
}

// step does what is due now and returns how long to wait for the next step.
// over reports that the goroutine ends.
func (m *member) step() (wait time.Duration, over bool) {
	runtime.Gosched() // so that requests of one moment share a call
	holds, hints, closed := m.inbox()
	for _, h := range holds {
		m.look(h, closed)
	}
	for _, hint := range hints {
		m.hint(hint)
	}
	if closed {
		m.close()
	}
	m.lapse()
	now := time.Now()
	if len(m.places) > 0 {
		m.unneeded = time.Time{}
	} else if m.unneeded.IsZero() {
		m.unneeded = now
	}
	switch rested := now.Sub(m.unneeded); {
	case len(m.places) == 0 && !closed && m.id != 0 && m.failing == nil && rested < idleFor:
		return idleFor - rested, false
	case len(m.places) == 0, closed && (m.id == 0 || m.failing != nil), m.failing != nil && now.Sub(m.answered) > 2*m.lease && !m.needed():
		return 0, m.end() // hosts that could not be given back are free by now
	case now.Before(m.retry):
		return m.retry.Sub(now), false
	case m.id == 0:
		if m.answered.IsZero() {
			m.answered = now // nothing is known about the time before
		}
		m.join(now)
		return 0, false
	}
	if !m.opens.IsZero() && !now.Before(m.opens) {
		m.opens = time.Time{}
		m.askAgain(len(m.places), func(p *place) bool { return p.holder == 0 })
	}
	due := now.Sub(m.beaten) >= beat
	if due {
		for _, p := range m.places {
			if p.owned {
				m.consider(p)
			}
		}
		m.askAgain(maxAsks, func(*place) bool { return true })
	}
	if due || len(m.todo) > 0 || len(m.dead) > 0 {
		m.call(now, due)
		return 0, false
	}
	wait = m.beaten.Add(beat).Sub(now)
	if !m.opens.IsZero() {
		wait = min(wait, m.opens.Sub(now))
	}
	return wait, false
}

// needed reports whether a host is asked for or owned.
func (m *member) needed() bool {
	for _, p := range m.places {
		if p.hold != nil {
			return true
		}
	}
	return false
}

// place returns the place of a host. If there is none yet, it adds one.
func (m *member) place(host string) *place {
	p := m.places[host]
	if p == nil {
		p = &place{host: host}
		m.places[host] = p
	}
	return p
}

// put lets the next call do what p needs.
func (m *member) put(p *place) {
	if !p.queued {
		p.queued = true
		m.todo = append(m.todo, p)
	}
}

// askAgain asks again for hosts that which selects, but for no more than most
// of them. A hint may have been lost, or an owner may have died.
func (m *member) askAgain(most int, which func(*place) bool) {
	for _, p := range m.places { // map order is random, so all get their turn
		if p.hold != nil && !p.owned && most > 0 && which(p) {
			m.put(p)
			most--
		}
	}
}

// look handles a Hold that is new or may have changed its mind.
func (m *member) look(h *politeness.Hold, closed bool) {
	p := m.places[h.Host()]
	switch {
	case p != nil && p.hold == h:
		m.consider(p)
		return
	case closed:
		deny(h, errClosed)
		return
	case p != nil && p.hold != nil:
		deny(h, errShared)
		return
	}
	if _, _, over := h.Give(false); over {
		return
	}
	p = m.place(h.Host())
	p.hold, p.known, p.holder, p.offered = h, false, 0, 0
	if m.told {
		m.away(p)
	}
	m.put(p)
}

// deny tells a Hold that this Fleet gets no host for it.
func deny(h *politeness.Hold, why error) {
	h.Wait(time.Now().Add(far), nil, 0, why)
}

// consider asks p's Hold whether it ends now. While Redis is away or suspect,
// an owner keeps its hosts even if others wait: Redis could not give them to
// anybody.
func (m *member) consider(p *place) {
	state, keep, over := p.hold.Give(p.others && !m.suspect && m.failing == nil)
	if state != nil {
		p.state, p.keep = state, (keep + time.Millisecond - 1).Milliseconds()
	}
	switch {
	case over:
		p.leaving = p.leaving || p.owned // Redis may not know yet that an earlier Hold gave it
		p.drop = p.drop || p.known
		p.hold, p.owned, p.others, p.news = nil, false, false, false
		m.put(p)
	case state != nil:
		p.news = true
		m.put(p)
	}
}

// hint handles a message. It ignores one that was for an earlier session: in
// another epoch, tokens mean something else.
func (m *member) hint(h hint) {
	if h.channel != m.channel() {
		return
	}
	if h.text == "" {
		m.suspect, m.deaf = true, true
		if time.Since(m.listened) >= beat {
			m.beaten = time.Time{} // make a call at once to find out
		}
		return
	}
	if host, ok := strings.CutPrefix(h.text, "w"); ok {
		m.wanted(host)
		return
	}
	number, host, _ := strings.Cut(h.text[1:], " ")
	token, _ := strconv.ParseInt(number, 10, 64)
	p := m.place(host)
	switch {
	case p.owned:
		return
	case p.hold == nil:
		p.drop = true
	default:
		p.offered, p.heard = token, time.Now()
		m.consider(p)
	}
	m.put(p)
}

// wanted notes that others wait for a host.
func (m *member) wanted(host string) {
	if p := m.places[host]; p != nil && p.owned {
		p.others = true
		m.consider(p)
	}
}

// lose tells p's Hold that it no longer owns the host.
func (m *member) lose(p *place) {
	hold := p.hold
	p.hold, p.owned, p.others, p.news, p.enter = nil, false, false, false, false
	hold.Lose()
}

// lapse checks whether the session can no longer be trusted. If so, it logs
// that and gives up the places that a new epoch has not been told of yet.
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
			p.enter, p.leaving = false, false
			if p.owned {
				m.lose(p)
			}
		}
	}
}

func (m *member) owned() (n int) {
	for _, p := range m.places {
		if p.owned {
			n++
		}
	}
	return n
}

// join starts a session. If the epoch is new, join marks the places that the
// epoch has to be told of.
func (m *member) join(now time.Time) {
	begin, known := rand.Text(), m.epoch
	reply, err := m.ask(func(ctx context.Context) ([]any, error) {
		return m.engine.join(ctx, begin, known, m.lease.Milliseconds())
	})
	r := reader(reply)
	epoch, id, age := r.text(0), r.number(1), r.number(2)
	if err == nil && (epoch == "" || id == 0) {
		err = fmt.Errorf("redislimit: a session is %v", reply)
	}
	if err != nil {
		m.fail(err)
		return
	}
	anew := m.epoch != "" && epoch != m.epoch
	carry := anew && m.Trusted()
	kept := 0
	for _, p := range m.places {
		p.known, p.drop, p.holder, p.offered = false, false, 0, 0
		if carry && (p.owned || p.leaving && !p.unknown) {
			p.enter = true
			kept++
		} else {
			p.leaving = false
			if p.owned {
				m.lose(p)
			}
		}
		m.put(p)
	}
	if anew {
		m.log.Warn("redislimit: Redis has lost what the fleet knew (it was flushed or restarted, has evicted a key, or failed over): this member goes on with what it owns; other hosts rest for a Lease and a second",
			"hosts_kept", kept, "epoch", epoch)
	}
	m.epoch, m.id, m.number, m.age, m.aged = epoch, id, 0, age, time.Now()
	m.sessions = make(map[int64]watched)
	m.dead, m.beaten, m.deaf, m.enters = nil, time.Time{}, true, kept > 0
	m.succeed(now)
}

// succeed notes that a call to Redis has succeeded. sent is when it was sent.
func (m *member) succeed(sent time.Time) {
	m.lapse()
	if !m.entering() {
		m.trust.Store(&sent)
	}
	now := time.Now()
	if m.told {
		m.log.Info("redislimit: Redis answers again", "after", now.Sub(m.answered), "hosts", m.owned())
	}
	if m.lapsed {
		for _, p := range m.places {
			if p.owned {
				p.hold.Own(nil, 0, true) // it still owns the host
			}
		}
	}
	m.answered, m.failing, m.failures, m.told, m.lapsed, m.suspect = now, nil, 0, false, false, false
	m.retry = time.Time{}
	if m.deaf && now.Sub(m.listened) >= beat/2 {
		m.listen(now)
	}
}

// channel names the channel of the session.
func (m *member) channel() string {
	return m.prefix + m.epoch + ":" + strconv.FormatInt(m.id, 10)
}

// listen begins to listen to the session's channel.
func (m *member) listen(now time.Time) {
	m.deaf, m.listened = false, now
	m.unlisten()
	ctx, cancel := context.WithCancel(context.Background())
	m.unlisten = cancel
	channel := m.channel()
	go func() {
		m.engine.listen(ctx, channel, func(text string) { m.hear(hint{channel, text}) })
		if ctx.Err() == nil {
			m.hear(hint{channel, ""})
		}
	}()
}

// entering reports whether the epoch still has to be told of a host that this
// member owns. Until then the member trusts only its session in the previous
// epoch. If it trusted the new session, it could go on for longer than the
// others are made to wait for the host.
func (m *member) entering() bool {
	if m.enters {
		for _, p := range m.places {
			if p.enter && p.owned {
				return true
			}
		}
	}
	m.enters = false
	return false
}

// fail notes that a call has failed, because Redis does not answer or not as it
// should.
func (m *member) fail(err error) {
	now := time.Now()
	m.failing = err
	m.failures++
	m.retry = now.Add(min(25*time.Millisecond<<min(m.failures, 8), maxRetry))
	refused := refusal(err)
	if refused != nil {
		m.failing = refused
		m.retry = now.Add(5 * maxRetry)
	}
	if refused == nil && now.Sub(m.answered) < silence {
		return
	}
	if !m.told {
		m.told = true
		what, level := "redislimit: Redis does not answer: this member goes on with the hosts that it owns until its session ends, and requests to other hosts wait; check that Redis runs", m.log.Warn
		if refused != nil {
			what, level = "redislimit: Redis refuses to serve the fleet: this member gets no hosts", m.log.Error
		}
		level(what, "since", m.answered, "hosts", m.owned(), "error", m.failing)
	}
	for _, p := range m.places {
		m.away(p)
	}
}

// away tells the Hold that waits for p that Redis does not answer.
func (m *member) away(p *place) {
	if p.hold == nil || p.owned {
		return
	}
	p.hold.Wait(m.retry, nil, 0, &AwayError{Host: p.host, Owner: name(p.holder), Since: m.answered, Err: m.failing})
	p.away = true
}

func name(id int64) string {
	if id == 0 {
		return ""
	}
	return "member " + strconv.FormatInt(id, 10)
}

// refusal returns an error that says what to do if err is one that trying again
// does not mend. For other errors it returns nil.
func refusal(err error) error {
	var e redis.Error
	if !errors.As(err, &e) {
		return nil
	}
	s := e.Error()
	switch word, _, _ := strings.Cut(s, " "); {
	case strings.Contains(s, "ompiling script"):
		return fmt.Errorf("redislimit: the server is too old: it has to be Redis 7.0 or later, or Valkey: %w", err)
	case word == "NOPERM", word == "NOAUTH", word == "WRONGPASS", strings.Contains(s, "user executing the script can't"):
		return fmt.Errorf("redislimit: the user has too few rights: the package doc lists them: %w", err)
	case word == "WRONGTYPE":
		return fmt.Errorf("redislimit: somebody else's keys are in the namespace: choose another: %w", err)
	}
	return nil
}

// An operation is one part of a call.
type operation struct {
	name  string
	place *place
}

// compose returns the arguments and operations of the next call. While Redis is
// suspect, it gives nothing away.
func (m *member) compose(now time.Time, due bool, sent *sendings) (args []any, operations []operation) {
	m.number++
	age := int64(0)
	if since := now.Sub(m.aged); since <= m.lease { // the slack in call.lua allows for no more
		age = m.age + since.Milliseconds()
	}
	args = []any{m.prefix, m.epoch, m.id, m.number, age, sent}
	add := func(p *place, name string, more ...any) {
		args = append(append(args, name), more...)
		operations = append(operations, operation{name, p})
	}
	for _, w := range m.dead {
		add(nil, "finish", w.id, w.number)
	}
	m.dead = nil
	n := 0
	for ; n < len(m.todo) && len(operations) < maxOps; n++ {
		p := m.todo[n]
		p.queued = false
		if p.enter {
			add(p, "enter", p.host, p.state, p.keep)
			continue
		}
		if p.leaving {
			if m.suspect {
				continue
			}
			add(p, "give", p.host, p.token, p.state, p.keep)
		}
		if p.drop { // after the give, which says when the next request may start
			add(p, "drop", p.host)
		}
		if p.owned && p.news {
			add(p, "keep", p.host, p.token, p.state, p.keep)
		}
		if p.hold != nil && !p.owned {
			p.known = true
			add(p, "want", p.host)
		}
		m.tidy(p)
	}
	for _, p := range m.todo[:n] {
		if p.leaving && m.suspect {
			m.put(p) // after the places that did not fit
		}
	}
	m.todo = m.todo[n:]
	if due {
		add(nil, "beat")
	}
	return args, operations
}

// call renews the session and sends the operations that are to be done.
func (m *member) call(now time.Time, due bool) {
	sent := new(sendings)
	args, operations := m.compose(now, due, sent)
	reply, err := m.ask(func(ctx context.Context) ([]any, error) { return m.engine.call(ctx, sent, args) })
	r := reader(reply)
	status := r.text(0)
	if err == nil && status == "ok" {
		m.heed(r, operations)
		m.succeed(now)
		return
	}
	times := sent.n.Load()
	ran := times > 1 || status == "late" || err == errSlow || err != nil && times > 0 && !refusedBy(err)
	for _, o := range operations {
		if o.place == nil {
			continue
		}
		if o.name == "give" && ran {
			o.place.unknown = true
		}
		m.put(o.place)
	}
	switch {
	case err != nil:
		m.fail(err)
	case status == "epoch":
		m.id = 0
		m.retry = now.Add(maxRetry / 40) // two servers that answer in turn must not make this spin
	case status == "session":
		m.id = 0
		m.trust.Store(nil)
		m.log.Warn("redislimit: the fleet has ended the session of this member, which was silent for too long: it asks for its hosts anew",
			"since", m.answered, "hosts", m.owned())
	case status != "late":
		m.fail(fmt.Errorf("redislimit: an answer is %v", reply))
	}
}

// refusedBy reports whether the server refused a call. Such a call did not run.
func refusedBy(err error) bool {
	var e redis.Error
	return errors.As(err, &e)
}

// heed applies the answer to a call.
func (m *member) heed(r reader, operations []operation) {
	now := time.Now()
	m.age, m.aged = r.number(1), now
	m.longest = max(m.lease, time.Duration(r.number(2))*time.Millisecond)
	results := r.list(3)
	for i, o := range operations {
		p, answer := o.place, results.list(i)
		switch o.name {
		case "drop":
			p.drop = false
		case "give":
			p.leaving, p.unknown = false, false
		case "keep":
			p.news = false
			if results.number(i) == 1 {
				p.hold.Kept()
			}
		case "enter":
			p.enter = false
			if answer.text(0) == "own" {
				p.token = answer.number(1)
				p.others = p.owned && answer.number(5) > 0
				m.put(p)
			} else {
				p.leaving = false
				if p.owned {
					m.lose(p)
				}
			}
		case "want":
			m.answer(p, answer, now)
		case "beat":
			m.beaten = now
			asked := answer.list(1)
			for i := range asked {
				m.wanted(asked.text(i))
			}
			m.watch(answer.list(0), now)
		}
	}
	for _, o := range operations {
		if o.place != nil {
			m.tidy(o.place)
		}
	}
}

// answer applies Redis's answer to the ask for p.
func (m *member) answer(p *place, answer reader, now time.Time) {
	switch answer.text(0) {
	case "own":
		state, ago := answer.bytes(2), time.Duration(answer.number(3))*time.Millisecond
		p.owned, p.known, p.token, p.state, p.keep = true, false, answer.number(1), state, remember
		if p.offered == p.token {
			ago = max(ago, now.Sub(p.heard)) // the last owner gave the host back before the offer came
		}
		p.others = answer.number(5) > 0
		p.hold.Own(state, ago, answer.number(4) == 1)
		if p.others {
			m.consider(p)
		}
	case "closed":
		opens := now.Add(time.Duration(answer.number(1)+1) * time.Millisecond)
		if m.opens.IsZero() || opens.Before(m.opens) {
			m.opens = opens
		}
		p.hold.Wait(opens, nil, 0, errors.New("redislimit: the fleet is new, or Redis has lost what it knew: no host is given away yet"))
	case "other":
		holder, state := answer.number(1), answer.bytes(2)
		if holder != p.holder || p.away || !bytes.Equal(state, p.state) {
			p.holder, p.away, p.state = holder, false, state
			p.hold.Wait(time.Time{}, state, time.Duration(answer.number(3))*time.Millisecond, &ownedError{name(holder)})
		}
	}
}

// watch finds sessions that have been silent for so long that their members
// cannot trust them any more. Only time in contact with Redis counts.
func (m *member) watch(pairs reader, now time.Time) {
	sessions := make(map[int64]watched, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		w := watched{id: pairs.number(i), number: pairs.number(i + 1), at: now}
		if was, ok := m.sessions[w.id]; ok && was.number == w.number {
			w.silent = was.silent + min(now.Sub(was.at), contact)
		}
		if w.silent >= m.longest*3/2 && w.id != m.id {
			m.log.Info("redislimit: a member of the fleet is silent: its hosts are free", "member", w.id, "for", w.silent)
			m.dead = append(m.dead, w)
			m.askAgain(len(m.places), func(p *place) bool { return p.holder == w.id })
		}
		sessions[w.id] = w
	}
	m.sessions = sessions
}

// close gives up all places.
func (m *member) close() {
	m.trust.Store(nil)
	for _, p := range m.places {
		if p.hold == nil {
			continue
		}
		p.others = p.owned
		m.consider(p)
		switch {
		case p.owned: // the Hold did not end; the host is free when the session ends
			m.lose(p)
		case p.hold != nil:
			deny(p.hold, errClosed)
			p.hold, p.drop = nil, p.known
		}
		m.put(p)
	}
	for _, p := range m.places {
		m.tidy(p)
	}
}

// tidy forgets p if nothing is left to do for its host.
func (m *member) tidy(p *place) {
	if p.hold == nil && !p.leaving && !p.drop && m.places[p.host] == p {
		delete(m.places, p.host)
	}
}

// end ends the session. It reports whether the goroutine may end too: not if a
// host is needed again.
func (m *member) end() bool {
	left := m.id == 0
	if m.id != 0 && m.failing == nil {
		args, _ := m.compose(time.Now(), false, new(sendings))
		_, err := m.ask(func(ctx context.Context) ([]any, error) {
			return m.engine.call(ctx, new(sendings), append(args, "leave"))
		})
		left = err == nil
	}
	m.id = 0
	m.trust.Store(nil)
	m.unlisten()
	m.failing, m.failures, m.told, m.lapsed = nil, 0, false, false
	m.answered, m.retry = time.Time{}, time.Time{}
	clear(m.places)
	m.todo = nil
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.holds) > 0 {
		return false
	}
	m.running, m.left = false, left
	close(m.done)
	return true
}

// A reader reads a list in an answer. An element that is missing or of another
// kind is zero.
type reader []any

func (r reader) text(i int) string {
	if i < len(r) {
		s, _ := r[i].(string)
		return s
	}
	return ""
}

// bytes returns the text of element i, or nil if it is not a text.
func (r reader) bytes(i int) []byte {
	if i < len(r) {
		if s, ok := r[i].(string); ok {
			return []byte(s)
		}
	}
	return nil
}

func (r reader) number(i int) int64 {
	if i < len(r) {
		n, _ := r[i].(int64)
		return n
	}
	return 0
}

func (r reader) list(i int) reader {
	if i < len(r) {
		l, _ := r[i].([]any)
		return l
	}
	return nil
}
