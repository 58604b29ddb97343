package robotsmw

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"github.com/goodbots/courtesy/politeness"
)

// base is what carries requests: the caller's Base, or the default
// transport with the caller's proxy and address check, paced by the Limiter
// if there is one.
func (o Options) base() (http.RoundTripper, error) {
	base := o.Base
	switch {
	case base != nil && o.Proxy != nil:
		return nil, errors.New("robotsmw: both Base and Proxy are set: set the Proxy of your Base (http.Transport.Proxy) instead")
	case base != nil && o.RefuseAddress != nil:
		return nil, errors.New("robotsmw: both Base and RefuseAddress are set: give your Base a net.Dialer{Control: robotsmw.DialControl(f)} instead")
	case base == nil && o.Proxy == nil && o.RefuseAddress == nil:
		base = http.DefaultTransport
	case base == nil:
		t, ok := http.DefaultTransport.(*http.Transport)
		if !ok {
			return nil, fmt.Errorf("robotsmw: http.DefaultTransport is a %T, so Proxy and RefuseAddress cannot be applied to it: set Base", http.DefaultTransport)
		}
		t = t.Clone()
		if o.Proxy != nil {
			t.Proxy = o.Proxy
		}
		if o.RefuseAddress != nil {
			d := &net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second, Control: DialControl(o.RefuseAddress)}
			t.DialContext = d.DialContext
		}
		base = t
	}
	if o.Limiter == nil {
		return base, nil
	}
	if p, ok := base.(*politeness.Transport); ok && p.Limiter == o.Limiter {
		return nil, errors.New("robotsmw: Base already paces with this Limiter, so every request would wait twice: leave Options.Limiter nil")
	}
	return &politeness.Transport{Base: base, Limiter: o.Limiter, AttemptTimeout: o.AttemptTimeout}, nil
}

// DialControl makes a net.Dialer.Control of f: each address about to be
// connected to is shown to f, whose error refuses it. Options.RefuseAddress
// uses it; a caller with an http.Transport of their own sets it there.
func DialControl(f func(netip.Addr) error) func(network, address string, _ syscall.RawConn) error {
	return func(_, address string, _ syscall.RawConn) error {
		ap, err := netip.ParseAddrPort(address)
		if err != nil {
			return fmt.Errorf("robotsmw: dialing %s, which is no IP address: %w", address, err)
		}
		return f(ap.Addr().Unmap())
	}
}

// PublicOnly is an Options.RefuseAddress that refuses every address which is
// not on the public internet: loopback, private, link-local, multicast,
// unspecified, and those reserved for carrier-grade NAT (RFC 6598).
func PublicOnly(addr netip.Addr) error {
	addr = addr.Unmap()
	if !addr.IsGlobalUnicast() || addr.IsPrivate() || carrierNAT.Contains(addr) {
		return fmt.Errorf("robotsmw: %s is not a public address", addr)
	}
	return nil
}

var carrierNAT = netip.MustParsePrefix("100.64.0.0/10")
