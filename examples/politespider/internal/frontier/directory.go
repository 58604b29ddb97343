package frontier

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// A Directory is a frontier in memory with a journal in a directory. A new
// process continues the crawl where the previous one stopped, however the
// previous one ended. No page is lost. The pages that had been handed out and
// not given back are handed out again. After a power cut, the pages that were
// finished after the last sync are also handed out again (see syncPeriod).
// OpenDirectory makes a Directory. A Directory is safe for concurrent use, but
// only one process at a time can have the directory open.
type Directory struct {
	*Memory

	lock *flock.Flock

	mu      sync.Mutex
	journal *journal
}

// OpenDirectory opens the crawl in dir, or begins one there. If dir does not
// exist, OpenDirectory creates it, readable by its owner alone. If the crawl
// continues, each host first rests, because the last run may have been killed
// just after a request. It rests for its own interval or for the given
// duration, whichever is longer. If a pause from the last run ends even later,
// for example because of a Retry-After, the host rests until the pause ends.
//
// At most max pages are handed out in all runs together.
func OpenDirectory(dir string, about About, max int, rest time.Duration, logger *slog.Logger) (*Directory, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	lock := flock.New(filepath.Join(dir, "lock"))
	if ok, err := lock.TryLock(); err != nil {
		return nil, err
	} else if !ok {
		return nil, fmt.Errorf("another process is crawling in %s: wait for its end, or name another directory", dir)
	}
	d := &Directory{Memory: NewMemory(max), lock: lock}
	if err := d.load(dir, about, rest, logger); err != nil {
		return nil, errors.Join(err, lock.Unlock())
	}
	return d, nil
}

func (d *Directory) load(dir string, about About, rest time.Duration, logger *slog.Logger) (err error) {
	if d.journal, err = openJournal(dir); err != nil {
		return err
	}
	r := replay{Memory: d.Memory, name: dir, about: about, queued: make(map[string]*Page), rests: make(map[string]line)}
	cut, err := d.journal.read(r.line)
	if err == nil && cut > 0 {
		logger.Warn("the last line of the journal was cut short: what it said is done again", "directory", dir, "bytes", cut)
	}
	if err == nil {
		err = d.journal.append(line{Version: journalVersion, Crawl: &about})
	}
	if err != nil {
		return errors.Join(err, d.journal.file.Close())
	}
	now, pages := time.Now(), r.pages()
	for _, p := range pages {
		host := HostKey(p.URL)
		last := r.rests[host]
		due := now.Add(max(rest, seconds(last.Interval)))
		if last.Next.After(due) {
			due = last.Next
		}
		d.host(host, due)
	}
	d.queue(pages)
	return nil
}

// write appends a line to the journal. If that fails, no more pages are handed
// out.
func (d *Directory) write(l line) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.State().Err != nil { // the last line may be incomplete, and a line after it would never be read
		return false
	}
	if err := d.journal.append(l); err != nil {
		d.fail(fmt.Errorf("write the journal: %w", err))
		return false
	}
	return true
}

// Add is like [Memory.Add], and writes the pages to the journal first.
func (d *Directory) Add(pages ...*Page) int {
	fresh := d.unseen(pages)
	if len(fresh) == 0 {
		return 0
	}
	var l line
	for _, p := range fresh {
		l.Add = append(l.Add, EntryOf(p))
	}
	if d.write(l) {
		d.queue(fresh)
	}
	return len(fresh)
}

// Done is like [Memory.Done]. Add the links of the page before you call Done.
// If you call Done first, a crash between the two calls loses the links,
// because a page that is done is not fetched again.
func (d *Directory) Done(p *Page, asked time.Time, interval time.Duration) {
	d.write(line{Done: p.URL.String(), Next: asked.Add(interval).UTC(), Interval: interval.Seconds()})
	d.Memory.Done(p, asked, interval)
}

// Refund is like [Memory.Refund].
func (d *Directory) Refund(p *Page) {
	d.write(line{Done: p.URL.String(), Free: true})
	d.Memory.Refund(p)
}

// PutBack is like [Memory.PutBack].
func (d *Directory) PutBack(p *Page, until time.Time) {
	d.write(line{Put: p.URL.String(), Puts: p.Puts, Due: p.Due.UTC(), Next: until.UTC()})
	d.Memory.PutBack(p, until)
}

// Close closes the journal and unlocks the directory for other processes.
func (d *Directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.journal.close(), d.lock.Unlock())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// A replay reads the lines of a journal into a Memory.
type replay struct {
	*Memory
	name   string
	about  About
	order  []string         // URLs in the order in which they were added
	queued map[string]*Page // the pages that are not done, by URL
	rests  map[string]line  // by host: the line that says when the host may be asked again
}

func (r *replay) line(l line) error {
	if l.Crawl != nil {
		if err := r.about.Check(r.name, *l.Crawl); err != nil {
			return err
		}
	}
	for _, e := range l.Add {
		p, err := e.Page()
		if err != nil {
			return err
		}
		u := p.URL.String()
		if r.seen[u] {
			continue
		}
		r.seen[u] = true
		r.order = append(r.order, u)
		r.queued[u] = p
	}
	for _, u := range l.Seen {
		r.seen[u] = true
	}
	r.spent += l.Spent
	if l.Host != "" {
		r.rest(l.Host, l)
	}
	if p := r.queued[l.Put]; p != nil {
		p.Puts, p.Due = l.Puts, l.Due
		r.rest(HostKey(p.URL), l)
	}
	if p := r.queued[l.Done]; p != nil {
		delete(r.queued, l.Done)
		if l.Free {
			r.free++
		} else {
			r.spent++
			r.rest(HostKey(p.URL), l)
		}
	}
	return nil
}

func (r *replay) rest(host string, l line) {
	r.rests[host] = line{Host: host, Next: l.Next, Interval: max(l.Interval, r.rests[host].Interval)}
}

func (r *replay) pages() []*Page {
	var pages []*Page
	for _, u := range r.order {
		if p := r.queued[u]; p != nil {
			pages = append(pages, p)
		}
	}
	return pages
}
