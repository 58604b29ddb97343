package collyrobots

import (
	"sync"
	"time"
)

// atOnce is how soon a request must come after a refusal to count as an
// unconditional repeat of it.
const atOnce = 100 * time.Millisecond

// loops remembers the refusals of the last second or two. It finds URLs that
// are refused again and again at full speed, because something always repeats
// them: an OnError handler that visits the URL, or a queue that gets it back.
type loops struct {
	mu            sync.Mutex
	since         time.Time // when the second of young began
	young, former refusals
}

// refusals has what was refused in a second, by host and URL.
type refusals map[string]map[string]spin

type spin struct {
	last  time.Time
	times int // how many times in a row, each soon after the one before
}

// maxSpins is how many URLs of a host are remembered for a second.
const maxSpins = 100

// note remembers that a URL of a host is refused now. It reports whether that
// is at least the third time in a row. waited says that the refusal was held up
// because note has reported so just before.
func (l *loops) note(host, url string, waited bool) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if age := now.Sub(l.since); age >= time.Second {
		if l.former = l.young; age >= 2*time.Second {
			l.former = nil
		}
		l.young, l.since = make(refusals), now
	}
	s, ok := l.young[host][url]
	if !ok {
		s = l.former[host][url]
	}
	if waited {
		s.times = 2
	} else if now.Sub(s.last) >= atOnce {
		s.times = 0
	}
	s.times++
	s.last = now
	urls := l.young[host]
	if urls == nil {
		urls = make(map[string]spin)
		l.young[host] = urls
	}
	if ok || len(urls) < maxSpins {
		urls[url] = s
	}
	return s.times >= 3
}
