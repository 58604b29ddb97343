package frontier

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// Directory is a frontier in memory with a journal in a directory, which goes
// on where the last one stopped, whatever stopped it: no page is lost, and none
// is handed out again but those that were out. Make one with OpenDirectory. It
// is safe for concurrent use; one process at a time can have it open.
type Directory struct {
	*Memory

	lock *flock.Flock

	mu      sync.Mutex
	journal *journal
}

// OpenDirectory opens the crawl in dir, or begins one there. The directory is
// made if it is not there, readable by its owner alone. Of a crawl that goes
// on, each host is first left alone for the interval that it was owed, or for
// rest if that is longer: it may have been asked in the very moment in which
// the last run was killed.
//
// At most max pages are handed out, those of earlier runs included.
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

// load reads the journal and writes it anew.
func (d *Directory) load(dir string, about About, rest time.Duration, logger *slog.Logger) error {
	r := newReplay(d.Memory, dir, about)
	dropped, err := readDirectory(dir, r.line)
	if err != nil {
		return err
	}
	if dropped > 0 {
		logger.Info("the last line of the journal was cut short: what it said is done again", "directory", dir, "bytes", dropped)
	}
	d.journal, err = createJournal(dir, r.lines)
	if err != nil {
		return err
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

// write appends a line to the journal; without it, nothing more is handed out.
func (d *Directory) write(l line) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.State().Err != nil { // behind half a line, the journal would not be read any more
		return false
	}
	if err := d.journal.append(l); err != nil {
		d.fail(fmt.Errorf("write the journal: %w", err))
		return false
	}
	return true
}

// Add is Memory's.
func (d *Directory) Add(pages ...*Page) int {
	fresh := d.unseen(pages)
	if len(fresh) == 0 {
		return 0
	}
	var l line
	for _, p := range fresh {
		l.Add = append(l.Add, entryOf(p))
	}
	if d.write(l) {
		d.queue(fresh)
	}
	return len(fresh)
}

// Done is Memory's. The links of the page have to be added before it.
func (d *Directory) Done(p *Page, asked time.Time, interval time.Duration) {
	d.write(line{Done: p.URL.String(), Next: asked.Add(interval).UTC(), Interval: interval.Seconds()})
	d.Memory.Done(p, asked, interval)
}

// Refund is Memory's.
func (d *Directory) Refund(p *Page) {
	d.write(line{Done: p.URL.String(), Free: true})
	d.Memory.Refund(p)
}

// PutBack is Memory's.
func (d *Directory) PutBack(p *Page, until time.Time) {
	d.write(line{Put: p.URL.String(), Puts: p.Puts, Due: p.Due.UTC(), Next: until.UTC()})
	d.Memory.PutBack(p, until)
}

// Close closes the journal and lets others have the directory.
func (d *Directory) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	return errors.Join(d.journal.close(), d.lock.Unlock())
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// replay makes a Memory of the lines of a journal, and lines of that again.
type replay struct {
	*Memory
	name   string
	about  About
	order  []string         // URLs, as they were added
	queued map[string]*Page // those of them that are not done with
	rests  map[string]line  // by host: when it may be asked again
}

func newReplay(m *Memory, name string, about About) *replay {
	return &replay{Memory: m, name: name, about: about, queued: make(map[string]*Page), rests: make(map[string]line)}
}

func (r *replay) line(l line) error {
	if l.Crawl != nil {
		if err := r.about.check(r.name, *l.Crawl); err != nil {
			return err
		}
	}
	for _, e := range l.Add {
		p, err := e.page()
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
		if !l.Free {
			r.spent++
			r.rest(HostKey(p.URL), l)
		}
	}
	return nil
}

// rest notes when a host may be asked again.
func (r *replay) rest(host string, l line) {
	r.rests[host] = line{Host: host, Next: l.Next, Interval: max(l.Interval, r.rests[host].Interval)}
}

// pages are those to be queued, in their order.
func (r *replay) pages() []*Page {
	var pages []*Page
	for _, u := range r.order {
		if p := r.queued[u]; p != nil {
			pages = append(pages, p)
		}
	}
	return pages
}

// lines are what is worth keeping.
func (r *replay) lines(yield func(line) bool) {
	if !yield(line{Version: journalVersion, Crawl: &r.about}) || !yield(line{Spent: r.spent}) {
		return
	}
	var seen []string
	for u := range r.seen {
		if r.queued[u] == nil {
			seen = append(seen, u)
		}
	}
	for urls := range slices.Chunk(seen, linesOf) {
		if !yield(line{Seen: urls}) {
			return
		}
	}
	for pages := range slices.Chunk(r.pages(), linesOf) {
		var l line
		for _, p := range pages {
			l.Add = append(l.Add, entryOf(p))
		}
		if !yield(l) {
			return
		}
	}
	for _, l := range r.rests {
		if !yield(l) {
			return
		}
	}
}
