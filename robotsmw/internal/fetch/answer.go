package fetch

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw/internal/origin"
)

// An Answer is one response to a Question.
type Answer struct {
	Status      int         // 0 means no response
	Header      http.Header // it may be large, so no part of it must be kept
	Body        []byte      // the decoded body of a 2xx; at most robotstxt.MaxSize plus one byte
	Conditional bool        // the request had validators
	Refusal     string      // describes the response of bot protection; "" means that the site responded
	release     func()
}

// Release closes the body of the response and releases the slot. It must be
// called after the record that is created from the Answer is in force, so that
// no request starts that the record disallows.
func (a Answer) Release() {
	if a.release != nil {
		a.release()
	}
}

// maxURLLength limits the URL of a redirect, in bytes.
const maxURLLength = 8 << 10

// RetryAfter returns the delay that the server requests, or 0 if it requests
// none.
func (a Answer) RetryAfter(now time.Time) time.Duration {
	d, _ := politeness.RetryAfter(a.Header, now)
	return d
}

// StatusText returns the status as text, such as "status 503 Service
// Unavailable".
func (a Answer) StatusText() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", a.Status, http.StatusText(a.Status)))
}

// IsRedirect reports whether the status is one of the redirects that robotsmw
// follows: 301, 302, 303, 307 or 308.
func (a Answer) IsRedirect() bool {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// RedirectURL returns the target of a redirect of the URL from, without user
// name and password. It returns false if there is no Location, or if the target
// is not a valid http or https URL of at most [maxURLLength] bytes.
func (a Answer) RedirectURL(from *url.URL) (*url.URL, bool) {
	loc := a.Header.Get("Location")
	if loc == "" || len(loc) > maxURLLength {
		return nil, false
	}
	u, err := from.Parse(loc)
	if err != nil || u.Host == "" {
		return nil, false
	}
	if u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	name, err := origin.Of(u, "")
	if err != nil {
		return nil, false
	}
	u.Host = origin.Host(name)
	u.Fragment = ""
	u.RawFragment = ""
	u.User = nil
	if u.Path == "" {
		u.Path = "/"
	}
	if len(u.String()) > maxURLLength {
		return nil, false
	}
	return u, true
}

// NamesHost reports whether the Location of a redirect contains a host. If not,
// the redirect leads to the same host.
func (a Answer) NamesHost() bool {
	u, err := url.Parse(a.Header.Get("Location"))
	return err == nil && u.Host != ""
}
