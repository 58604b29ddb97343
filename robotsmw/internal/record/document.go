package record

import (
	"crypto/sha256"
	"strings"
	"sync"

	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A Document is what a crawler needs of a robots.txt, and none of its text
// unless Options.KeepFiles asks for it.
// Origins with the same file share one: many sites leave the file that came
// with their software as it is.
type Document struct {
	Hash     [sha256.Size]byte
	Size     int // of the body, in bytes
	Rules    *robotstxt.Rules
	Sitemaps []string
	File     *robotstxt.File // nil without Options.KeepFiles

	cached int // origins in the cache that have it; guarded by Documents.mu
}

// newDocument parses a body for the tokens of the crawler.
func newDocument(hash [sha256.Size]byte, body []byte, tokens []string, keepFile bool) *Document {
	f := robotstxt.Parse(body)
	d := &Document{Hash: hash, Size: len(body), Rules: f.Rules(tokens...)}
	if keepFile {
		d.File = f
	}
	if s := f.Sitemaps(); len(s) > 0 {
		// A copy, because what Sitemaps gives are parts of the text.
		d.Sitemaps = strings.Split(strings.Join(s, "\n"), "\n")
	}
	return d
}

// Cost is roughly what a document takes in memory, in bytes.
func (d *Document) Cost() int64 {
	n := 160 + d.Rules.Size()
	for _, s := range d.Sitemaps {
		n += 16 + len(s)
	}
	if d.File != nil {
		n += d.File.Size()
	}
	return int64(n)
}

// Documents are those in the cache, by their hash.
type Documents struct {
	mu     sync.Mutex
	byHash map[[sha256.Size]byte]*Document
}

// of is the document of a body with that hash: one in the cache, or a new one.
func (ds *Documents) of(hash [sha256.Size]byte, body []byte, tokens []string, keepFile bool) *Document {
	ds.mu.Lock()
	d := ds.byHash[hash]
	ds.mu.Unlock()
	if d != nil {
		return d
	}
	return newDocument(hash, body, tokens, keepFile)
}

// Add notes that one more origin in the cache has the document, and returns
// by how much that makes the cache grow.
func (ds *Documents) Add(d *Document) int64 {
	if d == nil {
		return 0
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.cached++; d.cached > 1 {
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

// Remove is the opposite of Add.
func (ds *Documents) Remove(d *Document) int64 {
	if d == nil {
		return 0
	}
	ds.mu.Lock()
	defer ds.mu.Unlock()
	if d.cached--; d.cached > 0 {
		return 0
	}
	if ds.byHash[d.Hash] == d {
		delete(ds.byHash, d.Hash)
	}
	return d.Cost()
}

// Held is how many origins the books say have the document, and Len how many
// documents there are: for an audit.
func (ds *Documents) Held(d *Document) int {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return d.cached
}

func (ds *Documents) Len() int {
	ds.mu.Lock()
	defer ds.mu.Unlock()
	return len(ds.byHash)
}
