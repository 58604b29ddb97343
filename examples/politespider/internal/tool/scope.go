package tool

import (
	"net/url"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/goodbots/courtesy/examples/politespider/internal/frontier"
)

// scope says which links a crawl follows, by the URLs that it begins with.
type scope string

const (
	sameHost   scope = "host"   // with the port, if there is one
	sameDomain scope = "domain" // registrable: example.co.uk, with all that is below it
	samePrefix scope = "prefix" // host and path, up to the last slash
)

func (s scope) known() bool { return s == sameHost || s == sameDomain || s == samePrefix }

// of returns whether a URL is in the scope of one of these.
func (s scope) of(start []*url.URL) func(*url.URL) bool {
	within := make(map[string]bool)
	for _, u := range start {
		within[s.key(u)] = true
	}
	if s != samePrefix {
		return func(u *url.URL) bool { return within[s.key(u)] }
	}
	return func(u *url.URL) bool {
		// Each of its own prefixes, not each of the start URLs: of those there
		// may be many.
		for key := s.key(u); ; {
			if within[key] {
				return true
			}
			slash := strings.LastIndexByte(strings.TrimSuffix(key, "/"), '/')
			if slash < 0 {
				return false
			}
			key = key[:slash+1]
		}
	}
}

// key is what all URLs of a scope have in common; http and https are not told
// apart.
func (s scope) key(u *url.URL) string {
	switch s {
	case sameDomain:
		host := frontier.HostKey(u)
		if domain, err := publicsuffix.EffectiveTLDPlusOne(host); err == nil {
			return domain
		}
		return host // an IP address, or a public suffix itself
	case samePrefix:
		path := u.EscapedPath()
		return u.Host + path[:strings.LastIndexByte(path, '/')+1]
	}
	return u.Host
}
