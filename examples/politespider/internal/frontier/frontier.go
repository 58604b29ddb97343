// Package frontier holds the queue of a crawl. For each host, it has the pages
// that are still to be fetched. It also remembers all URLs that were ever
// queued.
//
// A frontier hands out one page of a host at a time. Hosts take turns in the
// order in which they are due, so that neither a big site nor a slow one
// holds up the others. There are three kinds of frontier:
//
//   - [NewQueue] makes one that lives as long as its process.
//   - [OpenDirectory] makes one with a journal: a crawl that was stopped, even
//     by kill -9, continues where it stopped.
//   - package shared has one in Redis, for any number of processes.
//
// A page is queued, out (handed out), or done. The crawl is over when no page
// is queued or out. Each page that Take hands out must be given back by one
// call of Done, Refuse, Refund or PutBack.
//
// The crawl of a host ends when the host has refused as many pages as
// [Limits.Refused] permits. The host's other pages stay queued, so that a later
// run with a higher limit fetches them.
package frontier

import (
	"fmt"
	"net/url"
	"strings"
	"time"
)

// A Page is one URL of the crawl. Its JSON is the form in which it is stored.
type Page struct {
	URL  string `json:"url"`            // absolute, without a fragment
	Host string `json:"-"`              // the HostKey of the URL
	From string `json:"from,omitempty"` // the page on which the URL was found; "" for a start URL
	Puts int    `json:"puts,omitempty"` // how many times the server has put the page off

	// Due is the earliest time at which the page may be handed out, even if its
	// host is due earlier. Zero means immediately. Set Due before PutBack. Take
	// resets it to zero.
	Due time.Time `json:"due,omitzero"`

	Depth   int  `json:"depth,omitempty"`   // number of links from a start URL to the page, on the first path found
	Sitemap bool `json:"sitemap,omitempty"` // the page is a sitemap: its URLs count as start URLs

	Ready time.Time `json:"-"` // since when the page waited only for its host's pace; set by Take

	ID string `json:"-"` // identifies the page in a frontier that processes share; otherwise ""
}

// SetHost sets the Host of a page that was read from its JSON. It returns an
// error if the URL has no host.
func (p *Page) SetHost() error {
	u, err := url.Parse(p.URL)
	if err != nil {
		return fmt.Errorf("the state of the crawl has an invalid URL: %w", err)
	}
	if p.Host = HostKey(u); p.Host == "" { // an empty URL would match journal lines without a URL
		return fmt.Errorf("the state of the crawl has a page without a host: %q", p.URL)
	}
	return nil
}

// Limits limit a crawl. They count all runs of the crawl together.
type Limits struct {
	Pages   int // maximum number of pages handed out, without refunds and put-backs
	Refused int // refused pages after which the crawl of a host ends; 0 means no limit
}

// A State is a summary of a frontier.
type State struct {
	Queued int
	Out    int // pages handed out, to all processes of the crawl
	Spent  int // pages given to Done or Refuse, in all runs and by all processes
	Free   int // pages given to Refund, likewise

	// Hosts is the number of hosts with queued pages and no page out, without
	// those whose crawl has ended. For a shared crawl, it may be too high.
	Hosts int

	Next string        // the host that is due next; "" if a host is due now, or if none is known
	Wait time.Duration // how long the crawl waits until Next is due
	Err  error         // the error that ended the crawl; nil if there is none
}

// HostKey returns the host name of u. All schemes and ports of a host share one
// delay. The result is a copy, because it is kept for the whole crawl and must
// not keep the link that u was parsed from in memory, which may be megabytes
// long.
func HostKey(u *url.URL) string { return strings.Clone(u.Hostname()) }
