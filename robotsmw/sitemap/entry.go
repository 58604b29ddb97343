package sitemap

import (
	"errors"
	"time"
)

const (
	// MaxURLs is the maximum number of entries that the protocol allows in one
	// file.
	MaxURLs = 50_000

	// MaxBytes is the maximum size of a file that the protocol allows, after
	// decompression: 50 MB.
	MaxBytes = 50 << 20
)

// Errors of [Read]. Each ends the sequence. The entries before the error are
// valid.
var (
	ErrTooManyURLs = errors.New("sitemap: more than 50,000 URLs")
	ErrTooLarge    = errors.New("sitemap: larger than 50 MB")

	// ErrNotSitemap means that the file is markup of another kind, such as an
	// HTML page. Read yields it only if the file has no entries.
	ErrNotSitemap = errors.New("sitemap: not a sitemap")
)

// An Entry is a page that a sitemap lists, or a sitemap that an index lists.
type Entry struct {
	// Loc is the URL, without entities and control characters and without white
	// space around it, but otherwise verbatim. It is never empty, because an
	// entry without a URL is skipped. According to the protocol, Loc is an
	// absolute URL, but Read does not check the URLs in markup.
	Loc string

	// LastMod is when the page or sitemap was last changed, in UTC, according
	// to the site. It is the zero time if the time is missing or invalid. If
	// the site gives only a day, month or year, LastMod is the beginning of
	// that period.
	LastMod time.Time

	// Index reports whether Loc is a sitemap, which an index lists.
	Index bool
}

const (
	// maxLine is the maximum length of a line of a text file, and of the text
	// of an element, in bytes. Longer ones are ignored. The protocol requires
	// URLs of less than 2,048 characters.
	maxLine = 64 << 10

	// maxLayers is the maximum number of layers of gzip compression. Some
	// servers compress files that are already compressed.
	maxLayers = 2
)
