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
	whole  sync.Map // keys: pages to request without conditions
}

// openRevisits opens the directory that has what a crawler with this User-Agent
// remembers of pages.
func openRevisits(dir, userAgent string, logger *slog.Logger) (*revisits, error) {
	if dir == "" {
		return nil, nil
	}
	store, err := diskstore.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("-revisit: %w", err)
	}
	robot := sha256.Sum256([]byte(userAgent))
	return &revisits{store: &robotStore{store, hex.EncodeToString(robot[:16]) + " "}, logger: logger}, nil
}

// A robotStore is the part of a Store that belongs to one robot. The directives
// of a page may differ from robot to robot, and validators are for the page
// that this robot was served.
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

// around puts a revisit.Transport around the robots transport.
func (r *revisits) around(robots http.RoundTripper) http.RoundTripper {
	if r == nil {
		return robots
	}
	return &revisit.Transport{Base: robots, Store: r.store, Logger: r.logger}
}

// keptLinks are the targets of the links of a page, as absolute URLs.
type keptLinks struct {
	Follow []string `json:"follow"`
	Leave  []string `json:"leave"` // not to be followed
}

// keep stores the links of a page that was fetched.
func (r *revisits) keep(url string, links keptLinks) {
	if r == nil {
		return
	}
	r.whole.Delete(url)
	text, err := json.Marshal(links)
	if err == nil {
		err = r.store.Put(context.Background(), "links "+url, text, 10*365*24*time.Hour)
	}
	if err != nil { // the next crawl requests the whole page
		r.logger.Warn("the links of a page are not kept", "url", url, "error", err)
	}
}

// recall returns the links of a page that has not changed. If they are not
// known, it returns false, and the next request is unconditional.
func (r *revisits) recall(url string) (links keptLinks, ok bool) {
	if r == nil {
		return keptLinks{}, false
	}
	text, err := r.store.Get(context.Background(), "links "+url)
	if err == nil && json.Unmarshal(text, &links) == nil {
		return links, true
	}
	r.whole.Store(url, true)
	return keptLinks{}, false
}

// header returns the header of a request for a page. It prevents a conditional
// request if whole is true or the links of the page are not known.
func (r *revisits) header(url string, whole bool) http.Header {
	if r == nil {
		return nil
	}
	if _, unknown := r.whole.Load(url); whole || unknown {
		return http.Header{"Cache-Control": {"no-store"}}
	}
	return nil
}
