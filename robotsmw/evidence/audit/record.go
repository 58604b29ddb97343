package audit

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/goodbots/courtesy/robotsmw/evidence/internal/chain"
)

var errNoRecord = errors.New("the directory contains no record; if it contains logs, pass the names of the logs")

// ReadRecord judges a crawl by its record, a directory that package evidence
// has written. name identifies the record in the Result and in the calls of
// OnBroken.
//
// First, the record must be intact. Each line must contain the hash of the
// previous line. Each robots.txt and each part of a WARC file must have the
// hash that a line contains for it. No line may contradict the data on which it
// is based. A robots line is based on a fetch, a fetch on its part of the WARC
// file, a decision on the robots.txt of its URL's origin or, if that is
// overridden, on the robot line, and a request on the limiter line.
//
// Second, the crawl must have followed the rules. The robots.txt in force must
// allow each request for a page. A decision, with its group, rule and line,
// must follow from the robots.txt with its hash. A decision that allowed a
// request must be based on the newest robots.txt. After its lifetime, a file
// may be used only if a later fetch has failed, or if the decision is marked
// stale and the file was fetched at most 24 hours before. The gap between two
// requests to a host must be long enough, and no page may be requested during a
// pause. If the record contains another Crawl-delay that was agreed with the
// owner of a host, the agreed Crawl-delay applies, and the requests are counted
// as "agreed". Times of two sessions are compared by the wall clock, to the
// second.
//
// Each fault in the record is passed to OnBroken as an error that begins with
// "changed: ", "contradicts: " or "cut: ". Requests that a loss line counts are
// unaudited. ReadRecord returns an error if ctx ends or if there is no record.
//
// If logs of a site that the robot visited are given, ReadRecord also reports
// requests that are only in the record or only in these logs. The clocks may
// differ by two minutes.
func (a *Auditor) ReadRecord(ctx context.Context, name string, dir fs.FS, logs ...Input) error {
	segments, err := chain.Segments(dir)
	if err != nil {
		return err
	}
	if len(segments) == 0 {
		return fmt.Errorf("%s: %w", name, errNoRecord)
	}
	a.init()
	r := &recordReader{dir: dir, a: a, sums: &Tally{Name: strings.TrimSuffix(name, "/")}, name: "unknown"}
	r.recordOrigins = newRecordOrigins()
	r.recordPace = recordPace{
		limiters: make(map[int]*recordLimiter),
		hosts:    make(map[hostID]*recordHost),
		inFlight: make(map[requestID]*paceEvent),
		earlier:  make(map[string]time.Time),
	}
	a.records = append(a.records, r.sums)
	if len(logs) > 0 {
		r.sent = newSentRequests()
	}
	for i := range segments {
		if err := r.segment(ctx, segments[i:]); err != nil {
			return err
		}
	}
	if r.open {
		r.reportFault(errUnclosed)
	}
	r.endSession()
	if a.Head != "" && r.sums.Counts["head"] == 0 {
		r.reportFault(&recordFault{incomplete, "the line of the given head is missing, so the record is incomplete or is another record"})
	}
	if r.sent != nil {
		return r.compare(ctx, logs)
	}
	return nil
}

// segment reads the first of the remaining segments of the record.
func (r *recordReader) segment(ctx context.Context, left []int) error {
	r.file = chain.LinesName(left[0])
	r.line = 0
	file, err := r.dir.Open(r.file)
	if err != nil {
		// If the crawler is still running, it may have deleted the oldest
		// segments of its record. Then the next line is not reported as
		// changed.
		r.reportFault(&recordFault{incomplete, fmt.Sprintf(
			"the segment cannot be opened; if the crawler is still running, it may have deleted the segment: %v", err)})
		r.linkBroken = true
		r.partial = true
		return nil
	}
	defer file.Close()
	in := bufio.NewReaderSize(file, 64<<10)
	if _, err := in.Peek(1); errors.Is(err, io.EOF) {
		return nil // so that goodPart opens each empty segment only once
	}
	good := r.goodPart(left)
	for offset := int64(0); ctx.Err() == nil; {
		line, size, err := chain.ReadLine(in, chain.Longest)
		if len(line) == 0 && errors.Is(err, io.EOF) {
			return nil
		}
		r.line++
		if err != nil && !errors.Is(err, io.EOF) {
			r.reportFault(err)
			return nil
		}
		offset += int64(size)
		before, after, ok := chain.Check(line)
		var v recordLine
		ok = ok && json.Unmarshal(line, &v) == nil
		switch {
		case good >= 0 && offset > good: // according to the next segment, the process died here
			if ok {
				r.reportFault(errBeyondEnd)
				return nil
			}
		case ok:
			r.checkLink(before, after)
			r.readLine(&v)
		case err != nil: // the line has no newline at its end
			r.reportFault(errCut)
			r.open = false // so that errUnclosed is not reported as well
		default:
			r.reportFault(errChanged)
			r.linkBroken = true
		}
	}
	return ctx.Err()
}

// checkLink checks that the next line of the chain follows the previous one,
// and counts the line as "head" if it is the line of Auditor.Head.
func (r *recordReader) checkLink(before, after chain.Link) {
	if !r.linkBroken {
		isFirst := r.end.N == 0
		if isFirst && before != chain.Start() {
			r.partial = true
			r.reportFault(errBeginning)
		}
		if !isFirst && before != r.end {
			r.reportFault(errMissing)
		}
	}
	r.end = after
	r.linkBroken = false
	r.sums.count("lines", 1)
	r.a.lines++
	r.sums.Head = string(after.Hash[:])
	isHead := strings.EqualFold(r.a.Head, r.sums.Head) || strings.EqualFold(r.a.Head, after.String())
	if isHead && r.sums.Counts["changed"] == 0 {
		r.sums.count("head", 1)
	}
}

// goodPart returns how many bytes of the first segment were written before the
// process died, as recorded in the first line of the next segment that is not
// empty. It returns -1 if that line does not contain this number.
func (r *recordReader) goodPart(left []int) int64 {
	for _, next := range left[1:] {
		file, err := r.dir.Open(chain.LinesName(next))
		if err != nil {
			return -1
		}
		line, _, _ := chain.ReadLine(bufio.NewReader(file), chain.Longest)
		file.Close()
		if len(line) == 0 {
			continue
		}
		var v recordLine
		_, _, ok := chain.Check(line)
		if !ok || json.Unmarshal(line, &v) != nil {
			return -1
		}
		if v.Cut == nil || v.Cut.Segment != left[0] {
			return -1
		}
		return v.Cut.Offset
	}
	return -1
}

// readLine judges a line whose hash is correct. It also checks that a session
// is closed before the next one begins, and that robots.txt files and parts of
// WARC files have the correct hashes.
func (r *recordReader) readLine(v *recordLine) {
	switch v.Event {
	case "segment":
		if v.Why == "open" {
			if r.open {
				r.reportFault(errUnclosed)
			}
			r.endSession()
		}
		r.open = true
	case "close":
		r.open = false
	case "loss":
		r.readLoss(v)
	case "file":
		text := []byte(v.Text)
		if v.Base64 != "" {
			text, _ = base64.StdEncoding.DecodeString(v.Base64)
		}
		if sum := sha256.Sum256(text); hex.EncodeToString(sum[:]) != v.SHA256 {
			r.reportFault(errFile)
			return
		}
		r.addFile(v.SHA256, text)
	}
	if r.sent != nil {
		r.sent.add(v, r.file, r.line)
	}
	if err := v.checkPieces(r.dir); err != nil {
		r.reportFault(err)
	}
	if err := r.judge(v); err != nil {
		r.reportFault(err)
	}
}

// readLoss reads a loss line. It counts the lost requests as unaudited.
func (r *recordReader) readLoss(v *recordLine) {
	r.a.total.count("cut", 1)
	r.partial = true
	n := v.Lost["request"]
	from, err := time.Parse(time.RFC3339Nano, v.From)
	if err != nil {
		from = v.Time
	}
	if !v.Time.Before(r.a.Since) && !r.a.isAfter(from.UnixNano()) {
		r.a.total.count("unaudited", n)
		r.a.endSpan(Tally{First: from, Last: v.Time, Requests: n})
	}
}
