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
	Status      int // 0: none came
	Header      http.Header
	Body        []byte // of a 2xx, decoded, at most one byte more than is read of a file
	Conditional bool   // validators were sent
}

// RetryAfter is how long the server asks to be left alone; 0: it does not say.
func (a Answer) RetryAfter(now time.Time) time.Duration {
	d, _ := politeness.RetryAfter(a.Header, now)
	return d
}

// StatusText is the status for people, such as "status 503 Service Unavailable".
func (a Answer) StatusText() string {
	return strings.TrimSpace(fmt.Sprintf("status %d %s", a.Status, http.StatusText(a.Status)))
}

// IsRedirect reports whether the answer is a redirect that is followed.
func (a Answer) IsRedirect() bool {
	switch a.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther,
		http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// Target is where a redirect leads that came from a URL, if that is somewhere
// over http or https. User names and passwords are not passed on.
func (a Answer) Target(from *url.URL) (*url.URL, bool) {
	loc := a.Header.Get("Location")
	if loc == "" {
		return nil, false
	}
	u, err := from.Parse(loc)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, false
	}
	if _, err := origin.Of(u, ""); err != nil {
		return nil, false
	}
	u.Fragment, u.RawFragment, u.User = "", "", nil
	if u.Path == "" {
		u.Path = "/"
	}
	return u, true
}

// NamesHost reports whether a redirect says which host to ask, rather than
// being relative to the one that answered.
func (a Answer) NamesHost() bool {
	u, err := url.Parse(a.Header.Get("Location"))
	return err == nil && u.Host != ""
}
