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
// not given back are handed out again. After a power failure, the pages that
// were finished after the last sync are also handed out again (see syncPeriod).
//
// If the crawl continues, each host is first paused, because the last run may
// have been killed just after a request. The pause lasts for the host's own
// interval or for minPause, whichever is longer. If a pause from the last run
// ends even later, for example because of a Retry-After, the host is paused
// until then.
//
// The limits count the pages of all runs together.
func OpenDirectory(
	dir string,
	about About,
	limits Limits,
	minPause time.Duration,
	logger *slog.Logger,
) (*Queue, error) {
	j, err := openJournal(dir)
	if err != nil {
		return nil, err
	}
	q := NewQueue(limits)
	q.journal = j
	if err := q.load(dir, about, minPause, logger); err != nil {
		return nil, errors.Join(err, j.close())
	}
	return q, nil
}

// load queues the pages that the journal contains and that are not done.
func (q *Queue) load(dir string, about About, minPause time.Duration, logger *slog.Logger) error {
	r := replay{
		Queue:  q,
		name:   dir,
		about:  about,
		queued: make(map[string]*Page),
		paces:  make(map[string]hostPace),
	}
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
		pace := r.paces[p.Host]
		due := now.Add(max(minPause, pace.interval))
		if pace.next.After(due) {
			due = pace.next
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
	added  []*Page             // in the order in which they were added
	queued map[string]*Page    // the pages that are not done, by URL
	paces  map[string]hostPace // by HostKey
}

// A hostPace is the pace of a host as recorded in the journal.
type hostPace struct {
	next     time.Time     // when the next request may be sent
	interval time.Duration // the longest interval of the host's pages
}

// line applies a line of the journal.
func (r *replay) line(l line) error {
	if l.Crawl != nil {
		if err := r.about.Check(r.name, *l.Crawl); err != nil {
			return err
		}
	}
	for _, p := range l.Add {
		if err := r.add(p); err != nil {
			return err
		}
	}
	if p := r.queued[l.Put]; p != nil {
		p.Puts = l.Puts
		p.Due = l.Due
		r.setPace(p.Host, l)
	}
	if p := r.queued[l.Done]; p != nil {
		r.finish(p, l)
	}
	return nil
}

// add adds a page whose URL is new. In JSON, the page may be null.
func (r *replay) add(p *Page) error {
	p = cmp.Or(p, new(Page))
	if err := p.SetHost(); err != nil {
		return err
	}
	if !r.seen[p.URL] {
		r.seen[p.URL] = true
		r.added = append(r.added, p)
		r.queued[p.URL] = p
	}
	return nil
}

// finish applies a line of the journal that records the end of page p.
func (r *replay) finish(p *Page, l line) {
	delete(r.queued, p.URL)
	if l.Free {
		r.state.Free++
		return
	}
	r.state.Spent++
	if l.Refused {
		r.refused[p.Host]++
	}
	r.setPace(p.Host, l)
}

// setPace updates the pace of a host.
func (r *replay) setPace(host string, l line) {
	interval := time.Duration(l.Interval * float64(time.Second))
	r.paces[host] = hostPace{next: l.Next, interval: max(interval, r.paces[host].interval)}
}
