package audit

import (
	"net/netip"
	"strings"
)

// cacheTime is the shortest time for which a shared cache is expected to keep a
// robots.txt: Varnish keeps responses for 2 minutes by default, Fastly for an
// hour, and Cloudflare for 2 hours. A cache that keeps it for less than 10
// minutes answers few requests for it.
const cacheTime = int64(600e9)

// A cacheProof is the proof that no shared cache, such as a CDN, answers the
// requests for robots.txt to a host: two of them from one network, with the
// second at a time at which such a cache would still have had the answer to the
// first. Requests from several networks are no proof, because a CDN has a cache
// in each of its locations.
type cacheProof struct {
	recent []cacheable // the latest ones, each of another network
	direct int64       // the latest time at which a cache would have answered; 0 means never
}

// A cacheable is a request for robots.txt whose answer a cache would keep.
type cacheable struct {
	network string
	at      int64
}

const keptCacheables = 32

// add takes a request for robots.txt. A cache keeps only answers to a GET
// without a query that have the file, or say that it has not changed.
func (c *cacheProof) add(e *event) {
	isKept := !e.notGet && (e.status/100 == 2 || e.status == 304) && !strings.Contains(e.url, "?")
	network := network(e.address)
	if !isKept || network == "" {
		return
	}
	for i := range c.recent {
		if c.recent[i].network != network {
			continue
		}
		if e.at-c.recent[i].at < cacheTime && e.at >= c.recent[i].at {
			c.direct = e.at
		}
		c.recent[i].at = max(c.recent[i].at, e.at)
		return
	}
	c.recent = newest(append(c.recent, cacheable{network, e.at}), keptCacheables)
}

// isDirect reports whether the requests for robots.txt in the 24 hours before a
// time would be in the log.
func (c *cacheProof) isDirect(at int64) bool { return c.direct != 0 && at-c.direct <= int64(fresh) }

// network returns the network of an address, or "" if the address is not known.
// The machines of one network use the same location of a CDN.
func network(address string) string {
	ip, err := netip.ParseAddr(address)
	if err != nil {
		return ""
	}
	bits := 16
	if ip.Is6() {
		bits = 32
	}
	prefix, err := ip.Prefix(bits)
	if err != nil {
		return ""
	}
	return prefix.Masked().String()
}
