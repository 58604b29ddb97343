package robotsmw

import (
	"errors"
	"net"
	"strings"

	"github.com/goodbots/courtesy/robotsmw/internal/address"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
)

// For each *DisallowedError, errors.Is finds exactly one of these errors.
var (
	// ErrDisallowed: robots.txt, Options.Override or Options.DisallowForbidden
	// forbids the URL.
	ErrDisallowed = errors.New("robotsmw: disallowed by robots.txt")

	// ErrUnreachable: robots.txt cannot be fetched, so everything is disallowed
	// for now (RFC 9309 §2.3.1.4). The caller should retry at Decision.NextTry.
	ErrUnreachable = errors.New("robotsmw: robots.txt is unreachable")

	// ErrAddressRefused: Options.RefuseAddress or DialControl refused the
	// address of the URL, of its robots.txt or of a redirect of either, so no
	// connection was made. The error is a *DisallowedError only if robots.txt
	// had to be fetched first.
	//
	// The reason is the crawler's own configuration and not the site, so the
	// error is not ErrUnreachable, is not kept in Options.Store, and does not
	// count toward AllowAfter30Days. The name is looked up again at
	// Decision.NextTry, one minute later.
	ErrAddressRefused = address.ErrRefused
)

// DisallowedError is the error of RoundTrip for a URL that may not be fetched.
// The request was not sent. errors.AsType[*DisallowedError] finds it, also in
// the *url.Error of an http.Client. Its reason is one of three:
//
//   - ErrDisallowed: robots.txt or an option forbids the URL.
//   - ErrUnreachable: the rules are not known now.
//   - ErrAddressRefused: the rules are not known, because Options.RefuseAddress
//     refused the address.
//
// If robots.txt is unreachable because of the network, errors.Is and
// errors.AsType also find the network error: a *net.DNSError, a *net.OpError, a
// syscall.Errno, a *tls.CertificateVerificationError, an error of x509, the
// error that Options.RefuseAddress returned, or, after a timeout,
// os.ErrDeadlineExceeded (not context.DeadlineExceeded, because the fetch
// belongs to no caller). These errors are copies without their large parts,
// such as most of a certificate. If the failure was loaded from a Store, only
// the text in Decision.Cause is known.
//
// A caller of Checker.Check can make a DisallowedError of the Decision, to use
// errors.Is and errors.AsType.
type DisallowedError struct {
	Decision Decision
}

// Error returns the reason why the URL may not be fetched. If robots.txt is
// unreachable, the text includes the cause and the time of the next try. It
// does not include the URL, which the *url.Error of an http.Client and
// Decision.String include.
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
	if e.Decision.Reason != Unreachable {
		return target == ErrDisallowed
	}
	if errors.Is(e.Decision.err, ErrAddressRefused) {
		return target == ErrAddressRefused
	}
	return target == ErrUnreachable
}

// Unwrap returns the error that ended the fetch of robots.txt, in the form that
// DisallowedError describes. It returns nil if robots.txt was fetched, if it is
// unreachable because of its status or content, or if the error is no longer in
// memory.
func (e *DisallowedError) Unwrap() error { return e.Decision.err }

// Timeout returns false, even if a timeout made robots.txt unreachable, because
// many callers retry immediately after a timeout, which would not help.
func (e *DisallowedError) Timeout() bool { return false }
