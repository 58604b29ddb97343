package revisit

import (
	"io"
	"net/http"
	"sync/atomic"

	"github.com/goodbots/courtesy/robotsmw"
)

// A body is the body of a page. It stores the page when the body has been read
// or closed.
type body struct {
	io.ReadCloser
	page *cachedResponse
	resp *http.Response
	put  func(cacheEntry) // stores the page
	done atomic.Bool      // whether the page has been stored or must not be stored
}

func (b *body) Read(p []byte) (n int, err error) {
	n, err = b.ReadCloser.Read(p)
	if err == io.EOF {
		b.store()
	} else if err != nil {
		b.done.Store(true) // the page is incomplete
	}
	return n, err
}

func (b *body) Close() error {
	err := b.ReadCloser.Close()
	b.store()
	return err
}

// store stores the page when it is called for the first time. It stores nothing
// if a part of the body that was not read may contain directives such as
// noindex, or if the page may be from bot protection.
func (b *body) store() {
	if b.done.Swap(true) {
		return
	}
	page := robotsmw.PageDirectives(b.resp)
	isIncomplete := page.State == robotsmw.PagePending || page.State == robotsmw.PagePartial
	if isIncomplete || page.Refusal.Kind != 0 {
		return
	}
	b.page.setDirectives(page.Directives)
	b.page.State = page.State
	b.put(cacheEntry{Page: b.page})
}
