package audit

import (
	"net/netip"
	"strings"
)

// cacheTime is the minimum time, in nanoseconds, for which a shared cache is
// assumed to keep a robots.txt. By default, Fastly keeps responses for an hour
// and Cloudflare for 2 hours. Varnish keeps them for only 2 minutes, but a
// cache that keeps the file for less than 10 minutes answers few of the
// requests for it.
const cacheTime = int64(600e9)

// A cacheProof is the proof that no shared cache, such as a CDN, answers the
// requests for robots.txt to a host. The proof is that two of them are from one
// network, and that such a cache would have answered the second one, because it
// would still have stored the response to the first. Requests from several
// networks prove nothing, because a CDN has a cache in each of its locations.
type cacheProof struct {
	recent []cacheable // the latest ones, each from a different network
	direct int64       // the latest time at which a cache would have answered; 0 means never
}

// A cacheable is a request for robots.txt whose response a shared cache would
// store.
type cacheable struct {
	network string
	at      int64
}

const maxCacheables = 32

// add adds a request for robots.txt.
func (c *cacheProof) add(e *event) {
	network := network(e.address)
	if network == "" || !isCacheable(e) {
		return
	}
	for i := range c.recent {
		previous := &c.recent[i]
		if previous.network != network {
			continue
		}
		if e.at >= previous.at && e.at-previous.at < cacheTime {
			c.direct = e.at
		}
		previous.at = max(previous.at, e.at)
		return
	}
	c.recent = newest(append(c.recent, cacheable{network, e.at}), maxCacheables)
}

// isCacheable reports whether a shared cache would store the response to a
// request for robots.txt, which must be a 2xx or 304 to a GET without a query.
func isCacheable(e *event) bool {
	hasFile := e.status/100 == 2 || e.status == 304
	return hasFile && !e.notGet && !strings.Contains(e.url, "?")
}

// isDirect reports whether it is proven that all requests for robots.txt in the
// 24 hours before a time are in the log.
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
