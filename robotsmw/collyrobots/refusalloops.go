package collyrobots

import (
	"maps"
	"sync"
	"time"
)

// atOnce is how soon a request must come after a refusal to count as an
// unconditional repeat of it.
const atOnce = 100 * time.Millisecond

// loops remembers the refusals of the last second. It finds URLs that are
// refused again and again at full speed, because something always repeats them:
// an OnError handler that visits the URL, or a queue that gets it back.
type loops struct {
	mu     sync.Mutex
	tidied time.Time                  // when what is old was forgotten
	hosts  map[string]map[string]spin // by host and URL
}

type spin struct {
	last  time.Time
	times int // how many times in a row, each soon after the one before
}

// maxSpins is how many URLs of a host are remembered.
const maxSpins = 100

// note remembers that a URL of a host is refused now. It reports whether that
// is at least the third time in a row. The caller must then wait for a turn.
func (l *loops) note(host, url string, turn time.Duration) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.tidied) >= time.Second {
		l.tidied = now
		maps.DeleteFunc(l.hosts, func(_ string, urls map[string]spin) bool {
			maps.DeleteFunc(urls, func(_ string, s spin) bool { return now.Sub(s.last) >= atOnce })
			return len(urls) == 0
		})
	}
	urls := l.hosts[host]
	if urls == nil {
		urls = make(map[string]spin)
		l.hosts[host] = urls
	}
	s, ok := urls[url]
	if !ok && len(urls) >= maxSpins {
		return false
	}
	if now.Sub(s.last) >= atOnce {
		s.times = 0
	}
	s.last = now
	s.times++
	spins := s.times >= 3
	if spins {
		s = spin{now.Add(turn), 2} // the next time counts from the end of the turn
	}
	urls[url] = s
	return spins
}
