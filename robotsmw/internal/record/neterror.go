package record

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"net"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/internal/address"
)

// describe returns the text of the error that ended a fetch of the robots.txt
// at robotsURL. The text names neither the host of that URL nor the steps that
// led to an error of the DNS or to a refused address.
func describe(robotsURL string, err error) string {
	if refused, ok := errors.AsType[*address.Error](err); ok {
		return refused.Text
	}
	if dns, ok := errors.AsType[*net.DNSError](err); ok && IsHost(robotsURL, dns.Name) {
		if dns.Server != "" && !dns.IsNotFound {
			return dns.Err + ", from the DNS server " + dns.Server
		}
		return dns.Err
	}
	return err.Error()
}

// IsHost reports whether name, the name in a DNS error, is the host of a URL.
// If not, the error concerns the host of a proxy or of a redirect.
func IsHost(rawURL, name string) bool {
	u, err := url.Parse(rawURL)
	if err != nil {
		return false
	}
	return strings.EqualFold(strings.TrimSuffix(u.Hostname(), "."), strings.TrimSuffix(name, "."))
}

// The limits of the errors that a record keeps.
const (
	maxErrorDepth = 16  // how many errors are unwrapped, one in another
	maxErrors     = 2   // how many branches of an error are kept
	maxErrorText  = 300 // bytes of each string
	maxCertNames  = 4   // names of each kind that a kept certificate has
)

// compact returns the errors in err that a record keeps, or nil if it keeps
// none. They are for errors.Is and errors.As. The text of err is kept as
// Failure.Cause. An error may refer to a request, a connection, a chain of
// certificates or a header line of megabytes, and a cache has many records.
// Therefore compact keeps only these errors:
//
//   - copies of the network errors of the standard library, without what they
//     refer to. A certificate keeps only its dates and some of its names.
//   - errors that consist of nothing but numbers, such as a syscall.Errno, and
//     short results of errors.New.
//   - an [*address.Error], unchanged: the caller's own function made its Err.
//     The error of robotsmw.PublicOnly is kept too.
//
// Other errors are replaced by the errors that they wrap.
//
// A timeout becomes os.ErrDeadlineExceeded. The errors of contexts are not
// kept, because a fetch belongs to no caller: errors.Is with
// context.DeadlineExceeded or context.Canceled should return true only if the
// caller's own context has ended.
func compact(err error) error { return compactAt(err, 0) }

func compactAt(err error, depth int) error {
	if err == nil || depth == maxErrorDepth {
		return nil
	}
	if address.IsRefusal(err) {
		return err
	}
	switch e := err.(type) {
	case *net.OpError:
		inner := compactAt(e.Err, depth+1)
		if inner == nil {
			return nil
		}
		return &net.OpError{
			Op:     short(e.Op),
			Net:    short(e.Net),
			Source: compactAddr(e.Source),
			Addr:   compactAddr(e.Addr),
			Err:    inner,
		}
	case *net.DNSError:
		dns := *e
		dns.UnwrapErr = compactAt(e.UnwrapErr, depth+1)
		dns.Err, dns.Name, dns.Server = short(e.Err), short(e.Name), short(e.Server)
		return &dns
	case *os.SyscallError:
		inner := compactAt(e.Err, depth+1)
		if inner == nil {
			return nil
		}
		return &os.SyscallError{Syscall: short(e.Syscall), Err: inner}
	case *tls.CertificateVerificationError:
		inner := compactAt(e.Err, depth+1)
		if inner == nil {
			inner = errors.New(short(e.Err.Error()))
		}
		return &tls.CertificateVerificationError{Err: inner}
	case x509.HostnameError:
		return x509.HostnameError{Certificate: compactCert(e.Certificate), Host: short(e.Host)}
	case x509.CertificateInvalidError:
		return x509.CertificateInvalidError{
			Cert:   compactCert(e.Cert),
			Reason: e.Reason,
			Detail: short(e.Detail),
		}
	case x509.UnknownAuthorityError:
		return x509.UnknownAuthorityError{Cert: compactCert(e.Cert)}
	}
	if inner := compactWrapped(err, depth); inner != nil {
		return inner
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return os.ErrDeadlineExceeded
	}
	if isPlain(err) && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// compactWrapped returns what compact keeps of the errors that err wraps.
func compactWrapped(err error, depth int) error {
	var wrapped []error
	switch e := err.(type) {
	case interface{ Unwrap() error }:
		wrapped = []error{e.Unwrap()}
	case interface{ Unwrap() []error }:
		wrapped = e.Unwrap()
	}
	var kept []error
	for _, inner := range wrapped[:min(len(wrapped), maxErrors)] {
		if inner = compactAt(inner, depth+1); inner != nil {
			kept = append(kept, inner)
		}
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return errors.Join(kept...)
}

// isPlain reports whether an error keeps nothing else in memory: it consists
// only of booleans and numbers, or it is a short result of errors.New. A string
// in an error of another type may be a small part of a long header line, and
// would keep the whole line.
func isPlain(err error) bool {
	v := reflect.ValueOf(err)
	if v.Type() == textErrorType {
		return len(err.Error()) <= maxErrorText
	}
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	if v.Kind() != reflect.Struct {
		return isNumber(v)
	}
	for _, field := range v.Fields() {
		if !isNumber(field) {
			return false
		}
	}
	return true
}

var textErrorType = reflect.TypeOf(errors.New(""))

// isNumber reports whether v is a number or a boolean. It returns false for the
// zero Value.
func isNumber(v reflect.Value) bool {
	return v.Kind() == reflect.Bool || v.CanInt() || v.CanUint() || v.CanFloat()
}

// short returns a copy of a text, cut to maxErrorText bytes.
func short(text string) string {
	return strings.Clone(text[:min(len(text), maxErrorText)])
}

// compactAddr returns a copy of an address of TCP or UDP. Other addresses may
// refer to anything, so it returns nil for them.
func compactAddr(addr net.Addr) net.Addr {
	switch a := addr.(type) {
	case *net.TCPAddr:
		return &net.TCPAddr{IP: slices.Clone(a.IP), Port: a.Port, Zone: short(a.Zone)}
	case *net.UDPAddr:
		return &net.UDPAddr{IP: slices.Clone(a.IP), Port: a.Port, Zone: short(a.Zone)}
	}
	return nil
}

var subjectAltName = []int{2, 5, 29, 17} // RFC 5280 §4.2.1.6

// compactCert returns the part of a certificate that the messages of x509
// contain: its dates, its common name, and the first of its other names.
func compactCert(c *x509.Certificate) *x509.Certificate {
	if c == nil {
		return nil
	}
	kept := &x509.Certificate{
		NotBefore: c.NotBefore,
		NotAfter:  c.NotAfter,
		Subject:   pkix.Name{CommonName: short(c.Subject.CommonName)},
		Issuer:    pkix.Name{CommonName: short(c.Issuer.CommonName)},
	}
	for _, name := range c.DNSNames[:min(len(c.DNSNames), maxCertNames)] {
		kept.DNSNames = append(kept.DNSNames, short(name))
	}
	for _, ip := range c.IPAddresses[:min(len(c.IPAddresses), maxCertNames)] {
		kept.IPAddresses = append(kept.IPAddresses, slices.Clone(ip))
	}
	for _, ext := range c.Extensions {
		if ext.Id.Equal(subjectAltName) {
			kept.Extensions = []pkix.Extension{{Id: subjectAltName}}
			break
		}
	}
	return kept
}

// errorCost returns a rough upper bound of the bytes of memory that a result of
// compact takes. It is 0 for nil.
func errorCost(err error) int {
	if err == nil {
		return 0
	}
	const plain, withCert = 2 << 10, 8 << 10
	_, isName := errors.AsType[x509.HostnameError](err)
	_, isInvalid := errors.AsType[x509.CertificateInvalidError](err)
	_, isUnknown := errors.AsType[x509.UnknownAuthorityError](err)
	if isName || isInvalid || isUnknown {
		return withCert
	}
	return plain
}
