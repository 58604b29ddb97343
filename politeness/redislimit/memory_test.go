package redislimit

import (
	"context"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"sync"
	"time"
)

// memory is an engine in memory. It does in Go what the script does in
// Redis, for tests in fake time. A test can make it fail as networks and
// servers fail.
type memory struct {
	mu    sync.Mutex
	run   int // stands for the server's run_id
	calls int

	memoryState
	receivers map[string]*func(string) // maps a channel to the function that receives its messages
}

type memoryState struct {
	version           int
	settings          string
	count             int64  // of calls; begins with the clock
	epoch, began      string // began is the value of memory.run when the epoch began
	lease, age, opens int64
	clock             int64 // the time of the last call, in ms
	old               bool
	last, token       int64
	sessions          map[int64]memorySession
	hosts             map[string]*memoryHost
}

type memorySession struct{ number, seen int64 }

type memoryHost struct {
	owner, token, offer, at, keep int64
	since                         int64 // when the host was offered
	lost                          int64 // -1: none
	state                         any   // nil or a string
	flight                        map[int64]int64
	late                          map[int64]memoryLate
	waits                         []int64
}

type memoryLate struct {
	number, at, till int64
	state            string
}

// isNeeded reports whether a host without an owner must be stored.
func (m *memoryState) isNeeded(r *memoryHost) bool {
	if m.age <= r.keptTill()+2000 || m.age < m.opens {
		return true
	}
	for id, n := range r.flight {
		if _, ok := m.sessions[id]; ok && n > 0 {
			return true
		}
	}
	return false
}

func (r *memoryHost) keptTill() int64 {
	last := r.at + r.keep
	for _, late := range r.late {
		last = max(last, late.till)
	}
	return last
}

// clone returns a copy, such as a replica has.
func (s memoryState) clone() memoryState {
	c := s
	c.sessions, c.hosts = make(map[int64]memorySession), make(map[string]*memoryHost)
	for id, v := range s.sessions {
		c.sessions[id] = v
	}
	for host, r := range s.hosts {
		h := *r
		h.waits, h.flight, h.late = slices.Clone(h.waits), maps.Clone(h.flight), maps.Clone(h.late)
		c.hosts[host] = &h
	}
	return c
}

// flush loses everything.
func (m *memory) flush() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memoryState = memoryState{}
}

// promote makes another server the primary. That server has the older state.
func (m *memory) promote(older memoryState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.memoryState = older
	m.run++
}

func (m *memory) snapshot() memoryState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.clone()
}

func (m *memory) join(version int, epoch, known, settings string, lease int64) ([]any, error) {
	run := strconv.Itoa(m.run)
	other := m.epoch != "" && m.version != version
	lease = max(lease, m.lease)
	lost := m.epoch == "" || m.began != run || other
	hadMembers := lost && len(m.sessions) > 0
	if lost {
		m.memoryState = memoryState{
			version: version, count: time.Now().UnixMilli(),
			epoch: epoch, began: run, lease: lease, opens: 2000, clock: time.Now().UnixMilli(),
			sessions: make(map[int64]memorySession), hosts: make(map[string]*memoryHost),
		}
	}
	m.lease = lease
	if known != "" && known != m.epoch || other || hadMembers {
		m.opens, m.old = m.lease+1000, true
	}
	if len(m.sessions) == 0 {
		m.tick(math.MaxInt64)
	} else {
		m.tick(2000)
	}
	m.last++
	m.count++
	m.sessions[m.last] = memorySession{0, m.age}
	before := m.settings
	m.settings = settings
	return []any{"ok", m.lease, []any{}, m.epoch, m.last, []any{}, before}, nil
}

// tick lets the age grow by the time since the last call, up to the maximum
// most. Before the epoch opens, the maximum is one second.
func (m *memory) tick(most int64) {
	if m.age < m.opens {
		most = 1000
	}
	now := time.Now().UnixMilli()
	m.age, m.clock = m.age+min(now-m.clock, most), now
}

// call runs the script. sent is how many times the client has sent the call.
func (m *memory) call(sent int, args []any) ([]any, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.calls++
	version, prefix, epoch, me, number := args[0].(int), args[1].(string), args[2].(string), args[3].(int64), args[4].(int64)
	heartbeat, testing, others := args[7] != ordinaryCall, args[7] == testingHeartbeat, args[8].(string)
	switch other := m.epoch != "" && m.version != version; {
	case other && len(m.sessions) > 0 && others != fmt.Sprint(m.count):
		return []any{"version", fmt.Sprint(m.version), fmt.Sprint(m.count), m.lease}, nil
	case m.epoch == "" && others == "-":
		return []any{"version", "", "", int64(0)}, nil
	case me == 0:
		return m.join(version, args[6].(string), epoch, args[9].(string), args[5].(int64))
	}
	session, ok := m.sessions[me]
	switch {
	case m.version != version || m.epoch != epoch || m.began != strconv.Itoa(m.run):
		return []any{"epoch", strconv.Itoa(sent)}, nil
	case !ok:
		return []any{"session"}, nil
	case number <= session.number:
		return []any{"late"}, nil
	}
	m.tick(2000)
	m.count++
	m.sessions[me] = memorySession{number, m.age}
	s := &memoryCall{m, prefix, me}
	results := []any{}
	for args = args[10:]; len(args) > 0; args = args[8:] {
		host, state := fmt.Sprint(args[1]), fmt.Sprintf("%s", args[3])
		token, keep, flight, latest, stateAge := number64(args[2]), number64(args[4]), number64(args[5]), number64(args[6]), number64(args[7])
		result := any(int64(0))
		switch r := s.get(host); args[0] {
		case "want":
			result = s.want(host)
		case "give":
			if s.note(r, token, state, keep, latest, stateAge) {
				r.lost, r.flight[me] = -1, flight
				s.free(host, r)
			}
		case "land":
			result = s.land(host, r, state, keep, flight, stateAge)
		case "keep":
			s.note(r, token, state, keep, latest, stateAge)
		case "register":
			switch {
			case r != nil && r.owner == me:
				result = s.owned(r)
			case r == nil && m.age < m.opens:
				r = s.newHost()
				r.at, r.keep, r.state, r.lost = s.age-stateAge, keep, state, -1
				result = s.own(host, r)
			}
		case "drop":
			switch {
			case r == nil:
			case r.owner == me:
				s.lose(r)
				s.free(host, r)
			case r.owner == 0 && r.offer == me:
				s.free(host, r)
			default:
				r.forget(me)
			}
		case "finish":
			id, _ := strconv.ParseInt(host, 10, 64)
			if v, ok := m.sessions[id]; ok && v.number == token {
				delete(s.sessions, id)
			}
		default:
			return nil, fmt.Errorf("unknown operation %v", args[0])
		}
		results = append(results, result)
	}
	for host := range m.hosts { // all hosts, although the script looks at only a few
		s.get(host)
	}
	silent := []any{}
	for id, v := range m.sessions {
		if heartbeat && m.age-v.seen >= 1500 {
			silent = append(silent, id, v.number)
		}
	}
	if testing {
		s.notify(me, epoch)
	}
	return []any{"ok", m.lease, results, epoch, me, silent}, nil
}

type memoryCall struct {
	*memory
	prefix string
	me     int64
}

func number64(v any) int64 {
	n, _ := strconv.ParseInt(fmt.Sprint(v), 10, 64)
	return n
}

func (s *memoryCall) note(r *memoryHost, token int64, state string, keep, latest, stateAge int64) bool {
	if r == nil || r.owner != s.me || r.token != token {
		return false
	}
	r.at, r.keep, r.state = s.age-stateAge, keep, state
	maps.DeleteFunc(r.late, func(_ int64, late memoryLate) bool { return late.number <= latest })
	return true
}

func (s *memoryCall) live(id int64) bool {
	v, ok := s.sessions[id]
	return ok && s.age-v.seen <= 2500
}

func (s *memoryCall) notify(id int64, message string) {
	if receive := s.receivers[s.prefix+s.epoch+":"+strconv.FormatInt(id, 10)]; receive != nil {
		(*receive)(message)
	}
}

func (r *memoryHost) forget(id int64) {
	r.waits = slices.DeleteFunc(r.waits, func(w int64) bool { return w == id })
}

func (s *memoryCall) offer(host string, r *memoryHost) {
	sum := sha1.Sum([]byte(host))
	m := int64(binary.BigEndian.Uint32(sum[:])%67108858 + 1)
	r.offer = 0
	least := int64(67108860)
	r.waits = slices.DeleteFunc(r.waits, func(id int64) bool { _, ok := s.sessions[id]; return !ok })
	for _, id := range r.waits {
		if way := (((id-s.me)*m-1)%67108859 + 67108859) % 67108859; way < least && s.live(id) {
			r.offer, least = id, way
		}
	}
	if r.offer != 0 {
		r.since = s.age
		s.token++
		r.token = s.token
		s.notify(r.offer, host)
		return
	}
	for _, id := range r.waits {
		s.notify(id, host)
	}
}

func (s *memoryCall) lose(r *memoryHost) {
	r.keep, r.lost = s.age-r.at+max(r.keep, 3600000), s.age
}

func (s *memoryCall) known(word string, n, waits int64, r *memoryHost) []any {
	since, missing, flight := r.at, int64(0), int64(0)
	if r.lost >= 0 {
		since, missing = r.lost, 1
	}
	for id, n := range r.flight {
		if _, ok := s.sessions[id]; ok && id != s.me {
			flight += n
		}
	}
	return []any{word, n, waits, r.state, s.age - r.at, max(0, s.age-since-2000), missing, flight}
}

func (s *memoryCall) owned(r *memoryHost) []any {
	late := []any{}
	for _, l := range r.late {
		late = append(late, l.number, s.age-l.at, l.state)
	}
	return append(s.known("own", r.token, int64(len(r.waits)), r), late, max(0, r.keptTill()-s.age))
}

func (s *memoryCall) own(host string, r *memoryHost) []any {
	if r.offer != s.me {
		s.token++
		r.token = s.token
	}
	r.owner, r.offer = s.me, 0
	r.forget(s.me)
	s.hosts[host] = r
	return s.owned(r)
}

func (s *memoryCall) free(host string, r *memoryHost) {
	r.owner = 0
	r.forget(s.me)
	s.offer(host, r)
}

// get returns a host, or nil if there is none or it is no longer needed. If the
// session of the owner has ended, the owner is removed first.
func (s *memoryCall) get(host string) *memoryHost {
	r := s.hosts[host]
	if r == nil {
		return nil
	}
	if _, ok := s.sessions[r.owner]; r.owner != 0 && !ok {
		r.owner = 0
		s.lose(r)
	} else if r.owner == 0 && !s.isNeeded(r) {
		delete(s.hosts, host)
		return nil
	}
	return r
}

func (s *memoryCall) newHost() *memoryHost {
	r := &memoryHost{at: s.age, lost: -1, flight: make(map[int64]int64), late: make(map[int64]memoryLate)}
	if s.old {
		r.keep, r.lost = 3600000, s.lease
	}
	return r
}

func (s *memoryCall) land(host string, r *memoryHost, state string, keep, flight, stateAge int64) any {
	switch {
	case r == nil && state == "" && flight == 0:
		return int64(0)
	case r == nil && s.age < s.opens:
		return []any{"closed"}
	case r == nil:
		r = s.newHost()
		s.hosts[host] = r
	}
	r.flight[s.me] = flight
	if state != "" {
		s.token++
		r.late[s.me] = memoryLate{s.token, s.age - stateAge, s.age - stateAge + keep, state}
	}
	if r.owner != 0 && r.owner != s.me {
		s.notify(r.owner, host)
	}
	return int64(0)
}

func (s *memoryCall) want(host string) any {
	r := s.get(host)
	switch {
	case r == nil && s.age < s.opens:
		return []any{"closed", s.opens - s.age}
	case r == nil:
		return s.own(host, s.newHost())
	case r.owner == s.me:
		return s.owned(r)
	case r.owner == 0 && !(r.offer != 0 && r.offer != s.me && s.age-r.since <= 1500):
		return s.own(host, r)
	}
	holder := r.owner + r.offer
	if !slices.Contains(r.waits, s.me) && len(r.waits) < 64 {
		r.waits = append(r.waits, s.me)
		s.notify(holder, host)
	}
	return s.known("other", holder, 0, r)
}

// A link is one member's connection to a memory.
type link struct {
	memory *memory

	mu          sync.Mutex
	cut         bool
	latency     func() time.Duration // how long a message takes, one way
	lose        func() bool          // whether a message is lost; if that message is an answer, the call has run
	repeat      func() bool          // whether the client sends a call twice
	held        []func()             // late calls; they run right after the next call that is not late
	late        func() bool          // whether a call runs only after the client has given up
	unsubscribe context.CancelFunc

	noSubscribe   error // the answer to each subscription; nil means that it succeeds
	halfOpen      bool  // the next subscription is confirmed, but no message arrives
	subscriptions int   // how many subscriptions were tried
}

var errCut = errors.New("the link is cut")

// joins reports whether a call with args starts a session.
func joins(args []any) bool { return args[3] == int64(0) }

func (l *link) happens(f func() bool) bool { return f != nil && f() }

func (l *link) travel(ctx context.Context) error {
	l.mu.Lock()
	cut, lost, latency := l.cut, l.happens(l.lose), l.latency
	l.mu.Unlock()
	if latency != nil {
		time.Sleep(latency())
	}
	if cut || lost {
		<-ctx.Done()
		return errCut
	}
	return ctx.Err()
}

func (l *link) run(ctx context.Context, args []any) ([]any, error) {
	if err := l.travel(ctx); err != nil {
		return nil, err
	}
	if joins(args) {
		reply, err := l.memory.call(1, args)
		if err := l.travel(ctx); err != nil {
			return nil, err
		}
		return reply, err
	}
	l.mu.Lock()
	late, again := l.happens(l.late), l.happens(l.repeat)
	if late {
		l.held = append(l.held, func() { l.memory.call(1, args) })
	} else {
		for _, run := range l.held {
			defer run() // after the current call
		}
		l.held = nil
	}
	l.mu.Unlock()
	if late {
		<-ctx.Done()
		return nil, errCut
	}
	reply, err := l.memory.call(1, args)
	if again {
		reply, err = l.memory.call(2, args)
	}
	if err := l.travel(ctx); err != nil {
		return nil, err
	}
	return reply, err
}

func (l *link) subscribe(ctx context.Context, channel string, receive func(string)) error {
	l.mu.Lock()
	l.subscriptions++
	halfOpen := l.halfOpen
	l.halfOpen = false
	if l.noSubscribe != nil {
		defer l.mu.Unlock()
		return l.noSubscribe
	}
	if l.cut {
		defer l.mu.Unlock()
		return errCut
	}
	ctx, l.unsubscribe = context.WithCancel(ctx)
	l.mu.Unlock()
	l.memory.mu.Lock()
	if l.memory.receivers == nil {
		l.memory.receivers = make(map[string]*func(string))
	}
	passOn := func(message string) {
		go func() {
			if l.travel(ctx) == nil && !halfOpen {
				receive(message)
			}
		}()
	}
	l.memory.receivers[channel] = &passOn
	l.memory.mu.Unlock()
	receive(subscribed)
	<-ctx.Done()
	l.memory.mu.Lock()
	if l.memory.receivers[channel] == &passOn {
		delete(l.memory.receivers, channel)
	}
	l.memory.mu.Unlock()
	return ctx.Err()
}

// setCut cuts the link if the argument is true. Otherwise it restores the link.
func (l *link) setCut(cut bool) {
	l.mu.Lock()
	l.cut = cut
	unsubscribe := l.unsubscribe
	l.mu.Unlock()
	if cut && unsubscribe != nil {
		unsubscribe()
	}
}

func (l *link) isCut() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.cut
}
