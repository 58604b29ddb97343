package audit

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// maxDifference is the maximum difference between the times of a request in the
// record and in the log. The two clocks may differ, and the log may contain the
// time at which the request ended.
const maxDifference = 2 * time.Minute

func newSentRequests() *sentRequests {
	return &sentRequests{
		byPath:   make(map[string][]*sentRequest),
		inFlight: make(map[requestID]*sentRequest),
		hosts:    make(map[string]bool),
	}
}

// add adds the contents of a line of the record.
func (s *sentRequests) add(v *recordLine, file string, line int) {
	switch v.Event {
	case "segment":
		if v.Why == "open" {
			clear(s.inFlight)
		}
	case "robot":
		s.agent = robotName(v.UserAgent)
	case "request":
		_, host := splitOrigin(v.Target)
		r := &sentRequest{at: v.Time, host: host, url: v.Target, file: file, line: line}
		path := pathKey(v.Target)
		s.byPath[path] = append(s.byPath[path], r)
		s.all = append(s.all, r)
		s.inFlight[v.id()] = r
	case "done":
		if r := s.inFlight[v.id()]; r != nil {
			r.answered = v.Status != 0
			delete(s.inFlight, v.id())
		}
	}
}

// pathKey returns the path and query of a URL, as in the request line.
func pathKey(url string) string {
	path, _, _ := strings.Cut(pathAndQuery(url), "#")
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	return path
}

// find searches the record for a request of the log, and marks it as found. It
// returns false if the record does not contain the request.
func (s *sentRequests) find(e *event) bool {
	at := asTime(e.at)
	path := pathKey(e.url)
	sent := s.byPath[path]
	// Requests that have been found, or are too old for this line, do not match
	// any later line either.
	for len(sent) > 0 && (sent[0].found || at.Sub(sent[0].at) > maxDifference) {
		sent = sent[1:]
	}
	s.byPath[path] = sent
	for _, r := range sent {
		if r.at.Sub(at) > maxDifference {
			break
		}
		if !r.found && (e.host == "" || e.host == r.host) {
			r.found = true
			s.hosts[r.host] = true
			return true
		}
	}
	return false
}

// maxUnmatched is the maximum number of reported requests that only the record
// contains, and of reported requests that only the log contains. Further ones
// are only counted.
const maxUnmatched = 100

// compare reads the site's logs, and reports the requests that are only in the
// record or only in the logs.
func (r *recordReader) compare(ctx context.Context, logs []Input) error {
	s := r.sent
	if len(s.all) == 0 {
		return nil
	}
	reportUnmatched := func(count, text string) {
		r.sums.count(count, 1)
		if r.sums.Counts[count] > maxUnmatched {
			r.a.total.count("cut", 1)
			return
		}
		r.reportFault(&recordFault{contradicts, text})
	}
	var first, last time.Time
	log := Auditor{OnBroken: r.a.OnBroken}
	log.each = func(e *event) {
		if !strings.EqualFold(e.robot, s.agent) {
			return
		}
		last = asTime(e.at)
		first = cmp.Or(first, last)
		if s.find(e) {
			r.sums.count("both", 1)
		} else if !last.Before(s.all[0].at.Add(-maxDifference)) {
			reportUnmatched("only_log", fmt.Sprintf("only the log has the request for %.200q at %s, from %s",
				e.host+e.url, last.Format(time.RFC3339), e.address))
		}
	}
	if err := log.Read(ctx, logs...); err != nil {
		return err
	}
	log.Result()
	for _, sent := range s.all {
		isBefore := sent.at.Before(first.Add(-maxDifference))
		isAfter := sent.at.After(last.Add(maxDifference))
		isCovered := s.hosts[sent.host] && !isBefore && !isAfter
		if !sent.found && sent.answered && isCovered {
			r.file = sent.file
			r.line = sent.line
			reportUnmatched("only_record", fmt.Sprintf("only the record has the request for %.200q at %s",
				sent.url, sent.at.Format(time.RFC3339)))
		}
	}
	return nil
}
