package redislimit

import (
	"context"
	"flag"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

var (
	faultSeeds = flag.Int("faultseeds", 60, "how many seeds TestRandomFaults tries")
	faultSeed  = flag.Int64("faultseed", -1, "the only seed that TestRandomFaults tries, with a log")
)

// Members join, are closed and are killed, the network fails, and Redis fails
// or loses its state. All this happens at random. Even so, no two requests to a
// host start closer than its interval. After the last fault, every member is
// served again. A failure names its seed: run that seed alone with the flag
// -faultseed.
func TestRandomFaults(t *testing.T) {
	seeds := make([]uint64, *faultSeeds)
	for i := range seeds {
		seeds[i] = uint64(i)
	}
	if *faultSeed >= 0 {
		seeds = []uint64{uint64(*faultSeed)}
	}
	starts := 0
	longest := time.Duration(0)
	for _, seed := range seeds {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRandomFaults(t, seed)
				r.run(4 * time.Minute)
				r.mustServeAll()
				r.closeAll()
				starts += len(r.sortedStarts())
				longest = max(longest, r.checkIntervals(r.delay))
				r.logEvents()
			})
		})
	}
	t.Logf("%d starts, the longest time without a start at a host: %v", starts, longest)
}

// randomFaults is a fleet to which faults happen at random. The choices depend
// on the seed only.
type randomFaults struct {
	*testFleet
	rand  *rand.Rand
	delay time.Duration
	hosts int
	loss  float64 // the share of messages that are lost
	began time.Time

	older    memoryState // of a replica that may be promoted
	lostAt   time.Time   // when Redis last lost its state
	joinedAt time.Time   // when the newest member joined

	eventsMu sync.Mutex
	events   []string

	pausesMu    sync.Mutex
	pausedUntil map[string]time.Time
}

func newRandomFaults(t *testing.T, seed uint64) *randomFaults {
	random := rand.New(rand.NewPCG(seed, 7))
	r := &randomFaults{
		testFleet:   newTestFleet(t),
		rand:        random,
		began:       time.Now(),
		hosts:       1 + random.IntN(4),
		pausedUntil: make(map[string]time.Time),
	}
	r.delay = []time.Duration{100 * time.Millisecond, time.Second, 3 * time.Second, 25 * time.Second}[random.IntN(4)]
	r.loss = []float64{0, 0.02, 0.1}[random.IntN(3)]
	r.onStart = r.checkPause
	return r
}

func (r *randomFaults) event(format string, args ...any) {
	r.eventsMu.Lock()
	defer r.eventsMu.Unlock()
	r.events = append(r.events, fmt.Sprintf("%8.3f ", time.Since(r.began).Seconds())+fmt.Sprintf(format, args...))
}

// Write adds a line of a member's log to the events.
func (r *randomFaults) Write(line []byte) (int, error) {
	r.event("%s", strings.TrimSpace(string(line)))
	return len(line), nil
}

func (r *randomFaults) logEvents() {
	if r.Failed() || *faultSeed >= 0 {
		r.Logf("delay %v, loss %v, %d hosts:\n%s", r.delay, r.loss, r.hosts, strings.Join(r.events, "\n"))
	}
}

// checkPause fails the test if a request starts during a pause.
func (r *randomFaults) checkPause(s start) {
	r.pausesMu.Lock()
	defer r.pausesMu.Unlock()
	if until := r.pausedUntil[s.host]; s.at.Before(until) {
		r.Errorf("%.3f s after the beginning, member %d starts a request to %s %v before the host's pause is over", s.at.Sub(r.began).Seconds(), s.member, s.host, until.Sub(s.at))
	}
}

// forgetPauses ends the checks of all pauses. A pause may be lost with the
// member that knows it.
func (r *randomFaults) forgetPauses() {
	r.pausesMu.Lock()
	defer r.pausesMu.Unlock()
	clear(r.pausedUntil)
}

// addMember adds a member that makes requests to every host until stopCrawling.
func (r *randomFaults) addMember() {
	seed := r.rand.Uint64()
	random := rand.New(rand.NewPCG(seed, 1))
	maxLatencies := []time.Duration{1, time.Millisecond, 60 * time.Millisecond}
	maxLatency := time.Duration(random.Int64N(int64(maxLatencies[random.IntN(3)]) + 1))
	r.options.Logger = slog.New(slog.NewTextHandler(r, nil)).With("m", len(r.members))
	m := r.join(&politeness.Limiter{Delay: r.delay, BackOff: 2 * time.Second, Logger: slog.New(slog.DiscardHandler)})
	r.joinedAt = time.Now()
	r.event("member %d joins, latency of up to %v", m.number, maxLatency)

	var mu sync.Mutex
	network := rand.New(rand.NewPCG(seed, 2))
	chance := func(p float64) func() bool {
		return func() bool {
			mu.Lock()
			defer mu.Unlock()
			return network.Float64() < p
		}
	}
	m.link.latency = func() time.Duration {
		mu.Lock()
		defer mu.Unlock()
		return time.Duration(1 + network.Int64N(int64(maxLatency)+1))
	}
	m.link.lose = chance(r.loss)
	m.link.repeat = chance(r.loss)
	m.link.late = chance(r.loss / 2)

	for i := range r.hosts {
		name := hostName(i)
		pausesBetween := random.IntN(3) == 0
		own := rand.New(rand.NewPCG(seed, uint64(i)))
		r.Go(func() {
			for m.crawling.Err() == nil {
				if pausesBetween {
					time.Sleep(time.Duration(own.Int64N(int64(4 * r.delay))))
				}
				r.request(m, name, own)
			}
		})
	}
}

func hostName(i int) string { return fmt.Sprintf("h%d.example", i) }

// request makes a request of m, whose context may end soon, and whose response
// may begin a pause.
func (r *randomFaults) request(m *testMember, host string, random *rand.Rand) {
	ctx := m.crawling
	if random.IntN(10) == 0 {
		short, cancel := context.WithTimeout(ctx, time.Duration(random.Int64N(int64(5*time.Second))))
		defer cancel()
		ctx = short
	}
	g, err := m.acquire(ctx, host)
	if err != nil {
		time.Sleep(time.Duration(1 + random.Int64N(int64(r.delay))))
		return
	}
	time.Sleep(time.Duration(random.Int64N(int64(r.delay))))
	if random.IntN(300) > 0 || !m.Trusted() || m.link.isCut() {
		g.Done(ok200)
		return
	}
	until := time.Now().Add(20 * time.Second)
	g.Done(politeness.Outcome{Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"20"}}})
	r.pausesMu.Lock()
	defer r.pausesMu.Unlock()
	r.pausedUntil[host] = until
}

// run lets faults happen for the given time. Then it ends all of them.
func (r *randomFaults) run(duration time.Duration) {
	for range 2 + r.rand.IntN(4) {
		r.addMember()
	}
	time.Sleep(15 * time.Second)
	r.joinedAt = time.Now()
	r.older = r.memory.snapshot()
	for end := time.Now().Add(duration); time.Now().Before(end); {
		time.Sleep(time.Duration(r.rand.Int64N(int64(8 * time.Second))))
		r.fault()
	}
	r.event("the faults end")
	for _, m := range r.members {
		m.link.setCut(m.ended)
		m.link.mu.Lock()
		m.link.lose = nil
		m.link.late = nil
		m.link.repeat = nil
		m.link.mu.Unlock()
	}
}

// connected returns how many members can reach Redis.
func (r *randomFaults) connected() int {
	n := 0
	for _, m := range r.members {
		if !m.ended && !m.link.isCut() {
			n++
		}
	}
	return n
}

// fault chooses one member and one of twelve faults, and lets the fault happen
// if it is possible.
func (r *randomFaults) fault() {
	m := r.members[r.rand.IntN(len(r.members))]
	isConnected := !m.ended && !m.link.isCut()
	connected := r.connected()
	const (
		newSnapshot = 7
		newMember   = 10
	)
	kind := r.rand.IntN(12)
	if kind != newSnapshot && kind != newMember {
		r.forgetPauses()
	}
	switch kind {
	case 0, 1:
		if isConnected && connected > 1 {
			r.event("member %d is cut off", m.number)
			m.cutOff()
		}
	case 2, 3, 4:
		if m.link.isCut() && !m.ended {
			r.event("member %d is connected again", m.number)
			m.reconnect()
		}
	case 5:
		if connected > 0 && r.mayLoseState() {
			r.event("flush")
			r.loseState(r.memory.flush)
		}
	case 6:
		if connected > 0 && r.mayLoseState() {
			r.event("an older replica is promoted")
			r.loseState(func() { r.memory.promote(r.older) })
		}
		r.older = r.memory.snapshot()
	case newSnapshot:
		r.older = r.memory.snapshot()
	case 8:
		if isConnected && connected > 1 {
			r.event("member %d is killed", m.number)
			m.kill()
			m.stopCrawling()
		}
	case 9:
		if isConnected && connected > 1 {
			m.ended = true
			m.stopCrawling()
			r.event("member %d is closed: %v", m.number, m.Close())
		}
	case newMember:
		if time.Since(r.lostAt) > 20*time.Second && len(r.members) < 12 {
			r.addMember()
		}
	case 11:
		if r.rand.IntN(2) == 0 && connected > 1 {
			r.cutOffAll()
		}
	}
}

// mayLoseState reports whether Redis may lose its state, which is so if all
// members have had a session for some time. A new member might begin the new
// epoch while all messages of the others are lost. The package documentation
// names this case, which cannot be prevented.
func (r *randomFaults) mayLoseState() bool {
	if time.Since(r.joinedAt) <= 20*time.Second {
		return false
	}
	hasStarted := make(map[int]bool)
	for _, s := range r.sortedStarts() {
		hasStarted[s.member] = true
	}
	for _, m := range r.members {
		if !m.ended && !hasStarted[m.number] {
			return false
		}
	}
	return true
}

// loseState calls lose, and waits until a member of the old epoch has joined
// the new one.
func (r *randomFaults) loseState(lose func()) {
	lose()
	r.lostAt = time.Now()
	time.Sleep(5 * time.Second)
}

// cutOffAll cuts off all members for up to 25 s.
func (r *randomFaults) cutOffAll() {
	r.event("all members are cut off")
	for _, m := range r.members {
		m.cutOff()
	}
	time.Sleep(time.Duration(r.rand.Int64N(int64(25 * time.Second))))
	r.event("all members are connected again")
	for _, m := range r.members {
		m.link.setCut(m.ended)
	}
}

// mustServeAll fails the test unless each member starts requests to each host
// again. It waits until the sessions of killed members and all pauses are over.
func (r *randomFaults) mustServeAll() {
	time.Sleep(50*time.Second + r.delay)
	r.event("all pauses are over")
	from := time.Now()
	time.Sleep(time.Duration(4*len(r.members)) * max(3*time.Second, r.delay))
	type pair struct {
		member int
		host   string
	}
	served := make(map[pair]bool)
	for _, s := range r.sortedStarts() {
		if s.at.After(from) {
			served[pair{s.member, s.host}] = true
		}
	}
	for _, m := range r.members {
		for i := range r.hosts {
			if !m.ended && !served[pair{m.number, hostName(i)}] {
				r.Errorf("after the faults, member %d starts no request to %s: %+v", m.number, hostName(i), m.limiter.Stats())
			}
		}
	}
}

// closeAll closes all members. Afterwards, only sessions of members that were
// killed or closed earlier may be left.
func (r *randomFaults) closeAll() {
	for _, m := range r.members {
		m.stopCrawling()
	}
	r.Wait()
	mayBeLeft := 3
	for _, m := range r.members {
		m.Close()
		if m.ended {
			mayBeLeft++
		}
	}
	time.Sleep(time.Minute)
	if n := len(r.memory.snapshot().sessions); n > mayBeLeft {
		r.Errorf("a minute after all members were closed, %d sessions are left, want %d at most", n, mayBeLeft)
	}
}
