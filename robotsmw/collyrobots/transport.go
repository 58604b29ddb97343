package collyrobots

import (
	"errors"
	"net/http"

	"github.com/gocolly/colly/v2"

	"github.com/goodbots/courtesy/robotsmw"
)

// transport is what the collector gets: it says colly's words for what
// robotsmw.Transport decides. All enforcement is here, below every callback,
// because clones have the transport and not the callbacks.
type transport struct {
	inner *robotsmw.Transport
	agent string // Options.UserAgent
	count *counters
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme == probeScheme {
		return nil, errProbed // a probe has no body
	}
	if agent := first(req.Header, "User-Agent"); agent != t.agent && agent == collyAgent() { // of a clone made before Attach
		req = req.Clone(req.Context())
		req.Header.Del("User-Agent")
	}
	resp, err := t.inner.RoundTrip(req)
	if err == nil {
		t.count.fetched.Add(1)
		return resp, nil
	}
	if blocked, ok := errors.AsType[*robotsmw.DisallowedError](err); ok {
		if errors.Is(err, robotsmw.ErrUnreachable) {
			t.count.unreachable.Add(1)
		} else {
			t.count.disallowed.Add(1)
		}
		return nil, &blockedError{blocked}
	}
	return resp, err
}

func (t *transport) CloseIdleConnections() { t.inner.CloseIdleConnections() }

// blockedError is a *robotsmw.DisallowedError that colly's users know as
// colly.ErrRobotsTxtBlocked.
type blockedError struct{ *robotsmw.DisallowedError }

func (e *blockedError) Unwrap() error { return e.DisallowedError }

func (e *blockedError) Is(target error) bool { return target == colly.ErrRobotsTxtBlocked }
