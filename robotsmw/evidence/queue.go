package evidence

import (
	"crypto/sha256"
	"sync"
	"time"
)

// An entry is a line to be written.
type entry struct {
	kind     string // such as "request"
	time     time.Time
	text     []byte    // the JSON members from "event" on; the writer adds the number and the hashes
	about    string    // the URL of a robots.txt or of a request for one, or ""
	exchange *exchange // only of a fetch
}

// newEntry returns a line with the current time. For members, see
// appendMembers.
func newEntry(kind string, members ...any) entry {
	now := time.Now()
	size := 256
	if kind == "request" {
		size = 1 << 10
	}
	text := appendMembers(make([]byte, 0, size), "event", kind, "time", now)
	return entry{kind: kind, time: now, text: appendMembers(text, members...)[1:]}
}

// stands reports whether the line is repeated at the beginning of each segment.
func (e *entry) stands() bool { return e.kind == "robot" || e.kind == "limiter" }

// isFact reports whether a line also goes into the WARC file. That file says
// how the crawler requested each robots.txt, what the crawler then knew, and
// which rules it followed. Requests for pages are left out, because they are
// many and the WARC file has no pages.
func (e *entry) isFact() bool {
	switch e.kind {
	case "robots", "answer", "pause":
		return true
	case "request":
		return e.about != ""
	}
	return e.stands()
}

// A batch has the lines that arrive while the writer writes the previous batch.
type batch struct {
	entries []entry
	size    int // in bytes, including the exchanges
	lost    loss
}

type loss struct {
	from, to time.Time
	counts   map[string]int // by kind of line
	cause    string
}

func (l *loss) any() bool { return len(l.counts) > 0 }

func (l *loss) add(kind string, at time.Time, cause string) {
	l.merge(&loss{at, at, map[string]int{kind: 1}, cause})
}

func (l *loss) merge(other *loss) {
	if !l.any() {
		*l = loss{other.from, other.to, make(map[string]int), other.cause}
	}
	if other.from.Before(l.from) {
		l.from = other.from
	}
	if other.to.After(l.to) {
		l.to = other.to
	}
	for kind, n := range other.counts {
		l.counts[kind] += n
	}
}

// longestQueue is how many bytes may wait for a slow disk. Further lines are
// lost.
const longestQueue = 16 << 20

// mostKnown is how many files and refusals a queue remembers as written. When
// it has that many, it forgets all of them before it remembers another.
const mostKnown = 100_000

// A queue takes lines from requests and passes them to the writer. The requests
// never wait for the disk. The writer's goroutine runs only while there is
// something to write.
type queue struct {
	mu      sync.Mutex // never held during a write to the disk
	next    batch
	running bool
	closed  bool
	idle    sync.Cond // its lock is mu; signals that queue.running has become false
	known   map[[sha256.Size]byte]bool
	most    int
	write   func(*batch)
}

// put adds a line to the queue. If the queue is full, put counts the line as
// lost. If the queue is closed, put drops the line.
func (q *queue) put(e entry) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	b := &q.next
	size := cap(e.text)
	if e.exchange != nil {
		size += e.exchange.size()
	}
	if b.size+size > q.most && b.size > 0 {
		b.lost.add(e.kind, e.time, "the disk is too slow")
		q.known = nil // so that lost files and refusals are written if they come again
	} else {
		b.entries = append(b.entries, e)
		b.size += size
	}
	if !q.running {
		q.running = true
		go q.run()
	}
}

// gather is how long the writer waits for more lines before it writes. The wait
// saves calls of the operating system, because a call costs much more than a
// line. If the process is killed, the lines in the queue are lost.
const gather = 5 * time.Millisecond

func (q *queue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.next.entries) > 0 || q.next.lost.any() {
		if !q.closed {
			q.mu.Unlock()
			time.Sleep(gather)
			q.mu.Lock()
		}
		b := q.next
		q.next = batch{}
		q.mu.Unlock()
		q.write(&b)
		q.mu.Lock()
	}
	q.running = false
	q.idle.Broadcast()
}

// isNew returns false if the queue remembers a file or a refusal as written.
// Otherwise it makes the queue remember it. key tells it from others.
func (q *queue) isNew(key string) bool {
	hash := sha256.Sum256([]byte(key))
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.known[hash] {
		return false
	}
	if q.known == nil || len(q.known) >= mostKnown {
		q.known = make(map[[sha256.Size]byte]bool)
	}
	q.known[hash] = true
	return true
}

// forget makes the queue forget which files and refusals it has written, so
// that it writes them when they come again.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.known = nil
}

// close closes the queue and waits until its lines have been written or lost.
// Lines that come later are dropped. close returns false if the queue was
// closed already.
func (q *queue) close() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	first := !q.closed
	q.closed = true
	for q.running {
		q.idle.Wait()
	}
	return first
}
