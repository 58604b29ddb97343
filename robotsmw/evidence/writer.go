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

// A writer writes lines to segments. One goroutine at a time uses it: first the
// caller of Open, then the goroutine of the queue, and then the caller of
// Close.
type writer struct {
	dir         string
	create      func(path string) (file, error)
	maxBytes    int64 // of all segments and their WARC files; negative means no limit
	segmentSize int64 // the size at which a segment is full
	logger      *slog.Logger
	session     string
	lines       file // nil if no segment is open
	warcs       file
	number      int // of the latest segment
	oldest      int
	end         chain.Link // the end of the chain in the file
	good        int64      // how many bytes of the open segment are complete lines in the file
	warc        warcFile
	previous    json.RawMessage // describes the WARC file of the previous segment; nil if unknown
	cut         json.RawMessage // the broken end of the latest segment that is not empty; nil if there is none
	reason      string          // why the next segment begins

	repeated     [][]byte   // the robot and limiter lines, which each segment repeats
	out          []byte     // lines that have not yet been written to the file
	outEnd       chain.Link // the end of the chain, including the lines in writer.out
	lost         loss
	lostLines    int              // in the session
	retryAt      time.Time        // after a disk error, no segment is begun before this time
	clearWritten func()           // queue.clearWritten, called when lines are lost or deleted
	setHead      func(chain.Link) // called when writer.end has changed
}

// A file is a segment or its WARC file, open for writing.
type file interface {
	io.WriteCloser
	Sync() error
}

func create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
}

// cutMember returns the JSON value of the member "cut": where the complete
// lines of a broken segment end, and how many bytes follow.
func cutMember(segment int, offset, rest int64) json.RawMessage {
	return fmt.Appendf(nil, `{"segment":%d,"offset":%d,"bytes":%d}`, segment, offset, rest)
}

// resume finds the end of the existing record, so that the next segment
// continues its chain. Without a record, the chain begins with line 1.
func (w *writer) resume() error {
	w.end = chain.Start()
	w.reason = "open"
	all, err := chain.Segments(os.DirFS(w.dir))
	if err != nil {
		return err
	}
	if len(all) > 0 {
		w.oldest = all[0]
		w.number = all[len(all)-1]
	}
	for _, n := range slices.Backward(all) {
		f, err := os.Open(filepath.Join(w.dir, chain.LinesName(n)))
		if err != nil {
			return err
		}
		end, good, scanErr := chain.Scan(f)
		size, seekErr := f.Seek(0, io.SeekEnd)
		f.Close()
		if err := errors.Join(scanErr, seekErr); err != nil {
			return err
		}
		if w.cut == nil && good < size {
			w.cut = cutMember(n, good, size-good)
		}
		if good > 0 {
			w.end = end
			break
		}
	}
	w.outEnd = w.end
	if w.number > 0 {
		w.previous = readFileMember(w.dir, chain.WARCName(w.number))
	}
	last, err := lastWARC(w.dir)
	w.number = max(w.number, last)
	return err
}

// lastWARC returns the largest number of the WARC files in a directory, or 0 if
// there are none. If segments were moved away without their WARC files, the
// result is larger than the number of the last segment. The next segment then
// needs an even larger number, because files are never overwritten.
func lastWARC(dir string) (int, error) {
	last := 0
	entries, err := os.ReadDir(dir)
	if err != nil {
		return 0, err
	}
	for _, e := range entries {
		var n int
		if _, scanErr := fmt.Sscanf(e.Name(), "robots-%d.warc.gz", &n); scanErr == nil && e.Name() == chain.WARCName(n) {
			last = max(last, n)
		}
	}
	return last, nil
}

// write writes a batch. Lines that cannot be written are lost, and the next
// successful flush writes a loss line.
func (w *writer) write(b *batch) {
	for _, e := range b.entries {
		if e.isRepeated() {
			w.repeated = append(w.repeated, e.text)
		}
	}
	var pending []entry // the entries whose lines are in w.out
	opened := false
	for i, e := range b.entries {
		if w.lines == nil {
			if !w.open(e.time) {
				w.lose(b.entries[i:])
				break
			}
			opened = true
		}
		if !opened || !e.isRepeated() { // open has written the repeated lines
			w.add(&e)
			pending = append(pending, e)
		}
		isFull := len(w.out) >= 64<<10 || len(w.warc.out) >= 256<<10
		if isLast := i == len(b.entries)-1; isFull || isLast {
			if written, ok := w.flush(); !ok {
				w.lose(pending[min(written, len(pending)):])
			} else if w.good >= w.segmentSize || w.warc.good >= w.segmentSize {
				w.rotate()
			}
			pending = nil
		}
	}
	if b.lost.any() {
		w.lost.merge(&b.lost)
		for _, n := range b.lost.counts {
			w.lostLines += n
		}
		w.logger.Warn("evidence: the disk is too slow, so lines of the record were lost",
			"dir", w.dir, "from", b.lost.from, "to", b.lost.to)
		if w.lines != nil {
			w.flush()
		}
	}
}

// add adds an entry to the lines that the next flush writes, and to the records
// of the WARC file if the entry is in both.
func (w *writer) add(e *entry) {
	var warcMember []byte
	if e.exchange != nil {
		warcMember = w.warc.addExchange(e.exchange)
	}
	start := len(w.out)
	w.out, w.outEnd = w.outEnd.Append(w.out, e.text, warcMember)
	if e.isInWARC() {
		w.warc.addLine(e.robots, e.time, w.out[start:])
	}
}

// flush writes the WARC records and the lines, with a loss line if lines were
// lost. If a write fails, it closes the segment and returns false. written is
// then the number of lines of w.out that are complete in the file.
func (w *writer) flush() (written int, ok bool) {
	if w.lost.any() {
		w.out, w.outEnd = w.outEnd.Append(w.out, w.lost.line())
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
			written = bytes.Count(w.out[:whole], []byte{'\n'})
		}
		if n > whole {
			w.cut = cutMember(w.number, w.good, int64(n-whole))
		}
		w.setHead(w.end)
		w.fail(err)
		return written, false
	}
	w.lost = loss{}
	w.good += int64(len(w.out))
	w.out = w.out[:0]
	w.end = w.outEnd
	w.setHead(w.end)
	return 0, true
}

// fail closes the open segment, if there is one, after a disk error. No segment
// is begun for one second.
func (w *writer) fail(err error) {
	if !w.lost.any() {
		w.logger.Warn("evidence: the record cannot be written, so lines are lost until a write succeeds; check the disk",
			"dir", w.dir, "error", err)
	}
	w.lost.cause = err.Error()
	if w.lines != nil {
		w.lines.Close()
		w.previous = readFileMember(w.dir, chain.WARCName(w.number))
	}
	if w.warcs != nil {
		w.warcs.Close()
	}
	w.lines = nil
	w.warcs = nil
	w.out = nil
	w.outEnd = w.end
	w.warc.out = nil
	w.retryAt = time.Now().Add(time.Second)
	if w.reason != "open" {
		w.reason = "error"
	}
}

func (w *writer) lose(entries []entry) {
	cause := w.lost.cause
	for i := range entries {
		w.lost.add(entries[i].kind, entries[i].time, cause)
	}
	w.lostLines += len(entries)
	w.clearWritten()
}

// rotate closes the open segment, because it is full or the session ends.
func (w *writer) rotate() {
	w.warcs.Sync()
	w.lines.Sync()
	err := errors.Join(w.warcs.Close(), w.lines.Close())
	w.lines = nil
	w.warcs = nil
	w.reason = "full"
	w.retryAt = time.Time{}
	w.previous = w.warc.fileMember()
	if err != nil {
		w.logger.Warn("evidence: a segment could not be closed, so its last lines may be missing; check the disk",
			"dir", w.dir, "error", err)
	}
}

// open begins the next segment. It returns false if its files cannot be
// written, or without an attempt if a disk error occurred less than a second
// ago.
func (w *writer) open(now time.Time) bool {
	if time.Now().Before(w.retryAt) {
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
	w.warcs = warcs
	w.number = number
	w.good = 0
	if w.oldest == 0 {
		w.oldest = number
	}
	w.warc.begin(chain.WARCName(number), now)
	w.out, w.outEnd = w.outEnd.Append(w.out[:0], w.segmentLine(now))
	for _, text := range w.repeated {
		start := len(w.out)
		w.out, w.outEnd = w.outEnd.Append(w.out, text)
		w.warc.addLine("", now, w.out[start:])
	}
	cut := w.cut
	previous := w.previous
	end := w.end
	if _, ok := w.flush(); !ok {
		os.Remove(path)
		os.Remove(filepath.Join(w.dir, chain.WARCName(number)))
		w.cut = cut
		w.previous = previous
		w.number = number - 1
		w.end = end
		w.outEnd = end
		w.setHead(end)
		return false
	}
	w.cut = nil
	w.reason = "error" // unless rotate sets another reason
	return true
}

func (w *writer) segmentLine(now time.Time) []byte {
	return appendMembers(nil,
		"event", "segment",
		"time", now,
		"format", 1,
		"segment", w.number,
		"session", w.session,
		"why", w.reason,
		"software", software(),
		"oldest", w.oldest,
		"cut", w.cut,
		"warc", w.previous,
	)[1:]
}

func (l *loss) line() []byte {
	return appendMembers(nil,
		"event", "loss",
		"time", l.to,
		"from", l.from,
		"to", l.to,
		"lost", asJSON(l.counts),
		"cause", l.cause,
	)[1:]
}

// shrink deletes the oldest segments if another segment could make the record
// too large.
func (w *writer) shrink() {
	if w.maxBytes < 0 {
		return
	}
	all, err := chain.Segments(os.DirFS(w.dir))
	if err != nil {
		return // opening the next segment will report the error
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
	// The next segment and its WARC file need space. The newest existing
	// segment is never deleted.
	for i := 0; i < len(all)-1 && total+2*w.segmentSize > w.maxBytes; i++ {
		os.Remove(filepath.Join(w.dir, chain.WARCName(all[i])))
		if os.Remove(filepath.Join(w.dir, chain.LinesName(all[i]))) != nil {
			return
		}
		total -= sizes[i]
		w.oldest = all[i+1]
		w.clearWritten() // file and decision lines of this segment must be written again
	}
}

func (w *writer) close(now time.Time) error {
	w.retryAt = time.Time{}
	if w.lines != nil || w.open(now) {
		w.write(&batch{
			entries: []entry{newEntry("close", "session", w.session, "warc", w.warc.fileMember())},
		})
	}
	if w.lines == nil && w.reason != "full" {
		return fmt.Errorf("evidence: the end of the record in %s could not be written: %s",
			w.dir, w.lost.cause)
	}
	if w.lines != nil {
		w.rotate()
	}
	if w.lostLines > 0 {
		return fmt.Errorf("evidence: %d lines of the record in %s were lost; the times of the loss are in the loss lines of the record",
			w.lostLines, w.dir)
	}
	return nil
}
