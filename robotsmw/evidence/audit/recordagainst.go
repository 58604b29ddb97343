package audit

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// differ is how far apart the clocks of crawler and site may be, and how long a
// request may take.
const differ = 2 * time.Minute

func newSentRequests() *sentRequests {
	return &sentRequests{byPath: make(map[string][]*sentRequest), flying: make(map[[2]int]*sentRequest), hosts: make(map[string]bool)}
}

// add takes a line of the record.
func (s *sentRequests) add(v *recordLine, file string, line int) {
	switch v.Event {
	case "segment":
		if v.Why == "open" {
			clear(s.flying)
		}
	case "robot":
		s.agent = robotOf(v.UserAgent)
	case "request":
		_, host := originOf(v.Target)
		r := &sentRequest{at: v.Time, host: host, url: v.Target, file: file, line: line}
		path := pathKey(v.Target)
		s.byPath[path] = append(s.byPath[path], r)
		s.all = append(s.all, r)
		s.flying[[2]int{v.Limiter, v.Request}] = r
	case "done":
		if r := s.flying[[2]int{v.Limiter, v.Request}]; r != nil {
			r.answered = v.Status != 0
			delete(s.flying, [2]int{v.Limiter, v.Request})
		}
	}
}

// pathKey returns what a request has as its target, without a fragment.
func pathKey(url string) string {
	path, _, _ := strings.Cut(pathOf(url), "#")
	if path == "" || path[0] != '/' {
		path = "/" + path
	}
	return path
}

// find takes a request of the log. It returns false if the record does not have
// it.
func (s *sentRequests) find(e *event) bool {
	at, path := asTime(e.at), pathKey(e.url)
	sent := s.byPath[path]
	for len(sent) > 0 && (sent[0].found || at.Sub(sent[0].at) > differ) { // the log goes on from here
		sent = sent[1:]
	}
	s.byPath[path] = sent
	for _, r := range sent {
		if r.at.Sub(at) > differ {
			break
		}
		if !r.found && (e.host == "" || e.host == r.host) {
			r.found, s.hosts[r.host] = true, true
			return true
		}
	}
	return false
}

// mostAlone is how many requests are named that only the record or only the log
// has.
const mostAlone = 100

// compare reads the site's logs, and names the requests that only they or only
// the record has.
func (r *recordReader) compare(ctx context.Context, logs []Input) error {
	s := r.sent
	if len(s.all) == 0 {
		return nil
	}
	alone := func(count, text string) {
		if r.sums.count(count, 1); r.sums.Counts[count] > mostAlone {
			r.a.total.count("cut", 1)
			return
		}
		r.say(&recordFault{contradicts, text})
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
		} else if !last.Before(s.all[0].at.Add(-differ)) {
			alone("only_log", fmt.Sprintf("only the log has the request for %.200q at %s, from %s", e.host+e.url, last.Format(time.RFC3339), e.address))
		}
	}
	if err := log.Read(ctx, logs...); err != nil {
		return err
	}
	log.Result()
	for _, sent := range s.all {
		isCovered := s.hosts[sent.host] && !sent.at.Before(first.Add(-differ)) && !sent.at.After(last.Add(differ))
		if !sent.found && sent.answered && isCovered {
			r.file, r.line = sent.file, sent.line
			alone("only_record", fmt.Sprintf("only the record has the request for %.200q at %s", sent.url, sent.at.Format(time.RFC3339)))
		}
	}
	return nil
}
