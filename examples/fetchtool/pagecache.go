package main

import (
	"slices"
	"sync"
)

// A pageCache keeps the latest documents, so that a model can read a long page
// in parts. The zero value is empty. It is safe for concurrent use.
type pageCache struct {
	mu     sync.Mutex
	latest []*document // from the least to the most recently used
}

// get returns the document with a URL, or nil.
func (c *pageCache) get(url string) *document {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.latest, func(d *document) bool { return d.url == url })
	if i < 0 {
		return nil
	}
	d := c.latest[i]
	c.latest = append(slices.Delete(c.latest, i, i+1), d)
	return d
}

// put adds a document, and evicts the least recently used one if there are more
// than maxPages.
func (c *pageCache) put(d *document) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.latest = slices.DeleteFunc(c.latest, func(old *document) bool { return old.url == d.url })
	c.latest = append(c.latest, d)
	if len(c.latest) > maxPages {
		c.latest = slices.Delete(c.latest, 0, 1)
	}
}
