package integration

import (
	"bufio"
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/collyrobots"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

const causesAgent = "ExampleBot/1.0 (+https://example.com/bot)"

// A crawl is one request of a row of TestCauses.
type crawl struct {
	opts   robotsmw.Options
	ctx    context.Context
	url    string
	before string // a URL to request first; "" means none

	// hide is the address of a server on loopback. It is removed from messages
	// before they are compared, because its port differs from run to run. ""
	// means that there is no server.
	hide string

	// isBuilt reports whether NewClient or Attach has succeeded.
	isBuilt bool
}

// A cause is a row of TestCauses.
type cause struct {
	name  string
	setUp func(t *testing.T) crawl
	fake  bool // whether the row runs in the fake time of a synctest bubble

	// kind is the error without the *url.Error and the errors of net/http.
	kind func(error) bool

	is    []error            // errors.Is returns true for these
	isNot []error            // and false for these
	as    []func(error) bool // errors.As finds these

	// message is the text of the error, without what the *url.Error adds. TIME
	// stands for a time, and ADDR for the hidden address.
	message string

	// atConstruction is set if NewClient and Attach return the error. The
	// message is then only a part of its text.
	atConstruction bool
}

var errIntranet = errors.New("the intranet is not ours to crawl")

// refuse127_0_0_2 is a function for Options.RefuseAddress.
func refuse127_0_0_2(a netip.Addr) error {
	if a == netip.MustParseAddr("127.0.0.2") {
		return errIntranet
	}
	return nil
}

func asError[E error](err error) bool { _, ok := errors.AsType[E](err); return ok }

func not(f func(error) bool) func(error) bool { return func(err error) bool { return !f(err) } }

var (
	disallowed = asError[*robotsmw.DisallowedError]
	delayed    = asError[*politeness.DelayError]

	// robotsErrors are the errors of a URL that may not be requested because of
	// its robots.txt.
	robotsErrors = []error{robotsmw.ErrDisallowed, robotsmw.ErrUnreachable, robotsmw.ErrAddressRefused}
	// contextErrors are the errors of a caller that does not wait any longer.
	contextErrors = []error{context.Canceled, context.DeadlineExceeded}
)

func except(list []error, err error) []error {
	var rest []error
	for _, e := range list {
		if e != err {
			rest = append(rest, e)
		}
	}
	return rest
}

// notUnreachable returns the errors for which errors.Is is false if robots.txt
// is unreachable.
func notUnreachable() []error {
	return append(except(robotsErrors, robotsmw.ErrUnreachable), contextErrors...)
}

// notRefused returns the errors for which errors.Is is false if an address is
// refused.
func notRefused() []error {
	return append(except(robotsErrors, robotsmw.ErrAddressRefused), contextErrors...)
}

var causes = []cause{
	{
		name: "DNS", setUp: func(t *testing.T) crawl {
			dialer := &net.Dialer{Resolver: emptyDNS(t)}
			return crawl{opts: robotsmw.Options{Base: transport(t, dialer.DialContext, nil)}, url: "https://mistyped.example/page"}
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable}, isNot: notUnreachable(),
		as: []func(error) bool{asError[*net.DNSError], func(err error) bool {
			dns, _ := errors.AsType[*net.DNSError](err)
			return dns.IsNotFound && dns.Name == "mistyped.example"
		}},
		message: "robotsmw: robots.txt of https://mistyped.example is unreachable: no such host; check the spelling of the host name; next try at TIME",
	},
	{
		name: "refused connection", setUp: func(t *testing.T) crawl {
			listener, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			listener.Close()
			return loopback(t, robotsmw.Options{}, listener.Addr().String())
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable, syscall.ECONNREFUSED}, isNot: notUnreachable(),
		as:      []func(error) bool{asError[*net.OpError], asError[*os.SyscallError], asError[syscall.Errno]},
		message: "robotsmw: robots.txt of http://ADDR is unreachable: dial tcp ADDR: connect: connection refused; next try at TIME",
	},
	{
		name: "TLS name", setUp: func(t *testing.T) crawl {
			return secure(t, "other.example", time.Now().Add(time.Hour))
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable}, isNot: notUnreachable(),
		as: []func(error) bool{asError[*tls.CertificateVerificationError], asError[x509.HostnameError], func(err error) bool {
			name, _ := errors.AsType[x509.HostnameError](err)
			return name.Host == "shop.example" && name.Certificate.DNSNames[0] == "other.example"
		}},
		message: "robotsmw: robots.txt of https://shop.example is unreachable: tls: failed to verify certificate: x509: certificate is valid for other.example, not shop.example; next try at TIME",
	},
	{
		name: "expired certificate", setUp: func(t *testing.T) crawl {
			return secure(t, "shop.example", time.Now().Add(-time.Hour))
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable}, isNot: notUnreachable(),
		as: []func(error) bool{asError[*tls.CertificateVerificationError], asError[x509.CertificateInvalidError], func(err error) bool {
			invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
			return invalid.Reason == x509.Expired && invalid.Cert.NotAfter.Before(time.Now())
		}},
		message: "robotsmw: robots.txt of https://shop.example is unreachable: tls: failed to verify certificate: x509: certificate has expired or is not yet valid: current time TIME is after TIME; next try at TIME",
	},
	{
		name: "timeout", fake: true, setUp: func(t *testing.T) crawl {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotstest.Hang{})
			return crawl{opts: robotsmw.Options{Base: web, RobotsTimeout: 5 * time.Second}, url: "http://slow.example/page"}
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable, os.ErrDeadlineExceeded}, isNot: notUnreachable(),
		message: "robotsmw: robots.txt of http://slow.example is unreachable: no whole robots.txt within 5s; next try at TIME",
	},
	{
		name: "timeout of the connection", fake: true, setUp: func(t *testing.T) crawl {
			dialer := &net.Dialer{Deadline: time.Now().Add(-time.Second)}
			return crawl{opts: robotsmw.Options{Base: transport(t, dialer.DialContext, nil)}, url: "http://127.0.0.1:1/page"}
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable, os.ErrDeadlineExceeded}, isNot: notUnreachable(),
		as:      []func(error) bool{asError[*net.OpError]},
		message: "robotsmw: robots.txt of http://127.0.0.1:1 is unreachable: dial tcp 127.0.0.1:1: i/o timeout; next try at TIME",
	},
	{
		name: "reset", setUp: func(t *testing.T) crawl {
			return loopback(t, robotsmw.Options{}, resetter(t))
		},
		kind: disallowed, is: []error{robotsmw.ErrUnreachable, syscall.ECONNRESET}, isNot: notUnreachable(),
		as:      []func(error) bool{asError[*net.OpError], asError[syscall.Errno]},
		message: "robotsmw: robots.txt of http://ADDR is unreachable: read tcp CLIENT->ADDR: read: connection reset by peer; next try at TIME",
	},
	{
		name: "refused address of a page", setUp: func(t *testing.T) crawl {
			address := site(t, nil)
			c := loopback(t, robotsmw.Options{RefuseAddress: robotsmw.PublicOnly}, address)
			c.opts.Override = map[string]string{"http://" + address: ""}
			return c
		},
		kind: not(disallowed), is: []error{robotsmw.ErrAddressRefused}, isNot: append(notRefused(), colly.ErrRobotsTxtBlocked),
		as:      []func(error) bool{asError[*net.OpError]},
		message: "dial tcp ADDR: robotsmw: RefuseAddress refuses the address: 127.0.0.1 is not a public address: loopback, RFC 1122 §3.2.1.3",
	},
	{
		name: "refused address of a robots.txt", setUp: func(t *testing.T) crawl {
			return loopback(t, robotsmw.Options{RefuseAddress: robotsmw.PublicOnly}, site(t, nil))
		},
		kind: disallowed, is: []error{robotsmw.ErrAddressRefused}, isNot: notRefused(),
		as:      []func(error) bool{asError[*net.OpError]},
		message: "robotsmw: robots.txt of http://ADDR was not fetched: RefuseAddress refuses the address: 127.0.0.1 is not a public address: loopback, RFC 1122 §3.2.1.3; the address is looked up again after TIME",
	},
	{
		name: "refused address of a redirect", setUp: func(t *testing.T) crawl {
			address := site(t, map[string]string{"/page": "http://127.0.0.2/page"})
			return loopback(t, robotsmw.Options{RefuseAddress: refuse127_0_0_2}, address)
		},
		kind: disallowed, is: []error{robotsmw.ErrAddressRefused, errIntranet}, isNot: notRefused(),
		message: "robotsmw: robots.txt of http://127.0.0.2 was not fetched: RefuseAddress refuses the address: 127.0.0.2: the intranet is not ours to crawl; the address is looked up again after TIME",
	},
	{
		name: "refused address of a redirect of robots.txt", setUp: func(t *testing.T) crawl {
			address := site(t, map[string]string{"/robots.txt": "http://127.0.0.2/robots.txt"})
			return loopback(t, robotsmw.Options{RefuseAddress: refuse127_0_0_2}, address)
		},
		kind: disallowed, is: []error{robotsmw.ErrAddressRefused, errIntranet}, isNot: notRefused(),
		message: "robotsmw: robots.txt of http://ADDR was not fetched: RefuseAddress refuses the address: 127.0.0.2: the intranet is not ours to crawl; the address is looked up again after TIME",
	},
	{
		name: "refused address in a Base with DialControl", setUp: func(t *testing.T) crawl {
			dialer := &net.Dialer{Control: robotsmw.DialControl(robotsmw.PublicOnly)}
			return loopback(t, robotsmw.Options{Base: transport(t, dialer.DialContext, nil)}, site(t, nil))
		},
		kind: disallowed, is: []error{robotsmw.ErrAddressRefused}, isNot: notRefused(),
		message: "robotsmw: robots.txt of http://ADDR was not fetched: DialControl refuses the address: 127.0.0.1 is not a public address: loopback, RFC 1122 §3.2.1.3; the address is looked up again after TIME",
	},
	{
		name: "invalid Limiter", setUp: func(t *testing.T) crawl {
			return crawl{opts: robotsmw.Options{Base: new(robotstest.Internet), Limiter: &politeness.Limiter{Jitter: -1}}, url: "http://shop.example/page"}
		},
		kind: not(disallowed), isNot: append(robotsErrors, contextErrors...), atConstruction: true,
		message: "Limiter.Jitter is -1: give a fraction of the interval, such as 0.5, or 0 for none",
	},
	{
		name: "invalid Limiter that only a request meets", setUp: func(t *testing.T) crawl {
			hidden := struct{ http.RoundTripper }{&politeness.Transport{Base: new(robotstest.Internet), Limiter: &politeness.Limiter{Jitter: -1}}}
			return crawl{opts: robotsmw.Options{Base: hidden}, url: "http://shop.example/page"}
		},
		kind: not(disallowed), is: []error{politeness.ErrInvalidLimiter}, isNot: append(robotsErrors, contextErrors...),
		message: "politeness: Limiter.Jitter is -1: give a fraction of the interval, such as 0.5, or 0 for none",
	},
	{
		name: "canceled while waiting for robots.txt", fake: true, setUp: func(t *testing.T) crawl {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotstest.Hang{})
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			return crawl{opts: robotsmw.Options{Base: web}, ctx: ctx, url: "http://slow.example/page"}
		},
		kind: not(disallowed), is: []error{context.Canceled}, isNot: append(robotsErrors, context.DeadlineExceeded),
		message: "robotsmw: waiting for http://slow.example/robots.txt: context canceled",
	},
	{
		name: "canceled while waiting for the pace", fake: true, setUp: func(t *testing.T) crawl {
			ctx, cancel := context.WithCancel(t.Context())
			time.AfterFunc(time.Second, cancel)
			return pacedCrawl(ctx)
		},
		kind: not(disallowed), is: []error{context.Canceled}, isNot: append(robotsErrors, context.DeadlineExceeded),
		message: "politeness: canceled while waiting for shop.example: context canceled",
	},
	{
		name: "deadline while waiting for robots.txt", fake: true, setUp: func(t *testing.T) crawl {
			web := new(robotstest.Internet)
			web.Handle("slow.example", robotstest.Hang{})
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return crawl{opts: robotsmw.Options{Base: web}, ctx: ctx, url: "http://slow.example/page"}
		},
		kind: not(disallowed), is: []error{context.DeadlineExceeded}, isNot: append(robotsErrors, context.Canceled),
		message: "robotsmw: waiting for http://slow.example/robots.txt: context deadline exceeded",
	},
	{
		name: "deadline before the pace allows the request", fake: true, setUp: func(t *testing.T) crawl {
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			t.Cleanup(cancel)
			return pacedCrawl(ctx)
		},
		kind: delayed, is: []error{context.DeadlineExceeded}, isNot: append(robotsErrors, context.Canceled),
		message: "politeness: no request to shop.example is allowed before TIME (delay): send requests to other hosts first, or allow a longer wait",
	},
}

// TestCauses checks the error for each cause that prevents a request: its type,
// the errors that errors.Is and errors.As find in it, and its message. The
// error is the same for an http.Client and for colly.
func TestCauses(t *testing.T) {
	for _, row := range causes {
		for _, through := range []string{"http.Client", "colly"} {
			t.Run(row.name+" through "+through, func(t *testing.T) {
				run := func(t *testing.T) {
					c := row.setUp(t)
					c.opts.UserAgent = causesAgent
					c.opts.Logger = slog.New(slog.DiscardHandler)
					c.ctx = cmp.Or(c.ctx, t.Context())
					// Collectors without a Limiter share one, which must not
					// be used in several bubbles.
					c.opts.Limiter = cmp.Or(c.opts.Limiter, new(politeness.Limiter))
					get := c.withClient
					if through == "colly" {
						get = c.withColly
					}
					row.check(t, get(), &c)
				}
				if row.fake {
					synctest.Test(t, func(t *testing.T) {
						run(t)
						time.Sleep(time.Minute) // until the fetch of robots.txt, which no caller waits for, has ended
					})
				} else {
					run(t)
				}
			})
		}
	}
}

// check fails the test if the error of a crawl is not the expected one.
func (row *cause) check(t *testing.T, err error, c *crawl) {
	if err == nil {
		t.Fatalf("the crawl succeeded, want the error %q", row.message)
	}
	if c.isBuilt == row.atConstruction {
		t.Errorf("NewClient or Attach succeeded: %t, want %t; error %v", c.isBuilt, !row.atConstruction, err)
	}
	if !row.kind(err) {
		t.Errorf("error %#v is of the wrong type: want one that row.kind accepts", err)
	}
	for _, target := range row.is {
		if !errors.Is(err, target) {
			t.Errorf("errors.Is(%v, %v) = false, want true (target of type %T)", err, target, target)
		}
	}
	for _, target := range row.isNot {
		if errors.Is(err, target) {
			t.Errorf("errors.Is(%v, %v) = true, want false (target of type %T)", err, target, target)
		}
	}
	for i, found := range row.as {
		if !found(err) {
			t.Errorf("errors.As for the type with the index %d in the field as of this row = false, want true; the error is %v", i, err)
		}
	}
	text := err.Error()
	if wrapper, ok := errors.AsType[*url.Error](err); ok {
		if n := strings.Count(text, wrapper.URL); n != 1 {
			t.Errorf("the error contains the URL %d times, want once: %s", n, text)
		}
		text = wrapper.Err.Error()
	}
	got := c.normalize(text)
	if isPart := row.atConstruction && strings.Contains(got, row.message); got != row.message && !isPart {
		t.Errorf("the message is\n     %s\nwant %s", got, row.message)
	}
}

var (
	timePattern   = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(Z|[+-]\d\d:\d\d)`)
	clientPattern = regexp.MustCompile(`127\.0\.0\.1:\d+->`)
)

// normalize replaces the parts of a message that differ from run to run.
func (c *crawl) normalize(text string) string {
	text = clientPattern.ReplaceAllString(text, "CLIENT->")
	if c.hide != "" {
		text = strings.ReplaceAll(text, c.hide, "ADDR")
	}
	return timePattern.ReplaceAllString(text, "TIME")
}

// withClient makes the request with an http.Client.
func (c *crawl) withClient() error {
	client, err := robotsmw.NewClient(c.opts)
	if err != nil {
		return err
	}
	defer client.CloseIdleConnections()
	c.isBuilt = true
	get := func(url string) error {
		req, err := http.NewRequestWithContext(c.ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := client.Do(req)
		if err == nil {
			io.Copy(io.Discard, resp.Body)
			resp.Body.Close()
		}
		return err
	}
	if c.before != "" {
		get(c.before)
	}
	return get(c.url)
}

// withColly makes the request with a collector, and returns the error that
// OnError receives.
func (c *crawl) withColly() error {
	collector := colly.NewCollector(colly.StdlibContext(c.ctx))
	if _, err := collyrobots.Attach(collector, c.opts); err != nil {
		return err
	}
	c.isBuilt = true
	var got error
	collector.OnError(func(_ *colly.Response, err error) { got = err })
	if c.before != "" {
		collector.Visit(c.before)
	}
	if err := collector.Visit(c.url); !errors.Is(err, got) {
		return fmt.Errorf("OnError received the error %v, but Visit returned %w", got, err)
	}
	return got
}

// transport returns a transport with these functions for net/http.
func transport(t *testing.T, dial func(ctx context.Context, network, address string) (net.Conn, error), config *tls.Config) *http.Transport {
	tr := &http.Transport{DialContext: dial, TLSClientConfig: config}
	t.Cleanup(tr.CloseIdleConnections)
	return tr
}

// loopback returns a crawl of /page of a server.
func loopback(t *testing.T, opts robotsmw.Options, address string) crawl {
	opts.Limiter = &politeness.Limiter{Delay: -1}
	return crawl{opts: opts, url: "http://" + address + "/page", hide: address}
}

// pacedCrawl returns a crawl of a host whose second page has to wait for an
// hour.
func pacedCrawl(ctx context.Context) crawl {
	web := new(robotstest.Internet)
	web.Handle("shop.example", robotstest.Site{"/first": "1", "/page": "2"})
	return crawl{
		opts: robotsmw.Options{Base: web, Limiter: &politeness.Limiter{Delay: time.Hour}},
		ctx:  ctx, url: "http://shop.example/page", before: "http://shop.example/first",
	}
}

// site starts a server without robots.txt, which redirects these paths. It
// returns the server's address.
func site(t *testing.T, redirects map[string]string) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if to, ok := redirects[r.URL.Path]; ok {
			http.Redirect(w, r, to, http.StatusFound)
			return
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// resetter starts a server that resets each connection when it has read a
// request. It returns the server's address.
func resetter(t *testing.T) string {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			http.ReadRequest(bufio.NewReader(conn))
			conn.(*net.TCPConn).SetLinger(0) // so that Close sends a RST
			conn.Close()
		}
	}()
	return listener.Addr().String()
}

// secure returns a crawl of https://shop.example/page. The server has a
// certificate for this name that ends at this time.
func secure(t *testing.T, name string, notAfter time.Time) crawl {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
		NotBefore: notAfter.Add(-24 * time.Hour), NotAfter: notAfter, BasicConstraintsValid: true, IsCA: true,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	roots := x509.NewCertPool()
	roots.AddCert(cert)
	dial := func(ctx context.Context, network, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, network, server.Listener.Addr().String())
	}
	return crawl{opts: robotsmw.Options{Base: transport(t, dial, &tls.Config{RootCAs: roots})}, url: "https://shop.example/page"}
}

// emptyDNS returns a resolver whose DNS server, on loopback, reports for each
// name that it does not exist.
func emptyDNS(t *testing.T) *net.Resolver {
	server, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { server.Close() })
	go func() {
		message := make([]byte, 512)
		for {
			n, client, err := server.ReadFrom(message)
			if err != nil {
				return
			}
			const response, nameError = 0x80, 3 // RFC 1035 §4.1.1: QR and RCODE
			message[2] |= response
			message[3] = message[3]&0xf0 | nameError
			server.WriteTo(message[:n], client)
		}
	}()
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "udp", server.LocalAddr().String())
	}}
}
