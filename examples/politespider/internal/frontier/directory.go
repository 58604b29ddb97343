package frontier

import (
	"cmp"
	"errors"
	"log/slog"
	"time"
)

// OpenDirectory opens the crawl in dir, or begins one there. If dir does not
// exist, OpenDirectory creates it, readable by its owner alone. Only one
// process at a time can have the directory open.
//
// A new process continues the crawl where the previous one stopped, however the
// previous one ended. No page is lost. The pages that had been handed out and
// not given back are handed out again. After a power cut, the pages that were
// finished after the last sync are also handed out again (see syncPeriod).
//
// If the crawl continues, each host first rests, because the last run may have
// been killed just after a request. It rests for its own interval or for the
// given duration, whichever is longer. If a pause from the last run ends even
// later, for example because of a Retry-After, the host rests until the pause
// ends.
//
// The limits count the pages of all runs together.
func OpenDirectory(dir string, about About, limits Limits, rest time.Duration, logger *slog.Logger) (*Queue, error) {
	j, err := openJournal(dir)
	if err != nil {
		return nil, err
	}
	q := NewQueue(limits)
	q.journal = j
	if err := q.load(dir, about, rest, logger); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return q, nil
}

func (q *Queue) load(dir string, about About, rest time.Duration, logger *slog.Logger) error {
	r := replay{Queue: q, name: dir, about: about, queued: make(map[string]*Page), rests: make(map[string]line)}
	if err := q.journal.read(r.line, logger.With("directory", dir)); err != nil {
		return err
	}
	if err := q.journal.append(line{Version: journalVersion, Crawl: &about}); err != nil {
		return err
	}
	now := time.Now()
	for _, p := range r.added {
		if r.queued[p.URL] == nil {
			continue // it is done
		}
		last := r.rests[p.Host]
		due := now.Add(max(rest, time.Duration(last.Interval*float64(time.Second))))
		if last.Next.After(due) {
			due = last.Next
		}
		q.push(p, due)
	}
	return nil
}

// A replay reads the lines of a journal into a Queue.
type replay struct {
	*Queue
	name   string
	about  About
	added  []*Page          // in the order in which they were added
	queued map[string]*Page // the pages that are not done, by URL
	rests  map[string]line  // by host: the line with the time of the next request to the host
}

func (r *replay) line(l line) error {
	if l.Crawl != nil {
		if err := r.about.Check(r.name, *l.Crawl); err != nil {
			return err
		}
	}
	for _, p := range l.Add {
		p = cmp.Or(p, new(Page)) // null is a page without a host
		if err := p.SetHost(); err != nil {
			return err
		}
		if !r.seen[p.URL] {
			r.seen[p.URL] = true
			r.added = append(r.added, p)
			r.queued[p.URL] = p
		}
	}
	if p := r.queued[l.Put]; p != nil {
		p.Puts, p.Due = l.Puts, l.Due
		r.rest(p.Host, l)
	}
	if p := r.queued[l.Done]; p != nil {
		delete(r.queued, l.Done)
		if l.Free {
			r.state.Free++
		} else {
			r.state.Spent++
			r.rest(p.Host, l)
			if l.Refused {
				r.refused[p.Host]++
			}
		}
	}
	return nil
}

func (r *replay) rest(host string, l line) {
	r.rests[host] = line{Next: l.Next, Interval: max(l.Interval, r.rests[host].Interval)}
}
