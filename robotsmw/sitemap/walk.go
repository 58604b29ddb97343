package sitemap

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
)

const (
	// MaxDepth is how many indexes may lead to a sitemap. The protocol does not
	// allow an index to list another one, but some sites do that.
	MaxDepth = 5

	// MaxSitemaps is how many files one Walk reads. The protocol allows an
	// index as many.
	MaxSitemaps = 50_000
)

// Errors of [Walk], besides those of Read and fetch.
var (
	ErrTooDeep         = errors.New("sitemap: an index is listed by an index, more than 5 deep")
	ErrTooManySitemaps = errors.New("sitemap: more than 50,000 sitemaps, or more than 32 MiB of their URLs")
)

// Walk returns the pages that the sitemaps at the given URLs list, directly or
// by indexes. Index is false in all of them. Walk reads each file once, in the
// order in which it found them, and never more than one at a time.
//
// fetch returns the body of the sitemap at loc, which may be any text, because
// indexes are not trustworthy. It should return an error for a URL that it does
// not want, and for a response other than 200 OK. Walk closes the body.
//
// Walk reads a file to its end, keeps its entries and closes the body before it
// returns the first of them, so that the caller may fetch pages in the loop. An
// error in one file is returned with an Entry whose Loc is the URL of this
// file and whose Index is true, after the good entries of the file. Walk then
// goes on with the next file, unless the caller leaves the loop. When ctx ends,
// its error is the last one.
//
// A page that several sitemaps list is returned several times.
func Walk(ctx context.Context, fetch func(ctx context.Context, loc string) (io.ReadCloser, error), locs ...string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		w := &walk{known: make(map[string]bool)}
		for _, loc := range locs {
			w.add(loc, 0)
		}
		for len(w.queue) > 0 {
			file := w.queue[0]
			w.queue = w.queue[1:]
			if err := ctx.Err(); err != nil {
				yield(Entry{Loc: file.loc, Index: true}, err)
				return
			}
			entries, err := readFile(ctx, fetch, file.loc)
			for _, e := range entries {
				if e.Index {
					err = cmp.Or(err, w.add(e.Loc, file.depth+1))
				} else if !yield(e, nil) {
					return
				}
			}
			if err != nil && !yield(Entry{Loc: file.loc, Index: true}, err) {
				return
			}
		}
	}
}

// A walk is the state of one Walk.
type walk struct {
	queue []sitemapFile
	known map[string]bool // the URLs of all files that were ever in the queue
	bytes int             // the length of these URLs together
}

// maxKnownBytes limits walk.bytes: a URL may have 64 KiB, and an index that is
// made to do harm has as many long ones as it may have.
const maxKnownBytes = 32 << 20

type sitemapFile struct {
	loc   string
	depth int // how many indexes led to it
}

// add queues a file that is new.
func (w *walk) add(loc string, depth int) error {
	if w.known[loc] {
		return nil
	}
	if depth > MaxDepth {
		return ErrTooDeep
	}
	if len(w.known) == MaxSitemaps || w.bytes+len(loc) > maxKnownBytes {
		return ErrTooManySitemaps
	}
	w.bytes += len(loc)
	w.known[loc] = true
	w.queue = append(w.queue, sitemapFile{loc, depth})
	return nil
}

// readFile returns all entries of a file.
func readFile(ctx context.Context, fetch func(context.Context, string) (io.ReadCloser, error), loc string) (entries []Entry, err error) {
	body, err := fetch(ctx, loc)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	for e, err := range Read(body) {
		if err != nil {
			return entries, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}
