// Package address rejects connections to addresses that a crawler's
// configuration excludes.
package address

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
	"time"
)

// ErrRefused is robotsmw.ErrAddressRefused. errors.Is(err, ErrRefused) is true
// for an [*Error].
var ErrRefused = errors.New("robotsmw: the address is refused")

// An Error is the error of a connection to a refused address.
type Error struct {
	Text string // contains the name of the option, the address and the text of Err
	Err  error  // what the function of the option returned
}

func (e *Error) Error() string { return "robotsmw: " + e.Text }

// Is reports whether target is [ErrRefused].
func (e *Error) Is(target error) bool { return target == ErrRefused }

// Unwrap returns the error of the option's function.
func (e *Error) Unwrap() error { return e.Err }

// Control returns a function for net.Dialer.Control that calls f with each
// address before the dialer connects to it. option is the name of f in the
// error.
func Control(
	option string, f func(netip.Addr) error,
) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("robotsmw: dialing %s, which is not an IP address: %w", address, err)
		}
		addr := ap.Addr().Unmap()
		err = f(addr)
		if err == nil {
			return nil
		}
		why := addr.String() + ": " + err.Error()
		if IsRefusal(err) { // the error of PublicOnly already contains the address
			why = strings.TrimPrefix(err.Error(), "robotsmw: ")
		}
		return &Error{Text: option + " refuses the address: " + why, Err: err}
	}
}

// Dialer returns a dialer for Options.RefuseAddress. Apart from f, it dials as
// http.DefaultTransport does.
func Dialer(f func(netip.Addr) error) *net.Dialer {
	return &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: Control(
		"RefuseAddress",
		f,
	)}
}

// IsRefusal reports whether err itself, and not an error that it wraps,
// indicates that an address was refused.
func IsRefusal(err error) bool {
	e, ok := err.(interface{ Is(error) bool })
	return ok && e.Is(ErrRefused)
}
