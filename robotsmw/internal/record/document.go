package record

import (
	"crypto/sha256"
	"slices"
	"strings"
	"sync"

	"github.com/goodbots/courtesy/internal/bodycode"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Document is the part of a robots.txt that a crawler needs: its rules and
// its Sitemap lines. It keeps the text only with Options.KeepFiles. Origins
// with the same file share one Document, because many sites use the default
// file of their software.
type Document struct {
	Hash  [sha256.Size]byte
	Rules *robotstxt.Rules
	File  *robotstxt.File // nil without Options.KeepFiles

	sitemaps *sitemapList // nil if there are no Sitemap lines, or File has them
	cached   int          // how many origins in the cache have it; guarded by Documents.mu
}

// Cost returns roughly how many bytes of memory a document takes.
func (d *Document) Cost() int64 {
	n := 160 + d.Rules.Size() + d.sitemaps.cost()
	if d.File != nil {
		n += d.File.Size()
	}
	return int64(n)
}

// Sitemaps returns the values of the document's Sitemap lines, in order and
// within the limits. The result is the same with and without
// Options.KeepFiles. It shares no memory with the document.
func (d *Document) Sitemaps() []string {
	var values []string
	switch {
	case d.File != nil:
		values = limitedSitemaps(d.File)
	case d.sitemaps != nil:
		values = slices.Clone(d.sitemaps.values)
	}
	for i := range values {
		values[i] = strings.Clone(values[i])
	}
	return values
}

// Documents holds the documents in the cache, by hash.
type Documents struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*Document
}

// document returns what a crawler with these product tokens needs of a
// robots.txt. If the cache already has the document with this hash, that
// document is returned.
func (ds *Documents) document(
	hash [sha256.Size]byte, body []byte, tokens []string, keepFile bool,
) *Document {
	ds.mu.Lock()
	d := ds.byHash[hash]
	ds.mu.Unlock()
	if d != nil {
		return d
	}
	f := robotstxt.Parse(bodycode.Text(body, robotstxt.MaxSize))
	d = &Document{Hash: hash, Rules: f.Rules(tokens...)}
	if keepFile {
		d.File = f
	} else {
		d.sitemaps = newSitemapList(f)
	}
	return d
}

// Add adds one to the number of origins in the cache that have the document. It
// returns how many bytes the cache grows by.
func (ds *Documents) Add(d *Document) int64 {
	if d == nil {
		return 0
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d.cached++
	if d.cached > 1 {
		return 0
	}
	if ds.byHash == nil {
		ds.byHash = make(map[[sha256.Size]byte]*Document)
	}
	if ds.byHash[d.Hash] == nil {
		ds.byHash[d.Hash] = d
	}
	return d.Cost()
}

// Remove undoes one Add, and returns how many bytes the cache shrinks by.
func (ds *Documents) Remove(d *Document) int64 {
	if d == nil {
		return 0
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	d.cached--
	if d.cached > 0 {
		return 0
	}
	if ds.byHash[d.Hash] == d {
		delete(ds.byHash, d.Hash)
	}
	return d.Cost()
}
