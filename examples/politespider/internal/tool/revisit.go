package tool

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/goodbots/courtesy/robotsmw/diskstore"
	"github.com/goodbots/courtesy/robotsmw/revisit"
)

// revisits stores pages for the next crawl: their validators, directives and
// links. A nil *revisits stores nothing.
type revisits struct {
	store  revisit.Store
	logger *slog.Logger

	// The keys are the URLs of pages to request without conditions, because
	// their links are not known.
	unconditional sync.Map
}

// openRevisits opens the directory in which crawls with this User-Agent store
// pages. If dir is "", it returns nil.
func openRevisits(dir, userAgent string, logger *slog.Logger) (*revisits, error) {
	if dir == "" {
		return nil, nil
	}
	store, err := diskstore.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("-revisit: %w", err)
	}
	robot := sha256.Sum256([]byte(userAgent))
	prefix := hex.EncodeToString(robot[:16]) + " "
	return &revisits{store: &robotStore{store, prefix}, logger: logger}, nil
}

// A robotStore is the part of a Store that belongs to one robot. Robots do not
// share stored pages, because the directives of a page may differ from robot to
// robot, and validators are for the page that this robot received.
type robotStore struct {
	store  *diskstore.Store
	prefix string // of the keys
}

func (s *robotStore) Get(ctx context.Context, key string) ([]byte, error) {
	return s.store.Get(ctx, s.prefix+key)
}

func (s *robotStore) Put(ctx context.Context, key string, value []byte, ttl time.Duration) error {
	return s.store.Put(ctx, s.prefix+key, value, ttl)
}

func (s *robotStore) Delete(ctx context.Context, key string) error {
	return s.store.Delete(ctx, s.prefix+key)
}

// wrap returns a revisit.Transport around the robots transport.
func (r *revisits) wrap(robots http.RoundTripper) http.RoundTripper {
	if r == nil {
		return robots
	}
	return &revisit.Transport{Base: robots, Store: r.store, Logger: r.logger}
}

// storedLinks are the targets of the links of a page, as absolute URLs.
type storedLinks struct {
	Follow    []string `json:"follow"`
	NotFollow []string `json:"leave"` // because of nofollow
}

// linksLifetime is how long the links of a page are stored.
const linksLifetime = 10 * 365 * 24 * time.Hour

// storeLinks stores the links of a page that was fetched.
func (r *revisits) storeLinks(url string, links storedLinks) {
	if r == nil {
		return
	}
	r.unconditional.Delete(url)
	text, err := json.Marshal(links)
	if err == nil {
		err = r.store.Put(context.Background(), "links "+url, text, linksLifetime)
	}
	if err != nil { // the next crawl requests the whole page
		r.logger.Warn("the links of a page could not be stored", "url", url, "error", err)
	}
}

// loadLinks returns the links of a page that has not changed. If they are not
// known, it returns false, and the next request is unconditional.
func (r *revisits) loadLinks(url string) (links storedLinks, ok bool) {
	if r == nil {
		return storedLinks{}, false
	}
	text, err := r.store.Get(context.Background(), "links "+url)
	if err == nil && json.Unmarshal(text, &links) == nil {
		return links, true
	}
	r.unconditional.Store(url, true)
	return storedLinks{}, false
}

// header returns the header of a request for a page. The header prevents a
// conditional request if unconditional is true or the links of the page are not
// known.
func (r *revisits) header(url string, unconditional bool) http.Header {
	if r == nil {
		return nil
	}
	if _, unknown := r.unconditional.Load(url); unconditional || unknown {
		return http.Header{"Cache-Control": {"no-store"}}
	}
	return nil
}
