package collyrobots

import (
	"maps"
	"sync"
	"time"
)

// immediateRepeat is the time after a refusal during which another request for
// the URL is regarded as an unconditional repeat.
const immediateRepeat = 100 * time.Millisecond

// refusalLoops records recent refusals. It detects URLs that are refused again
// and again without a pause, because an OnError handler visits the URL again,
// or adds it to a queue again.
type refusalLoops struct {
	mu      sync.Mutex
	cleaned time.Time                             // when old refusals were last removed
	hosts   map[string]map[string]repeatedRefusal // by host and URL
}

type repeatedRefusal struct {
	last  time.Time
	times int // number of refusals, each within immediateRepeat after the previous one
}

// maxLoopURLs is the maximum number of URLs of a host that are recorded.
const maxLoopURLs = 100

// add records that a URL of a host is refused now. It reports whether the URL
// has been refused at least three times in a row. If so, the caller must sleep
// for the duration wait before it returns the error.
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
