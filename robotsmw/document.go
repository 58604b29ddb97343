package robotsmw

import (
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// document is what a crawler needs of a robots.txt, and none of its text
// unless Options.KeepFiles asks for it.
// Origins with the same file share one: many sites leave the file that came
// with their software as it is.
type document struct {
	hash     [sha256.Size]byte
	size     int // of the body, in octets
	rules    *robotstxt.Rules
	sitemaps []string
	file     *robotstxt.File // nil without Options.KeepFiles

	cached int // origins in the cache that have it; guarded by documents.mu
}

// newDocument parses a body for the tokens of the crawler.
func newDocument(hash [sha256.Size]byte, body []byte, tokens []string, keepFile bool) *document {
	f := robotstxt.Parse(body)
	d := &document{hash: hash, size: len(body), rules: f.Rules(tokens...)}
	if keepFile {
		d.file = f
	}
	if s := f.Sitemaps(); len(s) > 0 {
		// A copy, because what Sitemaps gives are parts of the text.
		d.sitemaps = strings.Split(strings.Join(s, "\n"), "\n")
	}
	return d
}

// cost is roughly what a document takes in memory, in octets.
func (d *document) cost() int64 {
	n := 160 + d.rules.Size()
	for _, s := range d.sitemaps {
		n += 16 + len(s)
	}
	if d.file != nil {
		n += 2 * d.size // the text, and a record of each line
	}
	return int64(n)
}

// documents are those in the cache, by their hash.
type documents struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*document
}

// of is the document of a body: one in the cache, or a new one.
func (ds *documents) of(body []byte, tokens []string, keepFile bool) *document {
	hash := sha256.Sum256(body)
	ds.mu.Lock()
	d := ds.byHash[hash]
	ds.mu.Unlock()
	if d != nil {
		return d
	}
	return newDocument(hash, body, tokens, keepFile)
}

// add notes that one more origin in the cache has the document, and returns
// by how much that makes the cache grow.
func (ds *documents) add(d *document) int64 {
	if d == nil {
		return 0
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.cached++; d.cached > 1 {
		return 0
	}
	if ds.byHash == nil {
		ds.byHash = make(map[[sha256.Size]byte]*document)
	}
	if ds.byHash[d.hash] == nil {
		ds.byHash[d.hash] = d
	}
	return d.cost()
}

// remove is the opposite of add.
func (ds *documents) remove(d *document) int64 {
	if d == nil {
		return 0
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.cached--; d.cached > 0 {
		return 0
	}
	if ds.byHash[d.hash] == d {
		delete(ds.byHash, d.hash)
	}
	return d.cost()
}
