package record

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/goodbots/courtesy/integration_test/testmain"
	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

var errAddress = &address.Error{Text: "RefuseAddress refuses the address: 10.0.0.1: no", Err: http.ErrNotSupported}

// A largeError refers to a large amount of memory, as an error of a Base may.
type largeError struct {
	response *http.Response
	inner    error
}

func (e *largeError) Error() string { return "large: " + e.inner.Error() }
func (e *largeError) Unwrap() error { return e.inner }

// The text of a lineError is a part of a header line, as in some errors of
// net/http.
type lineError struct{ part string }

func (e *lineError) Error() string { return "malformed: " + e.part }

func largeCert() *x509.Certificate {
	c := &x509.Certificate{Raw: make([]byte, 256<<10), NotAfter: time.Now()}
	for i := range 100 {
		c.DNSNames = append(c.DNSNames, fmt.Sprintf("%0200d.example", i))
	}
	return c
}

func TestCompact(t *testing.T) {
	refused := &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{IP: net.IPv4(
		127,
		0,
		0,
		1,
	), Port: 80}, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	expired := x509.CertificateInvalidError{Cert: largeCert(), Reason: x509.Expired, Detail: "yesterday"}
	for _, tt := range []struct {
		name  string
		err   error
		is    []error
		isNot []error
		text  string // of the result; "" means that nothing is kept
	}{
		{"nil", nil, nil, nil, ""},
		{
			name: "a sentinel",
			err:  fmt.Errorf("reading robots.txt: %w", io.ErrUnexpectedEOF),
			is:   []error{io.ErrUnexpectedEOF},
			text: "unexpected EOF",
		},
		{
			name: "a system call",
			err:  refused,
			is:   []error{syscall.ECONNREFUSED},
			text: "dial tcp 127.0.0.1:80: connect: connection refused",
		},
		{
			name: "behind an error that refers to a response",
			err:  &largeError{new(http.Response), refused},
			is:   []error{syscall.ECONNREFUSED},
			text: refused.Error(),
		},
		{
			name: "an error that refers to a response, alone",
			err:  &largeError{new(http.Response), &lineError{"x"}},
		},
		{
			name: "the DNS",
			err:  &net.DNSError{Err: "no such host", Name: "a.example", IsNotFound: true},
			text: "lookup a.example: no such host",
		},
		{
			name: "two errors",
			err:  errors.Join(refused, io.EOF),
			is:   []error{syscall.ECONNREFUSED, io.EOF},
			text: refused.Error() + "\nEOF",
		},
		{"an expired certificate", &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{largeCert()}, Err: expired},
			nil, nil, "tls: failed to verify certificate: x509: certificate has expired or is not yet valid: yesterday"},
		{
			name: "a certificate of an unknown kind of error",
			err:  &tls.CertificateVerificationError{Err: &lineError{"x"}},
			text: "tls: failed to verify certificate: malformed: x",
		},
		{
			name: "a refused address",
			err:  &net.OpError{Op: "dial", Net: "tcp", Err: errAddress},
			is:   []error{address.ErrRefused, http.ErrNotSupported},
			text: "dial tcp: " + errAddress.Error(),
		},
		{"a timeout of the network", &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded},
			[]error{os.ErrDeadlineExceeded}, []error{context.DeadlineExceeded}, "dial tcp: i/o timeout"},
		{"a deadline of a context", &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded},
			[]error{os.ErrDeadlineExceeded}, []error{context.DeadlineExceeded}, "dial tcp: i/o timeout"},
		{
			name:  "a canceled context",
			err:   fmt.Errorf("x: %w", context.Canceled),
			isNot: []error{context.Canceled},
		},
		{"a nil pointer", &largeError{inner: (*nothing)(nil)}, nil, nil, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := compact(tt.err)
			if got == nil {
				if tt.text != "" {
					t.Errorf("compact = nil, want %q", tt.text)
				}
				return
			}
			if got.Error() != tt.text {
				t.Errorf("compact = %s\n   want %s", got, tt.text)
			}
			for _, target := range tt.is {
				if !errors.Is(got, target) {
					t.Errorf("errors.Is of the result and %v returns false, want true", target)
				}
			}
			for _, target := range tt.isNot {
				if errors.Is(got, target) {
					t.Errorf("errors.Is of the result and %v returns true, want false", target)
				}
			}
		})
	}
}

// A nil *nothing is an error, too.
type nothing struct{}

func (*nothing) Error() string { return "nothing" }

// The errors that a record keeps take no more memory than its Cost counts, and
// refer to no other memory. A server chooses the certificate and the header
// lines that errors refer to: a certificate may have 256 KiB, and a status line
// 1 MB.
func TestMemoryOfErrors(t *testing.T) {
	const n = 20
	hostname := func() error {
		return &tls.CertificateVerificationError{UnverifiedCertificates: []*x509.Certificate{largeCert()},
			Err: x509.HostnameError{Certificate: largeCert(), Host: strings.Repeat("h", 253)}}
	}
	for name, fresh := range map[string]func() error{
		"a host name": hostname,
		"an expired certificate": func() error {
			return x509.CertificateInvalidError{Cert: largeCert(), Reason: x509.Expired, Detail: strings.Repeat(
				"d",
				1<<20,
			)}
		},
		"an unknown authority": func() error { return x509.UnknownAuthorityError{Cert: largeCert()} },
		"a response": func() error {
			return &largeError{
				response: &http.Response{Status: strings.Repeat("s", 1<<20)},
				inner:    &net.OpError{Op: "read", Err: syscall.ECONNRESET},
			}
		},
		"a part of a line": func() error { return &lineError{strings.Repeat("l", 1<<20)[:10]} },
		"a long text":      func() error { return errors.New(strings.Repeat("l", 1<<20)) },
		"a long name": func() error {
			return &net.DNSError{Err: "no such host", Name: strings.Repeat(
				"n",
				1<<20,
			)}
		},
		"many errors": func() error {
			var all []error
			for range 4 {
				all = append(all, hostname())
			}
			return errors.Join(all...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			records := make([]*Record, n)
			before := testmain.Heap()
			var cost int64
			for i := range records {
				records[i] = (*Record)(nil).AfterError("", time.Now(), 0, fresh(), 0)
				cost += records[i].Cost()
			}
			grown := testmain.Heap() - before
			if grown > cost+4096 {
				t.Errorf("%d records take %d bytes, want at most their Cost, %d", n, grown, cost)
			}
			runtime.KeepAlive(records)
		})
	}
}

// A refused address does not count as a failed fetch. The pause after it does
// not become longer, and a site whose address is refused for 30 days does not
// count as unreachable for 30 days.
func TestRefusedAddressIsNoFailure(t *testing.T) {
	now := time.Now()
	var rec *Record
	for i := range 100 {
		rec = rec.AfterError("http://a.example/robots.txt", now, 0, errAddress, time.Hour)
		f := rec.Failure
		isFirst := f.Count == 0 && f.Since.Equal(now) && f.Retry.Sub(now) == time.Minute
		if !isFirst || !f.AddressRefused() || f.Cause != errAddress.Text {
			t.Fatalf("fetch %d: Failure is %+v, want no count and a pause of a minute", i, f)
		}
		now = now.Add(24 * time.Hour)
	}
	if f := rec.Failed("", now, 503, "", 0).Failure; f.Count != 1 || f.AddressRefused() {
		t.Errorf("after a failed fetch: Failure is %+v, want a count of 1", f)
	}
}

// A stored record contains only the text of an error, which Decode returns
// unchanged.
func TestErrorsAreNotStored(t *testing.T) {
	const name = "http://a.example"
	k := &Kind{Tokens: []string{"ExampleBot"}}
	rec := (*Record)(nil).AfterError(name+"/robots.txt", time.Now(), 0, syscall.ECONNREFUSED, 0)
	got, err := k.Decode(name, k.Encode(name, rec, nil))
	if err != nil {
		t.Fatal(err)
	}
	if rec.Failure.Err == nil || got.Failure.Err != nil || got.Failure.Cause != "connection refused" {
		t.Errorf("Decode of %+v = %+v, want the Cause without the error", rec.Failure, got.Failure)
	}
}

// The cause does not repeat the host of the robots.txt. The name of another
// host, such as a proxy's, is kept.
func TestDescribe(t *testing.T) {
	lookup := func(name, server string, found bool) error {
		return fmt.Errorf("proxyconnect tcp: %w", &net.OpError{Op: "dial", Net: "tcp",
			Err: &net.DNSError{Err: "server misbehaving", Name: name, Server: server, IsNotFound: !found}})
	}
	for _, tt := range []struct {
		err  error
		want string
	}{
		{lookup("a.example", "", false), "server misbehaving"},
		{
			err:  lookup("A.example.", "192.0.2.1:53", true),
			want: "server misbehaving, from the DNS server 192.0.2.1:53",
		},
		{lookup("a.example", "192.0.2.1:53", false), "server misbehaving"},
		{
			err:  lookup("proxy.example", "", false),
			want: "proxyconnect tcp: dial tcp: lookup proxy.example: server misbehaving",
		},
		{&net.OpError{Op: "dial", Err: errAddress}, errAddress.Text},
		{io.ErrUnexpectedEOF, "unexpected EOF"},
	} {
		if got := describe("https://a.example:8443/robots.txt", tt.err); got != tt.want {
			t.Errorf("describe(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// The error of address.Control contains the address even if the error of the
// function does not.
func TestAddressErrorNamesTheAddress(t *testing.T) {
	control := address.Control("RefuseAddress", func(netip.Addr) error { return errors.New("no") })
	if err := control("tcp6", "[::ffff:10.0.0.1]:80", nil); err == nil || err.Error() != "robotsmw: RefuseAddress refuses the address: 10.0.0.1: no" {
		t.Errorf("the error of Control is %v, want the option, the address and the text of f", err)
	}
}
