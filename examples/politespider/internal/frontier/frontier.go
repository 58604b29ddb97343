// Package frontier is what a crawl still has to fetch: a queue of pages for each host, and which URLs were ever in one.
//
// It hands out one page of a host at a time, and hosts in the order in which they may be asked again, so that neither a
// big site nor a slow one holds up the others. There are three, which differ in what they outlive:
//
//   - [Memory] lives as long as its process.
//   - [Directory] keeps a journal: a crawl that was stopped, be it with kill -9, goes on where it was.
//   - [Redis] is shared by any number of processes; what one held that died, another takes over.
//
// A page is queued, out (handed out), or done with. The crawl is over when no page is queued or out. Each page that Take
// hands out is given back by one call of Done, Refund or PutBack.
package frontier

import (
	"net/url"
	"time"
)

// Page is one URL of the crawl.
type Page struct {
	URL  *url.URL // absolute, without a fragment
	From string   // the page it was found on; "" for a start URL
	Puts int      // how often a server has put it off; kept by PutBack

	Ready time.Time // when it was queued; once handed out, since when its host was free for it

	entry string // of Redis: its entry in the host's stream
}

// State is a frontier at a glance.
type State struct {
	Queued int
	Out    int           // handed out, by all processes of the crawl
	Spent  int           // pages that Done was called for, in all runs and by all processes of the crawl
	Next   string        // the host that is due next, if none is now; "" if there is none, or it is not known
	Wait   time.Duration // until it is
	Err    error         // what failed: nothing more is handed out
}

// HostKey is the unit of politeness: a site's http and https are one host.
func HostKey(u *url.URL) string { return u.Hostname() }
