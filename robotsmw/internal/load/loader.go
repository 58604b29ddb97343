package load

import (
	"log/slog"
	"net/http"
	"time"

	"github.com/goodbots/courtesy/robotsmw/internal/cache"
	"github.com/goodbots/courtesy/robotsmw/internal/fetch"
	"github.com/goodbots/courtesy/robotsmw/internal/record"
	"github.com/goodbots/courtesy/robotsmw/internal/store"
)

// Config has the settings of a Loader. Its functions are called to report
// events.
type Config struct {
	Base       http.RoundTripper // makes the requests
	UserAgent  string
	Timeout    time.Duration     // of each request, not counting its wait for a slot
	Detect     fetch.Detect      // recognizes bot protection; nil means refusal.OfPage
	Kind       *record.Kind      // how files are read; its Documents belong to this Loader
	Store      store.Store       // nil means that records are kept only in memory
	Override   map[string]string // maps an origin to a robots.txt that is obeyed instead
	MaxOrigins int
	MaxBytes   int64
	Delay      time.Duration // the minimum time between two requests to a host; 0 means unknown
	Logger     *slog.Logger  // logs panics in Base

	Fetched     func(Fetch)
	Recalled    func(Fetch) // a stored record is used instead of a fetch
	StoreFailed func(op string, err error)
	Asked       func(robotsURL string, resp *http.Response, body []byte, err error) // may be nil
}

// A Fetch is one fetch of a robots.txt, redirects included.
type Fetch struct {
	URL      string         // of the origin's robots.txt
	Record   *record.Record // the record after the fetch
	Body     []byte         // the robots.txt that was fetched; nil means none
	Renewed  bool           // whether a 304 has confirmed the known copy
	Shared   bool           // whether a redirect led to an origin whose record was in memory
	Duration time.Duration  // from the start to the last byte, including the wait for a slot

	release func() // frees the slot of the last request; nil means it holds none
}

// free frees the slot of the last request.
func (f Fetch) free() {
	if f.release != nil {
		f.release()
	}
}

// A Loader loads records. It is safe for concurrent use.
type Loader struct {
	cfg       Config
	client    fetch.Client
	overrides map[string]*record.Record // by origin
	cache     *cache.Cache
	store     *store.Keeper // nil means none
}

// New returns a Loader.
func New(cfg Config) *Loader {
	l := &Loader{
		cfg: cfg,
		client: fetch.Client{
			Base:      cfg.Base,
			UserAgent: cfg.UserAgent,
			Timeout:   cfg.Timeout,
			Detect:    cfg.Detect,
			Logger:    cfg.Logger,
		},
		overrides: make(map[string]*record.Record),
		cache:     cache.New(cfg.MaxOrigins, cfg.MaxBytes, &cfg.Kind.Documents),
	}
	for name, text := range cfg.Override {
		l.overrides[name] = &record.Record{State: record.Override, Doc: cfg.Kind.Document([]byte(text))}
	}
	if cfg.Store != nil {
		l.store = store.New(cfg.Store, cfg.Timeout, cache.ShortWait, cfg.Kind, cfg.StoreFailed)
	}
	return l
}

func (l *Loader) recalled(f *cache.Flight, rec *record.Record) {
	l.cfg.Recalled(Fetch{URL: f.RobotsURL, Record: rec})
}
