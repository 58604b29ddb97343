package schedule

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// testTable is a Table that also stores the request that was started last to
// each host.
type testTable struct {
	Table
	inFlight map[string]*Request
}

func newTestTable(maxHosts int) *testTable {
	t := &testTable{
		Table:    Table{MaxHosts: maxHosts, Settings: testSettings()},
		inFlight: make(map[string]*Request),
	}
	t.Evicted = func(*Host) {}
	return t
}

func (t *testTable) obtain(now Time, key string) *Host {
	return t.Obtain(now, key, func(now Time, h *Host) {
		h.Expire(now, func(*Request, bool) {})
		t.MarkIdle(now, h)
	})
}

// start starts a request to the host with this key, and makes the host if there
// is none.
func (t *testTable) start(now Time, key string, r *Request) {
	h := t.obtain(now, key)
	t.MarkBusy(h)
	h.Start(now, r, time.Minute)
	t.MarkIfUnavailable(now, h)
	t.inFlight[key] = r
}

func (t *testTable) finish(now Time, key string, sig Signals) {
	h := t.Get(key)
	r := t.inFlight[key]
	h.ApplyOutcome(now, r, sig)
	t.MarkIfUnavailable(now, h)
	h.Finish(now, r)
	t.MarkIdle(now, h)
}

// keys returns the keys of all hosts.
func (t *testTable) keys() string {
	var keys []string
	for h := range t.All() {
		keys = append(keys, h.Key)
	}
	slices.Sort(keys)
	return strings.Join(keys, " ")
}

// Each row is a sequence of events, and hosts are those that are in the table
// after each event. An event is a word and a host: "get" starts and ends a
// request with status 200, and "start" only starts one. "paused" is a request
// that pauses its host for an hour, "throttled" a 429, which pauses it for 5 s,
// "quota" one whose response declares a quota that is renewed in a minute and
// allows a request every 10 s until then, "known" is a request with a
// Crawl-delay of 2 s, and "slow" with one of two hours. "done" ends a request.
// "declare" declares a Crawl-delay of 2 s for a request whose check then fails.
// "declareslow" declares one of two hours, and "undeclare" declares none, for a
// request that is then rejected.
func TestTable(t *testing.T) {
	type step struct {
		now   Time
		event string
		hosts string
	}
	const minute, hour = 60 * s, 3600 * s
	for _, tt := range []struct {
		name     string
		maxHosts int
		steps    []step
	}{
		{"a blank one is evicted for a new one", 10, []step{{0, "get a", "a"}, {minute, "get b", "b"}, {2 * minute, "get b", "b"}}},
		{"but not within its interval", 10, []step{{0, "get a", "a"}, {999 * ms, "get b", "a b"}, {s, "get c", "b c"}}},
		{"two at a time", 10, []step{{0, "get a", "a"}, {0, "get b", "a b"}, {0, "get c", "a b c"}, {s, "get d", "c d"}}},
		{"a known one stays while there is room", 10, []step{{0, "known a", "a"}, {hour, "get b", "a b"}, {2 * hour, "get c", "a c"}}},
		{"a known one hides no other", 10, []step{{0, "known a", "a"}, {0, "known b", "a b"}, {0, "get c", "a b c"}, {hour, "get d", "a b d"}}},
		{"without room, the least recently used is evicted", 2, []step{{0, "known a", "a"}, {0, "known b", "a b"}, {minute, "known a", "a b"}, {2 * minute, "known c", "a c"}}},
		{"without room, the least recently used of three is evicted", 3, []step{{0, "known a", "a"}, {minute, "known b", "a b"}, {2 * minute, "known c", "a b c"}, {3 * minute, "known d", "b c d"}, {4 * minute, "known e", "c d e"}}},
		{"one that became known while idle stays", 2, []step{{0, "get a", "a"}, {0, "known b", "a b"}, {minute, "declare a", "a b"}, {2 * minute, "known c", "a c"}}},
		{"one that became blank while idle is evicted", 10, []step{{0, "known a", "a"}, {minute, "undeclare a", "a"}, {2 * minute, "get b", "b"}}},
		{"one with a request stays", 2, []step{{0, "start a", "a"}, {0, "known b", "a b"}, {30 * s, "get c", "a c"}, {31 * s, "get d", "a d"}}},
		{"all have requests", 2, []step{{0, "start a", "a"}, {0, "start b", "a b"}, {30 * s, "start c", "a b c"}}},
		{"above the maximum, two are evicted for one", 2, []step{{0, "start a", "a"}, {0, "start b", "a b"}, {0, "start c", "a b c"}, {s, "done a", "a b c"}, {s, "done b", "a b c"}, {s, "done c", "a b c"}, {3 * s, "get d", "c d"}}},
		{"an abandoned request keeps no host", 2, []step{{0, "start a", "a"}, {90 * s, "start b", "a b"}, {2 * minute, "get c", "b c"}, {3 * minute, "get d", "b d"}}},
		{"all have abandoned requests", 1, []step{{0, "start a", "a"}, {0, "start b", "a b"}, {2 * minute, "get c", "c"}, {3 * minute, "get d", "d"}}},
		{"a paused one stays while there is room", 10, []step{{0, "paused a", "a"}, {minute, "get b", "a b"}, {2 * minute, "get c", "a c"}}},
		{"without room, another is evicted first", 3, []step{{0, "paused p", "p"}, {0, "known a", "a p"}, {0, "known b", "a b p"}, {minute, "get c", "b c p"}}},
		{"paused ones fill the table", 2, []step{{0, "paused a", "a"}, {0, "paused b", "a b"}, {minute, "get c", "b c"}}},
		{"but are within their interval", 2, []step{{0, "paused a", "a"}, {0, "paused b", "a b"}, {999 * ms, "get c", "a b c"}}},
		{"a long Crawl-delay is a pause", 1, []step{{0, "slow a", "a"}, {minute - 1, "get b", "a b"}}},
		{"which may end early", 1, []step{{0, "slow a", "a"}, {minute, "get b", "b"}}},
		{"a long Crawl-delay that is declared after the start", 1, []step{{0, "get a", "a"}, {2 * s, "declareslow a", "a"}, {minute - 1, "get b", "a b"}}},
		{"it may end early too", 1, []step{{0, "get a", "a"}, {2 * s, "declareslow a", "a"}, {minute, "get b", "b"}}},
		{"the long Crawl-delay of another origin protects the host", 1, []step{{0, "slow a", "a"}, {2 * s, "undeclare a", "a"}, {minute - 1, "get b", "a b"}}},
		{"a Crawl-delay that is not long is no pause", 1, []step{{0, "slow a", "a"}, {2 * s, "undeclare a", "a"}, {2 * hour, "known a", "a"}, {2*hour + 2*s, "get b", "b"}}},
		{"the pause is over", 10, []step{{0, "paused a", "a"}, {hour, "get b", "a b"}, {hour, "get c", "a b c"}, {hour + 2*s, "get d", "a d"}}},
		{"a quota runs", 10, []step{{0, "quota a", "a"}, {30 * s, "get b", "a b"}, {minute - 1, "get c", "a c"}}},
		{"a quota was renewed while the host was idle", 1, []step{{0, "quota a", "a"}, {minute, "get b", "b"}}},
		{"a quota was renewed before the next request", 10, []step{{0, "quota a", "a"}, {minute, "get a", "a"}, {2 * minute, "get b", "b"}}},
		{"without room, a quota does not keep a host", 1, []step{{0, "quota a", "a"}, {20 * s, "get b", "b"}}},
		{"the pause is over and nothing else is known", 10, []step{{0, "throttled a", "a"}, {6 * s, "get a", "a"}, {minute, "get b", "b"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			table := newTestTable(tt.maxHosts)
			evicted := 0
			table.Evicted = func(h *Host) {
				evicted++
				if h.IsEvicted() || table.Get(h.Key) != h {
					t.Errorf("%s is evicted before Evicted is called, want after it", h.Key)
				}
			}
			made := make(map[*Host]bool)
			for i, step := range tt.steps {
				event, key, _ := strings.Cut(step.event, " ")
				r := new(Request)
				sig := Signals{Status: 200, Class: Good}
				switch event {
				case "paused":
					sig = Signals{Status: 503, Class: Throttled, RetryAfter: time.Hour}
				case "throttled":
					sig = Signals{Status: 429, Class: Throttled}
				case "quota":
					sig.Quota = Quota{Spread: 10 * s, RenewsIn: minute}
				case "known", "declare":
					r = &Request{Declared: true, CrawlDelay: 2 * s}
				case "slow", "declareslow":
					r = &Request{Declared: true, CrawlDelay: 2 * time.Hour}
				}
				switch event {
				case "done":
					table.finish(step.now, key, sig)
				case "declare", "declareslow":
					table.Get(key).Declare(r)
					table.MarkIfUnavailable(step.now, table.Get(key))
				case "undeclare":
					table.Get(key).Declare(&Request{Declared: true})
					table.MarkIdle(step.now, table.Get(key))
				default:
					table.start(step.now, key, r)
					table.Get(key).Declare(r)
					if event != "start" {
						table.finish(step.now, key, sig)
					}
				}
				if got := table.keys(); got != step.hosts {
					t.Errorf("after event %d, the table has the hosts %s, want %s", i, got, step.hosts)
				}
				for h := range table.All() {
					made[h] = true
					if table.MayBeEvicted(h) == h.IsBusy() && h.unavailableIndex == 0 {
						t.Errorf("after event %d, %s may be evicted: %t, and is busy: %t; want exactly one of them", i, h.Key, table.MayBeEvicted(h), h.IsBusy())
					}
				}
			}
			if want := len(made) - table.Len(); evicted != want {
				t.Errorf("%d evictions are reported, want %d", evicted, want)
			}
			for h := range made {
				if isHere := table.Get(h.Key) == h; h.IsEvicted() == isHere {
					t.Errorf("%s is evicted: %t, and is in the table: %t; want exactly one of them", h.Key, h.IsEvicted(), isHere)
				}
			}
		})
	}
}

// A Crawl-delay of MaxCrawlDelay that Jitter lengthens is not long. The host is
// not evicted before the Crawl-delay is over.
func TestTable_JitterMakesNoCrawlDelayLong(t *testing.T) {
	table := newTestTable(1)
	table.Settings.Jitter = 0.5
	table.Settings.Random = func() float64 { return 0.5 }
	r := &Request{Declared: true, CrawlDelay: time.Minute}
	table.obtain(0, "a").Declare(r)
	table.start(0, "a", r)
	table.finish(0, "a", Signals{Status: 200, Class: Good})
	table.obtain(75*s-1, "b")
	if got := table.keys(); got != "a b" {
		t.Errorf("before the end of the Crawl-delay, the table has the hosts %s, want a b", got)
	}
	table.obtain(75*s, "c")
	if table.Get("a") != nil {
		t.Error("the host stays in the table after its Crawl-delay, want it evicted")
	}
}

// A host of a fleet that this member owns or has requested is not evicted
// before the Claim has ended.
func TestTable_Ownership(t *testing.T) {
	table := newTestTable(1)
	h := table.obtain(0, "a")
	table.MarkBusy(h)
	h.BeginClaim(0, new(Claim))
	table.MarkIdle(0, h)
	table.obtain(s, "b")
	if table.MayBeEvicted(h) || table.Get("a") != h {
		t.Error("the host is or may be evicted although it is owned, want neither")
	}
	h.Claim = nil
	table.MarkIdle(s, h)
	table.obtain(2*s, "c")
	if table.Get("a") != nil {
		t.Error("the host stays in the table after its ownership has ended, want it evicted")
	}
}

// When a late outcome arrives, the host of its request may be evicted already.
// The host does not become idle again.
func TestTable_LateOutcome(t *testing.T) {
	table := newTestTable(1)
	table.start(0, "a", new(Request))
	a := table.Get("a")
	table.obtain(61*s, "b") // the lease is over
	table.MarkIdle(61*s, a)
	if !a.IsEvicted() || table.MayBeEvicted(a) {
		t.Errorf("the host is evicted: %t, and may be evicted: %t; want true, false", a.IsEvicted(), table.MayBeEvicted(a))
	}
}

// Each new host has a Crawl-delay, so no host is blank. The hosts are evicted
// in the order in which they were used.
func TestTable_EvictsInOrder(t *testing.T) {
	for _, maxHosts := range []int{3, 100, 999, 1000} {
		table := newTestTable(maxHosts)
		var got []string
		table.Evicted = func(h *Host) { got = append(got, h.Key) }
		now := Time(0)
		for i := range 5 * maxHosts {
			r := &Request{Declared: true, CrawlDelay: s}
			table.start(now, fmt.Sprint(i), r)
			table.Get(fmt.Sprint(i)).Declare(r)
			table.finish(now, fmt.Sprint(i), Signals{Status: 200, Class: Good})
			now += 2 * s
		}
		if want := 4 * maxHosts; len(got) != want {
			t.Fatalf("with MaxHosts %d, %d hosts are evicted, want %d", maxHosts, len(got), want)
		}
		for i, key := range got {
			if want := fmt.Sprint(i); key != want {
				t.Errorf("with MaxHosts %d, host %s is evicted as number %d, want host %s", maxHosts, key, i, want)
				break
			}
		}
	}
}

// New hosts are made all the time, and every second one is then paused for a
// day. There are never many more than MaxHosts, and not all of them are paused.
func TestTable_IsBounded(t *testing.T) {
	const maxHosts = 1000
	table := newTestTable(maxHosts)
	number := 0
	table.Settings.Random = func() float64 { // some number below 1
		number = (number*1103515245 + 12345) & (1<<31 - 1)
		return float64(number) / (1 << 31)
	}
	now := Time(0)
	for i := range 20 * maxHosts {
		key := fmt.Sprint(i)
		sig := Signals{Status: 200, Class: Good}
		if i%2 == 0 {
			sig = Signals{Status: 429, Class: Throttled, RetryAfter: 24 * time.Hour}
		}
		table.start(now, key, new(Request))
		table.finish(now, key, sig)
		now += 2 * ms
	}
	if n := table.Len(); n > maxHosts+maxHosts/10 {
		t.Errorf("the table has %d hosts, want at most %d", n, maxHosts+maxHosts/10)
	}
	if n := len(table.unavailable); n > maxHosts-maxHosts/10 {
		t.Errorf("%d hosts are paused, want %d at most", n, maxHosts-maxHosts/10)
	}
}
