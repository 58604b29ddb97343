package collyrobots

import (
	"errors"
	"fmt"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// ErrBypassed is the error of a request that was not sent because the extension
// could not have checked it. It is wrapped by the errors that colly returns:
// use errors.Is to test for it. There are two causes:
//
//   - A transport was set that hides addresses from Options.RefuseAddress: it
//     has a dial function of its own, or is not an *http.Transport. All
//     requests fail until another transport is set.
//   - A transport was set while the request was about to be sent. A Retry of
//     the request goes through the extension.
var ErrBypassed = errors.New("collyrobots: the request was not sent, because the extension could not have checked it")

// errReplaced is the cancellation cause of each sealed context.
var errReplaced = fmt.Errorf("%w: a transport was set while the request was about to be sent", ErrBypassed)

// errHidden is the error of a transport that hides addresses from
// Options.RefuseAddress.
var errHidden = fmt.Errorf("%w: the transport of the collector "+
	"(set by SetProxy, SetProxyFunc, SetClient, WithTransport or Appengine) dials addresses that Options.RefuseAddress cannot check: "+
	"give it a net.Dialer{Control: robotsmw.DialControl(f)} and pass the transport to Attach as Options.Base, "+
	"or the proxy as Options.Proxy", ErrBypassed)

// errNoResponse is the error for a RoundTripper that violates its contract.
var errNoResponse = errors.New("collyrobots: the collector's transport returned neither a response nor an error")

// blockedError is a *robotsmw.DisallowedError for which errors.Is(err,
// colly.ErrRobotsTxtBlocked) is true.
type blockedError struct{ *robotsmw.DisallowedError }

func (e *blockedError) Unwrap() error { return e.DisallowedError }

func (e *blockedError) Is(target error) bool { return target == colly.ErrRobotsTxtBlocked }
