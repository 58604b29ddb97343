package collyrobots

import (
	"errors"
	"net/http"
	"reflect"
	"time"
	"unsafe"

	"github.com/gocolly/colly/v2"
	"github.com/gocolly/colly/v2/debug"
)

// ErrBypassed is what a collector's requests fail with, and nothing is sent,
// once its transport has been replaced.
var ErrBypassed = errors.New("collyrobots: refused, because this collector no longer goes through the extension: SetProxy, " +
	"SetProxyFunc, SetClient, WithTransport or Appengine was called after Attach. Give Attach the proxy as Options.Proxy, " +
	"the transport (or the client's Transport) as Options.Base, and do not set it on the collector")

// Active reports whether every collector of the extension still sends its
// requests through it. Colly replaces the transport without a word in SetProxy,
// SetProxyFunc, SetClient, WithTransport and Appengine; the next request of
// that collector then fails with ErrBypassed.
func (x *Extension) Active() bool {
	x.mu.RLock()
	members := x.members
	x.mu.RUnlock()
	x.look.Lock()
	defer x.look.Unlock()
	for _, m := range members {
		if !x.reaches(m.c) {
			return false
		}
	}
	return true
}

// guard sees to it that the request which is about to be made is refused if it
// would bypass the extension. A callback cannot return an error, so colly gets
// a client that does. It replaces the client rather than the client's
// transport, because the client may be the user's, and in use elsewhere.
func (m *member) guard() {
	m.look.Lock()
	defer m.look.Unlock()
	own, err := transportOf(m.c) // as in reaches; own is asked for below
	if m.isMine(own) || err == errUnknownLayout && probe(m.c) {
		return
	}
	if own != http.RoundTripper(refuser{}) {
		m.c.SetClient(&http.Client{Transport: refuser{}})
	}
}

// refuser is a RoundTripper that sends nothing.
type refuser struct{}

func (refuser) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		req.Body.Close()
	}
	return nil, ErrBypassed
}

// reaches reports whether requests of c come to the extension's transport.
func (x *Extension) reaches(c *colly.Collector) bool {
	own, err := transportOf(c)
	return x.isMine(own) || err == errUnknownLayout && probe(c)
}

func (x *Extension) isMine(t http.RoundTripper) bool { return t == http.RoundTripper(x.transport) }

func isOurs(t http.RoundTripper) bool {
	_, ours := t.(*transport)
	return ours
}

var (
	errUninitialized = errors.New("collyrobots: the collector was not initialized: make it with colly.NewCollector or Clone")
	errUnknownLayout = errors.New("collyrobots: colly has changed")
)

// transportOf is the transport of a collector's client; nil if there is none.
func transportOf(c *colly.Collector) (http.RoundTripper, error) {
	client, err := clientOf(c)
	if err != nil {
		return nil, err
	}
	return client.Transport, nil
}

// clientOf is a collector's http.Client. Colly has no getter, so it is read out
// of unexported fields, and at every request. They were so named in all of
// colly v2; if they are not, it says errUnknownLayout.
func clientOf(c *colly.Collector) (*http.Client, error) {
	if !clientFound {
		return nil, errUnknownLayout
	}
	at := unsafe.Pointer(c)
	for _, offset := range clientOffsets {
		if at = *(*unsafe.Pointer)(unsafe.Add(at, offset)); at == nil {
			return nil, errUninitialized
		}
	}
	return (*http.Client)(at), nil
}

// clientOffsets is the way from a colly.Collector to its http.Client: two
// fields that are pointers to structs.
var clientOffsets, clientFound = findClient()

func findClient() (offsets [2]uintptr, found bool) {
	t := reflect.TypeFor[colly.Collector]()
	for i, name := range [...]string{"backend", "Client"} {
		field, ok := t.FieldByName(name)
		if !ok || len(field.Index) > 1 || field.Type.Kind() != reflect.Pointer || field.Type.Elem().Kind() != reflect.Struct {
			return offsets, false
		}
		offsets[i], t = field.Offset, field.Type.Elem()
	}
	return offsets, t == reflect.TypeFor[http.Client]()
}

// timeoutOf is the collector's request timeout; colly's default if that cannot
// be known. 0: none.
func timeoutOf(c *colly.Collector) time.Duration {
	client, err := clientOf(c)
	if err != nil {
		return 10 * time.Second
	}
	return client.Timeout
}

// A probe is a request for an address that no network can answer.
const probeScheme = "courtesy-probe"

var errProbed = errors.New("collyrobots: probe")

// probe finds out the slow way whether requests of c come to a transport of
// ours. It has a clone ask for a robots.txt, because that is what colly sends
// past its callbacks, LimitRules, storage and debugger.
func probe(c *colly.Collector) bool {
	p := c.Clone()
	p.IgnoreRobotsTxt = false
	p.Async = false
	p.MaxDepth, p.MaxRequests = 0, 0
	p.AllowedDomains, p.DisallowedDomains, p.URLFilters, p.DisallowedURLFilters = nil, nil, nil, nil
	// What lies behind is not ours if it answers at all. Then this ends here.
	p.AllowURLRevisit = true
	p.SetDebugger(silent{})
	p.OnRequest(func(r *colly.Request) { r.Abort() })
	return errors.Is(p.Visit(probeScheme+"://collector/"), errProbed)
}

type silent struct{}

func (silent) Init() error        { return nil }
func (silent) Event(*debug.Event) {}
