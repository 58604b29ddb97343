package collyrobots

import (
	"maps"
	"sync"
	"time"
)

// immediateRepeat is how soon a request must come after a refusal to count as
// an unconditional repeat of it.
const immediateRepeat = 100 * time.Millisecond

// refusalLoops remembers the refusals of the last second. It finds URLs that
// are refused again and again at full speed, because something always repeats
// them: an OnError handler that visits the URL, or a queue that gets it back.
type refusalLoops struct {
	mu      sync.Mutex
	cleaned time.Time                             // when old refusals were last removed
	hosts   map[string]map[string]repeatedRefusal // by host and URL
}

type repeatedRefusal struct {
	last  time.Time
	times int // how many times in a row, each soon after the one before
}

// maxLoopURLs is how many URLs of a host are remembered.
const maxLoopURLs = 100

// add remembers that a URL of a host is refused now. It reports whether this is
// at least the third time in a row. If so, the caller must wait for that time
// before it returns the error.
func (l *refusalLoops) add(host, url string, wait time.Duration) bool {
	now := time.Now()
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Sub(l.cleaned) >= time.Second {
		l.cleaned = now
		maps.DeleteFunc(l.hosts, func(_ string, urls map[string]repeatedRefusal) bool {
			maps.DeleteFunc(urls, func(_ string, s repeatedRefusal) bool { return now.Sub(s.last) >= immediateRepeat })
			return len(urls) == 0
		})
	}
	urls := l.hosts[host]
	if urls == nil {
		urls = make(map[string]repeatedRefusal)
		l.hosts[host] = urls
	}
	s, ok := urls[url]
	if !ok && len(urls) >= maxLoopURLs {
		return false
	}
	if now.Sub(s.last) >= immediateRepeat {
		s.times = 0
	}
	s.last = now
	s.times++
	isLoop := s.times >= 3
	if isLoop {
		s = repeatedRefusal{now.Add(wait), 2} // the next time counts from the end of the wait
	}
	urls[url] = s
	return isLoop
}
