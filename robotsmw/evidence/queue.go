package evidence

import (
	"sync"
	"time"
)

type kind uint8

const (
	kindSegment kind = iota
	kindRobot
	kindLimiter
	kindFile
	kindFetch
	kindRobots
	kindDecision
	kindRequest
	kindAnswer
	kindPause
	kindDone
	kindLoss
	kindClose
	kinds
)

var kindNames = [kinds]string{
	"segment", "robot", "limiter", "file", "fetch", "robots", "decision", "request", "answer", "pause", "done", "loss", "close",
}

// stands reports whether lines of this kind are repeated at the beginning of
// each segment.
func (k kind) stands() bool { return k == kindRobot || k == kindLimiter }

// An entry is a line to be written. Its text begins with the JSON members
// "event" and "time". The writer adds the number and the hashes.
type entry struct {
	kind     kind
	time     time.Time
	from, to int       // the text is batch.text[from:to]
	about    string    // the URL of a robots.txt or of a request for one, or ""
	exchange *exchange // nil unless kind is kindFetch
}

// isFact reports whether a line also goes into the WARC file. That file says
// how the crawler requested each robots.txt, what the crawler then knew, and
// which rules it followed. Requests for pages are left out, because they are
// many and the WARC file has no pages.
func (e *entry) isFact() bool {
	switch e.kind {
	case kindRobot, kindLimiter, kindRobots, kindAnswer, kindPause:
		return true
	case kindRequest:
		return e.about != ""
	}
	return false
}

// A batch has the lines that arrive while the writer writes the previous batch.
type batch struct {
	text    []byte
	entries []entry
	size    int // in bytes, including the exchanges
	lost    loss
}

type loss struct {
	from, to time.Time
	counts   [kinds]int
	cause    string
}

func (l *loss) any() bool { return !l.from.IsZero() }

func (l *loss) add(k kind, at time.Time, cause string) {
	if l.from.IsZero() {
		l.from, l.to, l.cause = at, at, cause
	}
	if at.Before(l.from) {
		l.from = at
	}
	if at.After(l.to) {
		l.to = at
	}
	l.counts[k]++
}

func (l *loss) merge(other *loss) {
	if !other.any() {
		return
	}
	for k, n := range other.counts {
		if n > 0 {
			l.add(kind(k), other.from, other.cause)
			l.add(kind(k), other.to, other.cause)
			l.counts[k] += n - 2
		}
	}
}

// longestQueue is how many bytes may wait for a slow disk. Further lines are
// lost.
const longestQueue = 16 << 20

// mostFiles is the maximum number of files that a queue remembers as written.
// When the queue has that many, it forgets all of them before it remembers
// another.
const mostFiles = 100_000

// A queue takes lines from requests and passes them to the writer. The requests
// never wait for the disk. The writer's goroutine runs only while there is
// something to write.
type queue struct {
	mu      sync.Mutex // never held during a write to the disk
	next    batch
	spare   batch // becomes queue.next when the writer takes the batch that was there
	running bool
	closed  bool
	idle    sync.Cond // its lock is mu; signals that queue.running has become false
	files   map[[64]byte]struct{}
	refused map[uint64]struct{}
	most    int
	write   func(*batch)
}

// put adds a line with this text to the queue. If the queue is full, put counts
// the line as lost. If the queue is closed, put drops the line.
func (q *queue) put(e entry, text []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return
	}
	b := &q.next
	size := len(text)
	if e.exchange != nil {
		size += e.exchange.size()
	}
	if b.size+size > q.most && b.size > 0 {
		b.lost.add(e.kind, e.time, "the disk is too slow")
		q.files, q.refused = nil, nil // so that lost files and refusals are written if they come again
	} else {
		e.from = len(b.text)
		b.text = append(b.text, text...)
		e.to = len(b.text)
		b.entries = append(b.entries, e)
		b.size += size
	}
	if !q.running {
		q.running = true
		go q.run()
	}
}

// tell puts a line of the kind k into the queue, with the current time and the
// given JSON members.
func (q *queue) tell(k kind, about string, members []byte) {
	now := time.Now()
	q.put(entry{kind: k, time: now, about: about}, append(begin(nil, k, now), members...))
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
		q.next, q.spare = q.spare, batch{}
		q.mu.Unlock()
		q.write(&b)
		q.mu.Lock()
		if cap(b.text) <= 4<<20 { // after a burst, the buffer is larger and is given up
			clear(b.entries)
			q.spare = batch{text: b.text[:0], entries: b.entries[:0]}
		}
	}
	q.running = false
	q.idle.Broadcast()
}

// isNew returns false if the queue remembers a file as written. Otherwise it
// makes the queue remember the file, and returns true.
func (q *queue) isNew(hash [64]byte) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.files[hash]; ok {
		return false
	}
	if q.files == nil || len(q.files) >= mostFiles {
		q.files = make(map[[64]byte]struct{})
	}
	q.files[hash] = struct{}{}
	return true
}

// forget makes the queue forget which files and refusals it has written, so
// that it writes them when they come again.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.files, q.refused = nil, nil
}

// mostRefused is the same limit as mostFiles, for refusals.
const mostRefused = 100_000

// isNewRefusal is like isNew, for a refusal. hash is a hash of the refusal.
func (q *queue) isNewRefusal(hash uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if _, ok := q.refused[hash]; ok {
		return false
	}
	if q.refused == nil || len(q.refused) >= mostRefused {
		q.refused = make(map[uint64]struct{})
	}
	q.refused[hash] = struct{}{}
	return true
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

// begin appends the JSON members "event" and "time", without a comma before
// them.
func begin(b []byte, k kind, at time.Time) []byte {
	b = append(b, `"event":"`...)
	b = append(b, kindNames[k]...)
	b = append(b, `","time":"`...)
	return append(appendRFC3339(b, at), '"')
}

// buffers is a pool of buffers in which lines are built. The queue copies each
// line, so a buffer can be used again after put().
var buffers = sync.Pool{New: func() any { return new([]byte) }}
