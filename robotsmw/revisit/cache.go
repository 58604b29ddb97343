package revisit

import (
	"context"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
)

// A cache stores an entry for each URL.
type cache interface {
	get(ctx context.Context, key string) cacheEntry

	// put replaces the entry, or removes it if e is zero, unless a request that
	// began later has already replaced it.
	put(key string, e cacheEntry, began time.Time)
}

// A cacheEntry contains the stored responses for a URL. The zero value contains
// none.
type cacheEntry struct {
	Page      *cachedResponse `json:"page,omitempty"`   // the latest 200
	Answer    *cachedResponse `json:"answer,omitempty"` // a later 301, 308, 404, 410 or 429 that is fresh
	Requested int64           `json:"asked"`            // when the latest request began, in Unix nanoseconds
}

func (e cacheEntry) responses() []*cachedResponse {
	var all []*cachedResponse
	if e.Page != nil {
		all = append(all, e.Page)
	}
	if e.Answer != nil {
		all = append(all, e.Answer)
	}
	return all
}

// fresh returns a response that may be reused for a request without sending it,
// or nil.
func (e cacheEntry) fresh(req *http.Request, now time.Time) *cachedResponse {
	if now.UnixNano() < e.Requested {
		return nil // the clock was set back
	}
	if !acceptsStored(req, time.Duration(now.UnixNano()-e.Requested)) {
		return nil
	}
	for _, r := range [...]*cachedResponse{e.Page, e.Answer} {
		if r.matches(req) && now.UnixNano() < r.Until {
			return r
		}
	}
	return nil
}

// acceptsStored reports whether the Cache-Control of a request permits a stored
// response of the given age.
func acceptsStored(req *http.Request, age time.Duration) bool {
	control := freshness.OfRequest(req.Header)
	if control.NoCache || req.Header.Get("Pragma") == "no-cache" {
		return false
	}
	return !control.Stated || age < control.Lifetime
}
