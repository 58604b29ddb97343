package sitemap

import (
	"errors"
	"time"
)

const (
	// MaxURLs is how many entries the protocol allows in one file.
	MaxURLs = 50_000

	// MaxBytes is how many bytes the protocol allows in one file after
	// decompression: 50 MB.
	MaxBytes = 50 << 20
)

// Errors of [Read]. Each ends the sequence; the entries before it are good.
var (
	ErrTooManyURLs = errors.New("sitemap: more than 50,000 URLs")
	ErrTooLarge    = errors.New("sitemap: larger than 50 MB")

	// ErrNotSitemap means that the file is markup of another kind, such as an
	// HTML page. It comes only if the file has no entries.
	ErrNotSitemap = errors.New("sitemap: not a sitemap")
)

// An Entry is a page that a sitemap lists, or a sitemap that an index lists.
type Entry struct {
	// Loc is the URL, without entities and control characters and without white
	// space around it, but otherwise verbatim. It is never empty, because an
	// entry without a URL is skipped. It should be absolute, but it may be
	// anything.
	Loc string

	// LastMod is when the page or sitemap was last changed, in UTC, according
	// to the site. It is the zero time if that is missing or unreadable. If
	// the site gives a day, it is midnight.
	LastMod time.Time

	// Index reports whether Loc is a sitemap, which an index lists.
	Index bool
}

const (
	// maxLine is the length in bytes of the longest line of a text, and of the
	// longest URL. The protocol requires URLs of less than 2,048 characters.
	maxLine = 64 << 10

	// maxLayers is how often a file may be compressed. Some servers compress
	// what is compressed already.
	maxLayers = 2
)
