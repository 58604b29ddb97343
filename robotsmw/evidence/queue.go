package evidence

import (
	"sync"
	"time"
)

// A kind is what a line tells.
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

// stands reports whether each segment repeats such lines.
func (k kind) stands() bool { return k == kindRobot || k == kindLimiter }

// An entry is a line to be written, which begins with its event and its time;
// its number and its hashes are the writer's.
type entry struct {
	kind     kind
	time     time.Time
	from, to int       // of batch.text
	about    string    // the URL of a robots.txt, if it is about one
	exchange *exchange // of a fetch
}

// isFact reports whether a line goes into the WARC file, too: what is known of
// each robots.txt there, how the crawler asked for it, and what it kept to. The
// requests of pages, which are most of a record, have no other record there.
func (e *entry) isFact() bool {
	switch e.kind {
	case kindRobot, kindLimiter, kindRobots, kindAnswer, kindPause:
		return true
	case kindRequest:
		return e.about != ""
	}
	return false
}

// A batch is what has come while the writer was writing.
type batch struct {
	text    []byte
	entries []entry
	size    int // in bytes, with what lies beside the text
	lost    loss
}

// A loss is what could not be kept.
type loss struct {
	from, to time.Time
	counts   [kinds]int
	cause    string // the first
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

// longestQueue is how many bytes wait for a slow disk. What comes then is lost.
const longestQueue = 16 << 20

// mostFiles bounds how many hashes of files are remembered as written.
const mostFiles = 100_000

// A queue stands between requests, which never wait, and the writer, which
// runs while there is something to write.
type queue struct {
	mu      sync.Mutex // held for moments, never while anybody writes
	next    batch
	spare   batch // to become next
	running bool
	closed  bool
	idle    sync.Cond // of mu: running has become false
	files   map[[64]byte]struct{}
	refused map[uint64]struct{}
	most    int          // bytes that wait for the disk
	write   func(*batch) // what the writer does
}

// put takes a line whose text is given, or counts it as lost.
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
		q.files, q.refused = nil, nil // what was lost may come again
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

// tell is put for a line of which the members of its own are given.
func (q *queue) tell(k kind, about string, members []byte) {
	now := time.Now()
	q.put(entry{kind: k, time: now, about: about}, append(begin(nil, k, now), members...))
}

// gather is how long the writer waits for more before it writes: a line costs
// little beside a call of the operating system. It is what a process that is
// killed may lose.
const gather = 5 * time.Millisecond

// run writes until there is nothing left.
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
		if cap(b.text) <= 4<<20 { // a burst must not be paid for ever after
			clear(b.entries)
			q.spare = batch{text: b.text[:0], entries: b.entries[:0]}
		}
	}
	q.running = false
	q.idle.Broadcast()
}

// isNew reports whether a file is not written yet, and notes that it will be.
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

// forget lets all be written again that is written only once.
func (q *queue) forget() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.files, q.refused = nil, nil
}

// mostRefused bounds how many refusals are remembered as written.
const mostRefused = 100_000

// isNewRefusal reports whether a refusal is not written yet, and notes that it
// will be. It goes by a hash of what the refusal says.
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

// close ends the queue: when it returns, all is written that came before, and
// what comes is dropped. It is false if the queue was closed already.
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

// begin begins a line: what stands between its number and its own members.
func begin(b []byte, k kind, at time.Time) []byte {
	b = append(b, `"event":"`...)
	b = append(b, kindNames[k]...)
	b = append(b, `","time":"`...)
	return append(appendRFC3339(b, at), '"')
}

// buffers are what lines are written into, before the queue copies them.
var buffers = sync.Pool{New: func() any { return new([]byte) }}
