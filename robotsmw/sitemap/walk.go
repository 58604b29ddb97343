package sitemap

import (
	"cmp"
	"context"
	"errors"
	"io"
	"iter"
)

const (
	// MaxDepth is the maximum number of indexes that lead to a sitemap. The
	// protocol does not allow an index to list other indexes, but some do.
	MaxDepth = 5

	// MaxSitemaps is the maximum number of files that Walk reads. The protocol
	// allows the same number of files in an index.
	MaxSitemaps = 50_000
)

// Errors of [Walk], besides those of Read and fetch.
var (
	ErrTooDeep         = errors.New("sitemap: indexes are nested more than 5 deep")
	ErrTooManySitemaps = errors.New("sitemap: more than 50,000 sitemaps, " +
		"or more than 32 MiB of their URLs")
)

// Walk yields the pages in the sitemaps at the given URLs, and in the sitemaps
// that these list if they are indexes. Index is false for all pages. Walk reads
// each file once, in the order in which the files are found, and one at a time.
//
// fetch returns the body of the sitemap at loc, which may be any text, because
// the authors of indexes are not trusted. fetch should return an error if the
// URL should not be fetched, or if the status of the response is not 200. Walk
// closes the body.
//
// Walk reads a file completely and closes the body before it yields the first
// entry of the file, so that the caller may fetch pages in the loop. After the
// entries of a file that has an error, Walk yields the error, with an Entry
// whose Loc is the URL of the file and whose Index is true, and continues with
// the next file. If ctx is canceled, the last error is that of ctx.
//
// A page that several sitemaps list is yielded several times.
func Walk(
	ctx context.Context,
	fetch func(ctx context.Context, loc string) (io.ReadCloser, error),
	locs ...string,
) iter.Seq2[Entry, error] {
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
	known map[string]bool // the URLs of all files that have been queued
	bytes int             // total length of these URLs
}

// maxKnownBytes is the maximum of walk.bytes. It limits the memory for
// malicious indexes, because a URL may have 64 KiB.
const maxKnownBytes = 32 << 20

type sitemapFile struct {
	loc   string
	depth int // number of indexes that lead to the file
}

// add queues a file, unless it has been queued before.
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

// readFile returns the entries of a file. If there is an error, it returns the
// entries before the error, too.
func readFile(
	ctx context.Context,
	fetch func(context.Context, string) (io.ReadCloser, error),
	loc string,
) (entries []Entry, err error) {
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
