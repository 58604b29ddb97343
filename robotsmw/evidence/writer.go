package evidence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

// A writer puts lines into segments. One goroutine at a time uses it: first the
// caller of Open, then the goroutine of the queue, and then the caller of
// Close.
type writer struct {
	dir     string
	create  func(path string) (file, error)
	most    int64 // limits the size of all segments and their WARC files; negative means no limit
	segment int64 // the size at which a segment is full
	logger  *slog.Logger
	session string
	lines   file // nil if no segment is open
	warcs   file
	number  int
	oldest  int
	end     chain.Link // the end of the chain on the disk
	good    int64      // how many bytes of the open segment are complete lines on the disk
	warc    warcFile
	ended   json.RawMessage // the WARC file of the previous segment, or nil
	cut     json.RawMessage // the broken end of the latest segment with any bytes, or nil
	why     string

	standing [][]byte   // the robot and limiter lines, which each segment repeats
	out      []byte     // lines that are not on the disk yet
	ahead    chain.Link // the end of the chain, including the lines in writer.out
	lost     loss
	all      int       // how many lines were lost in the session
	retry    time.Time // after a disk error, no segment is begun before this time
	forget   func()    // queue.forget, called when lines are lost or deleted
	told     func(chain.Link)
}

// A file receives the lines of a segment or the records of its WARC file.
type file interface {
	io.WriteCloser
	Sync() error
}

func create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// cutText returns the JSON member "cut". It says where the good part of a
// broken segment ends, and how many bytes come after it.
func cutText(segment int, offset, rest int64) json.RawMessage {
	return fmt.Appendf(nil, `{"segment":%d,"offset":%d,"bytes":%d}`, segment, offset, rest)
}

// resume finds the end of the record in the directory.
func (w *writer) resume() error {
	w.end, w.why = chain.Start(), "open"
	all, err := chain.Segments(os.DirFS(w.dir))
	if err != nil {
		return err
	}
	if len(all) > 0 {
		w.oldest, w.number = all[0], all[len(all)-1]
	}
	for _, n := range slices.Backward(all) {
		f, err := os.Open(filepath.Join(w.dir, chain.LinesName(n)))
		if err != nil {
			return err
		}
		end, good, err := chain.Scan(f)
		size, err2 := f.Seek(0, io.SeekEnd)
		f.Close()
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if w.cut == nil && good < size {
			w.cut = cutText(n, good, size-good)
		}
		if good > 0 {
			w.end = end
			break
		}
	}
	w.ahead = w.end
	if w.number > 0 {
		w.ended = wholeTextOf(w.dir, chain.WARCName(w.number))
	}
	last, err := lastWARC(w.dir)
	w.number = max(w.number, last)
	return err
}

// lastWARC returns the greatest number of a WARC file in a directory, or 0. It
// can be greater than that of any segment, if only the segments were moved
// away. No segment may have its number, because a file is never overwritten.
func lastWARC(dir string) (last int, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "robots-%d.warc.gz", &n); err == nil && e.Name() == chain.WARCName(n) {
			last = max(last, n)
		}
	}
	return last, err
}

// write writes a batch. Lines that cannot be written are lost. The next flush
// that succeeds writes a loss line.
func (w *writer) write(b *batch) {
	for _, e := range b.entries {
		if e.stands() {
			w.standing = append(w.standing, e.text)
		}
	}
	var begun []entry // entries whose lines are in w.out
	opened := false
	for i, e := range b.entries {
		if w.lines == nil {
			if !w.open(e.time) {
				w.lose(b.entries[i:])
				break
			}
			opened = true
		}
		if !opened || !e.stands() { // open has already written the robot and limiter lines
			w.add(&e)
			begun = append(begun, e)
		}
		if len(w.out) >= 64<<10 || len(w.warc.out) >= 256<<10 || i == len(b.entries)-1 {
			if kept, ok := w.flush(); !ok {
				w.lose(begun[min(kept, len(begun)):])
			} else if w.good >= w.segment || w.warc.good >= w.segment {
				w.rotate()
			}
			begun = nil
		}
	}
	if b.lost.any() {
		w.lost.merge(&b.lost)
		for _, n := range b.lost.counts {
			w.all += n
		}
		w.logger.Warn("evidence: the disk is too slow for the record; a span of it is lost", "dir", w.dir, "from", b.lost.from, "to", b.lost.to)
		if w.lines != nil {
			w.flush()
		}
	}
}

// add appends an entry to the lines that are not on the disk yet. If the entry
// is also for the WARC file, add appends a record there.
func (w *writer) add(e *entry) {
	var more []byte
	if e.exchange != nil {
		more = w.warc.exchange(e.exchange)
	}
	start := len(w.out)
	w.out, w.ahead = w.ahead.Append(w.out, e.text, more)
	if e.isFact() {
		w.warc.fact(e.about, e.time, w.out[start:])
	}
}

// flush adds a loss line if lines were lost. It then writes the WARC records
// and the lines to the disk. If a write fails, flush gives up the segment and
// returns false. In this case, kept is how many lines of w.out are completely
// on the disk.
func (w *writer) flush() (kept int, ok bool) {
	if w.lost.any() {
		w.out, w.ahead = w.ahead.Append(w.out, w.lost.line())
	}
	if err := w.warc.flush(w.warcs); err != nil {
		w.fail(err)
		return 0, false
	}
	n, err := w.lines.Write(w.out)
	if n < len(w.out) {
		whole := bytes.LastIndexByte(w.out[:n], '\n') + 1
		if whole > 0 {
			last := bytes.LastIndexByte(w.out[:whole-1], '\n') + 1
			_, w.end, _ = chain.Check(w.out[last:whole])
			w.good += int64(whole)
			kept = bytes.Count(w.out[:whole], []byte{'\n'})
		}
		if n > whole {
			w.cut = cutText(w.number, w.good, int64(n-whole))
		}
		w.told(w.end)
		w.fail(err)
		return kept, false
	}
	w.lost = loss{}
	w.good += int64(len(w.out))
	w.out, w.end = w.out[:0], w.ahead
	w.told(w.end)
	return 0, true
}

// fail gives up the open segment, if there is one. No segment is begun in the
// next second.
func (w *writer) fail(err error) {
	if !w.lost.any() {
		w.logger.Warn("evidence: the record cannot be written; what happens now is lost to it", "dir", w.dir, "error", err)
	}
	w.lost.cause = err.Error()
	if w.lines != nil {
		w.lines.Close()
		w.ended = wholeTextOf(w.dir, chain.WARCName(w.number))
	}
	if w.warcs != nil {
		w.warcs.Close()
	}
	w.lines, w.warcs, w.out, w.ahead = nil, nil, nil, w.end
	w.warc.out = nil
	w.retry = time.Now().Add(time.Second)
	if w.why != "open" {
		w.why = "error"
	}
}

func (w *writer) lose(entries []entry) {
	cause := w.lost.cause
	for i := range entries {
		w.lost.add(entries[i].kind, entries[i].time, cause)
	}
	w.all += len(entries)
	w.forget()
}

// rotate ends the open segment, because it is full or the session ends.
func (w *writer) rotate() {
	w.warcs.Sync()
	w.lines.Sync()
	err := errors.Join(w.warcs.Close(), w.lines.Close())
	w.lines, w.warcs, w.why, w.retry, w.ended = nil, nil, "full", time.Time{}, w.warc.wholeText()
	if err != nil {
		w.logger.Warn("evidence: a segment could not be closed", "dir", w.dir, "error", err)
	}
}

// open begins the next segment. It returns false if that failed.
func (w *writer) open(now time.Time) bool {
	if time.Now().Before(w.retry) {
		return false
	}
	w.shrink()
	number := w.number + 1
	path := filepath.Join(w.dir, chain.LinesName(number))
	lines, err := w.create(path)
	if err != nil {
		w.fail(err)
		return false
	}
	w.lines = lines
	warcs, err := w.create(filepath.Join(w.dir, chain.WARCName(number)))
	if err != nil {
		os.Remove(path)
		w.fail(err)
		return false
	}
	w.warcs, w.number, w.good = warcs, number, 0
	if w.oldest == 0 {
		w.oldest = number
	}
	w.warc.begin(chain.WARCName(number), now)
	w.out, w.ahead = w.ahead.Append(w.out[:0], w.segmentText(now))
	for _, text := range w.standing {
		start := len(w.out)
		w.out, w.ahead = w.ahead.Append(w.out, text)
		w.warc.fact("", now, w.out[start:])
	}
	before, ended := w.cut, w.ended
	end := w.end
	if _, ok := w.flush(); !ok { // undo all of the above
		os.Remove(path)
		os.Remove(filepath.Join(w.dir, chain.WARCName(number)))
		w.cut, w.ended, w.number, w.end, w.ahead = before, ended, number-1, end, end
		return false
	}
	w.cut, w.why = nil, "error" // the reason for the next segment, unless rotate() sets another one
	return true
}

func (w *writer) segmentText(now time.Time) []byte {
	return appendMembers(nil, "event", "segment", "time", now, "format", 1, "segment", w.number, "session", w.session, "why", w.why,
		"software", software(), "oldest", w.oldest, "cut", w.cut, "warc", w.ended)[1:]
}

func (l *loss) line() []byte {
	return appendMembers(nil, "event", "loss", "time", l.to, "from", l.from, "to", l.to, "lost", asJSON(l.counts), "cause", l.cause)[1:]
}

// shrink deletes the oldest segments if one more segment could make the record
// too large.
func (w *writer) shrink() {
	if w.most < 0 {
		return
	}
	all, err := chain.Segments(os.DirFS(w.dir))
	if err != nil {
		return // opening the next segment probably fails too, and then reports the error
	}
	var total int64
	sizes := make([]int64, len(all))
	for i, n := range all {
		for _, name := range []string{chain.LinesName(n), chain.WARCName(n)} {
			if info, err := os.Stat(filepath.Join(w.dir, name)); err == nil {
				sizes[i] += info.Size()
			}
		}
		total += sizes[i]
	}
	// Keep room for the next segment and its WARC file. The newest of the
	// existing segments is never deleted.
	for i := 0; i < len(all)-1 && total+2*w.segment > w.most; i++ {
		os.Remove(filepath.Join(w.dir, chain.WARCName(all[i])))
		if os.Remove(filepath.Join(w.dir, chain.LinesName(all[i]))) != nil {
			return
		}
		total -= sizes[i]
		w.oldest = all[i+1]
		w.forget() // file and decision lines that only this segment had must be written again
	}
}

func (w *writer) close(now time.Time) error {
	w.retry = time.Time{}
	if w.lines != nil || w.open(now) {
		w.write(&batch{entries: []entry{newEntry("close", "session", w.session, "warc", w.warc.wholeText())}})
	}
	if w.lines == nil && w.why != "full" {
		return fmt.Errorf("evidence: the end of the record in %s could not be written: %s", w.dir, w.lost.cause)
	}
	if w.lines != nil {
		w.rotate()
	}
	if w.all > 0 {
		return fmt.Errorf("evidence: %d lines of the record in %s are lost; it says which span", w.all, w.dir)
	}
	return nil
}
