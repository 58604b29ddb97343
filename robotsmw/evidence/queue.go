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
	robots   string    // the URL of the robots.txt that the line is about, or ""
	exchange *exchange // nil unless kind is "fetch"
}

// newEntry returns an entry of the given kind with the current time. members
// are alternating names and values, as for appendMembers.
func newEntry(kind string, members ...any) entry {
	now := time.Now()
	size := 256
	if kind == "request" {
		size = 1 << 10
	}
	text := appendMembers(make([]byte, 0, size), "event", kind, "time", now)
	return entry{kind: kind, time: now, text: appendMembers(text, members...)[1:]}
}

// isRepeated reports whether the line is repeated at the beginning of each
// segment.
func (e *entry) isRepeated() bool { return e.kind == "robot" || e.kind == "limiter" }

// isInWARC reports whether the line is copied to the WARC file, which documents
// how the crawler requested each robots.txt and which rules it followed.
// Requests for pages are left out, because they are many and the WARC file
// contains no pages.
func (e *entry) isInWARC() bool {
	switch e.kind {
	case "robots", "answer", "pause":
		return true
	case "request":
		return e.robots != ""
	}
	return e.isRepeated()
}

// A batch contains the lines that arrive while the writer writes the previous
// batch.
type batch struct {
	entries []entry
	size    int // in bytes, including the exchanges
	lost    loss
}

// A loss describes lines that could not be written.
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

// maxQueueBytes limits the bytes that wait for a slow disk. Further lines are
// lost.
const maxQueueBytes = 16 << 20

// maxWritten is the maximum number of entries of queue.written. When it is
// reached, all entries are removed.
const maxWritten = 100_000

// A queue passes lines from requests to the writer, so that no request waits
// for the disk. The writer's goroutine runs only while the queue is not empty.
type queue struct {
	mu      sync.Mutex // never held during a write to the disk
	next    batch
	running bool
	closed  bool
	idle    sync.Cond                  // of mu; signals that queue.running has become false
	written map[[sha256.Size]byte]bool // hashes of the keys for which isNew returned true
	maxSize int                        // in bytes
	write   func(*batch)
}

// put adds a line to the queue. If the queue is full, the line is counted as
// lost. If the queue is closed, put does nothing.
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
	if b.size+size > q.maxSize && b.size > 0 {
		b.lost.add(e.kind, e.time, "the disk is too slow")
		q.written = nil // so that the lost files and decisions are written when they occur again
	} else {
		b.entries = append(b.entries, e)
		b.size += size
	}
	if !q.running {
		q.running = true
		go q.run()
	}
}

// batchDelay is how long the writer waits for more lines before it writes,
// because a system call costs much more than a line. If the process is killed,
// the lines in the queue are lost.
const batchDelay = 5 * time.Millisecond

func (q *queue) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.next.entries) > 0 || q.next.lost.any() {
		if !q.closed {
			q.mu.Unlock()
			time.Sleep(batchDelay)
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

// isNew reports whether the file or decision identified by key still has to be
// written, and marks it as written.
func (q *queue) isNew(key string) bool {
	hash := sha256.Sum256([]byte(key))
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.written[hash] {
		return false
	}
	if q.written == nil || len(q.written) >= maxWritten {
		q.written = make(map[[sha256.Size]byte]bool)
	}
	q.written[hash] = true
	return true
}

// clearWritten removes the entries of queue.written, so that the files and
// decisions are written again when they occur again.
func (q *queue) clearWritten() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.written = nil
}

// close closes the queue and waits until its lines have been written or counted
// as lost. Later calls of put have no effect. close returns false if the queue
// was already closed.
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
