package robotsmw

import (
	"errors"
	"net"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/internal/address"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// For a *DisallowedError, errors.Is returns true with exactly one of these
// values.
var (
	// ErrDisallowed: robots.txt, Options.Override or Options.DisallowForbidden
	// forbids the URL.
	ErrDisallowed = errors.New("robotsmw: disallowed by robots.txt")

	// ErrUnreachable: robots.txt cannot be fetched, so everything is disallowed
	// for now (RFC 9309 §2.3.1.4). The URL may be tried again at
	// Decision.NextTry.
	ErrUnreachable = errors.New("robotsmw: robots.txt is unreachable")

	// ErrAddressRefused: Options.RefuseAddress, DialControl or PublicOnly
	// refused the address that a request would have been sent to, so no
	// connection was made. errors.Is returns true for a page, for the
	// robots.txt that it needs, and for the target of a redirect of either. For
	// a page or its redirect, the error is a *DisallowedError only if
	// robots.txt was needed first, which is the case unless a record of it is
	// in memory or in the Store, or there is an Override.
	//
	// A refused address is not ErrUnreachable, because the crawler's own
	// configuration is the reason, not the site. It does not count as a failed
	// fetch: it is not stored in Options.Store, and does not count toward
	// AllowAfter30Days. The name is looked up again at Decision.NextTry, one
	// minute later, because its address may have changed.
	ErrAddressRefused = address.ErrRefused
)

// DisallowedError is what RoundTrip returns for a URL that may not be fetched.
// The request was not sent. errors.AsType[*DisallowedError] finds it, also in
// the *url.Error of an http.Client.
//
// If robots.txt could not be fetched, errors.Is and errors.AsType also find the
// reason, as long as the failure is in memory: a *net.DNSError, a *net.OpError,
// a syscall.Errno such as syscall.ECONNREFUSED, a
// *tls.CertificateVerificationError, an x509.HostnameError or other error of
// x509, and the error that Options.RefuseAddress returned. They are copies
// without the parts that are large: a certificate has only its dates and some
// of its names. A timeout is os.ErrDeadlineExceeded. It is never
// context.DeadlineExceeded, unless RefuseAddress returned that, because the
// fetch belongs to no caller: see Checker.Check for the end of a caller's
// context. If the failure comes from a Store, only the text of Decision.Cause
// is known.
//
// For a Decision of Checker.Check, make a DisallowedError of it to use
// errors.Is and errors.AsType.
type DisallowedError struct {
	Decision Decision
}

// Error returns the reason why the URL may not be fetched. If robots.txt could
// not be fetched, the text begins with that, and includes the cause and the
// time of the next try. Error leaves the URL out, because the *url.Error of an
// http.Client names it. Decision.String names it too.
func (e *DisallowedError) Error() string {
	d := &e.Decision
	if d.Reason == Unreachable {
		return "robotsmw: robots.txt of " + printable(strings.TrimSuffix(d.RobotsURL, "/robots.txt")+" "+d.failure(e.hint()))
	}
	file := d.RobotsURL
	if d.URL != nil && strings.EqualFold(file, d.URL.Scheme+"://"+d.URL.Host+"/robots.txt") {
		file = "robots.txt"
	}
	return "robotsmw: disallowed: " + printable(d.why(file))
}

// hint returns what the user can do about an unreachable robots.txt, or "" if
// it is not known.
func (e *DisallowedError) hint() string {
	dns, ok := errors.AsType[*net.DNSError](e.Decision.err)
	if ok && dns.IsNotFound && record.IsHost(e.Decision.RobotsURL, dns.Name) {
		return "; check the spelling of the host name"
	}
	return ""
}

// Is reports whether target is the error for the decision's reason:
// ErrUnreachable or ErrAddressRefused for Unreachable, and ErrDisallowed for
// any other.
func (e *DisallowedError) Is(target error) bool {
	switch {
	case e.Decision.Reason != Unreachable:
		return target == ErrDisallowed
	case errors.Is(e.Decision.err, ErrAddressRefused):
		return target == ErrAddressRefused
	}
	return target == ErrUnreachable
}

// Unwrap returns the error that ended the fetch of robots.txt, in the form that
// DisallowedError describes. It returns nil if robots.txt was fetched, if its
// status or its content is what makes it unreachable, or if the error is no
// longer in memory.
func (e *DisallowedError) Unwrap() error { return e.Decision.err }

// Timeout returns false, even if a timeout made robots.txt unreachable. Many
// callers repeat a request at once after a timeout, which would not help here.
func (e *DisallowedError) Timeout() bool { return false }
