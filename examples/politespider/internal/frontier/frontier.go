// Package frontier is what a crawl still has to fetch: a queue of pages for
// each host, and which URLs were ever in one.
//
// It hands out one page of a host at a time, and hosts in the order in which
// they may be asked again, so that neither a big site nor a slow one holds up
// the others. There are three, which differ in what they outlive:
//
//   - [Memory] lives as long as its process.
//   - [Directory] keeps a journal: a crawl that was stopped, be it with kill
//     -9, goes on where it was.
//   - [Redis] is shared by any number of processes; what one held that died,
//     another takes over.
//
// A page is queued, out (handed out), or done with. The crawl is over when no
// page is queued or out. Each page that Take hands out is given back by one
// call of Done, Refund or PutBack.
package frontier

import (
	"fmt"
	"net/url"
	"time"
)

// Page is one URL of the crawl.
type Page struct {
	URL  *url.URL // absolute, without a fragment
	From string   // the page it was found on; "" for a start URL
	Puts int      // how often its server has put it off; kept by PutBack

	// Due is when it may be handed out at the earliest, whatever its host says;
	// zero: at once. Kept by PutBack, until it is handed out again.
	Due time.Time

	Depth   int  // how many links it is away from a start URL, by the way on which it was first found
	Sitemap bool // it is one: what it leads to are not links but further start URLs

	Ready time.Time // when it was queued; once handed out, since when its host was free for it

	entry string // of Redis: its entry in the host's stream
}

// entry is a page as it is written down.
type entry struct {
	URL     string    `json:"url"`
	From    string    `json:"from,omitempty"`
	Puts    int       `json:"puts,omitempty"`
	Due     time.Time `json:"due,omitzero"`
	Depth   int       `json:"depth,omitempty"`
	Sitemap bool      `json:"sitemap,omitempty"`
}

func entryOf(p *Page) entry {
	return entry{URL: p.URL.String(), From: p.From, Puts: p.Puts, Due: p.Due.UTC(), Depth: p.Depth, Sitemap: p.Sitemap}
}

func (e entry) page() (*Page, error) {
	u, err := url.Parse(e.URL)
	if err != nil {
		return nil, fmt.Errorf("the state of the crawl has a URL that is none: %w", err)
	}
	if u.Hostname() == "" { // also of no text at all, which would stand for every line that names no page
		return nil, fmt.Errorf("the state of the crawl has a page without a host: %q", e.URL)
	}
	return &Page{URL: u, From: e.From, Puts: e.Puts, Due: e.Due, Depth: e.Depth, Sitemap: e.Sitemap}, nil
}

// State is a frontier at a glance.
type State struct {
	Queued int
	Out    int           // handed out, by all processes of the crawl
	Spent  int           // pages that Done was called for, in all runs and by all processes of the crawl
	Hosts  int           // that have pages queued, and none out; of Redis, also those that had
	Next   string        // the host that is due next, if none is now; "" if there is none, or it is not known
	Wait   time.Duration // until it is
	Err    error         // what failed: nothing more is handed out
}

// HostKey is the unit of politeness: a site's http and https are one host.
func HostKey(u *url.URL) string { return u.Hostname() }
