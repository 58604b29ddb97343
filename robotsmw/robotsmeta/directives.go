package robotsmeta

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Directives is the sum of what was said to one robot. The zero value says
// nothing, and so restricts nothing.
//
// A Directives is a value: no method changes it. It may be copied, and several
// goroutines may use it at once.
type Directives struct {
	flags  flags
	limits [imagePreview + 1]int32 // valid if their flags are set; -1 means no limit
	after  time.Time               // valid if hasAfter is set in flags
	rules  []Rule                  // copies share these rules, so Union makes a new slice
}

type flags uint32

const (
	noIndex flags = 1 << iota
	noFollow
	noArchive
	noSnippet
	noImageIndex
	noTranslate
	indexIfEmbedded
	noAI
	noImageAI
	noML
	hasSnippet
	hasVideo
	hasImage
	hasAfter
	tdmReserved
	truncated
)

// maxRules is how many rules are kept to show what was said. Rules beyond this
// number are not kept, but take effect.
const maxRules = 256

// NoIndex reports whether the page must not be kept at this time. See
// NoIndexAt.
func (d Directives) NoIndex() bool { return d.NoIndexAt(time.Now()) }

// NoIndexAt reports whether the page must not be kept at time t: "noindex" or
// "none" was said, or t is not before the earliest unavailable_after.
func (d Directives) NoIndexAt(t time.Time) bool {
	return d.flags&noIndex != 0 || d.flags&hasAfter != 0 && !t.Before(d.after)
}

// NoFollow reports whether the page's links must not be followed: "nofollow" or
// "none" was said.
func (d Directives) NoFollow() bool { return d.flags&noFollow != 0 }

// Says reports whether a directive was said, or another one that means the same
// or more: "none" says noindex and nofollow, nocache says noarchive, noai says
// noimageai, and max-snippet:0 says nosnippet. The name is in lower case. For a
// directive without effect, such as "index", and for a name that this package
// does not know, the result is false. For "tdm-reservation", Says reports
// whether a meta of this name has the content "1".
func (d Directives) Says(name string) bool {
	if name == "tdm-reservation" {
		return d.flags&tdmReserved != 0
	}
	if name == "nosnippet" && d.Limit("max-snippet") == "0" {
		return true
	}
	said := directives[name].flags
	return said != 0 && d.flags&said == said
}

// Limit returns the smallest value that was said of max-snippet (in
// characters), max-video-preview (in seconds) or max-image-preview ("none",
// "standard" or "large"). "-1" means no limit. If no value was said, or for
// another name, the result is "". A number above 67108863 counts as 67108863.
func (d Directives) Limit(name string) string {
	dir := directives[name]
	switch {
	case dir.kind > imagePreview || d.flags&dir.flags == 0:
		return ""
	case dir.kind == imagePreview:
		return imagePreviews[d.limits[imagePreview]]
	}
	return strconv.Itoa(int(d.limits[dir.kind]))
}

// imagePreviews are the values of max-image-preview, the strictest first.
var imagePreviews = []string{"none", "standard", "large"}

// UnavailableAfter returns the earliest unavailable_after, in UTC. ok is false
// if no readable date was said.
func (d Directives) UnavailableAfter() (t time.Time, ok bool) { return d.after, d.flags&hasAfter != 0 }

// Truncated reports whether a limit cut the text short: 8 KiB for one header
// line or meta, 64 KiB for all lines of a field, and htmlmeta.Window for a page
// whose head does not end within it. What came after the cut is unknown. A
// crawler that must be sure treats the page as noindex.
func (d Directives) Truncated() bool { return d.flags&truncated != 0 }

// Rules yields the first 256 rules that were said to this robot, in the order
// in which they were read. Among them are unknown rules, and rules without
// effect (index, noodp).
func (d Directives) Rules() iter.Seq[Rule] { return slices.Values(d.rules) }

// WithTruncated returns d with Truncated set. A reader of pages calls it, such
// as package htmlmeta, if a limit of its own cuts a page short.
func (d Directives) WithTruncated() Directives {
	d.flags |= truncated
	return d
}

// Union returns the sum of d and other. It has the restrictions of both, the
// stricter of two limits, and the earlier of two dates.
func (d Directives) Union(other Directives) Directives {
	u := d
	for kind, flag := range limitFlags {
		if other.flags&flag != 0 {
			u.limit(kind, flag, other.limits[kind])
		}
	}
	if other.flags&hasAfter != 0 {
		u.expire(other.after)
	}
	u.flags |= other.flags
	switch {
	case len(d.rules) == 0:
		u.rules = other.rules
	case len(other.rules) > 0 && len(d.rules) < maxRules: // a page may have thousands of metas: copy no more than maxRules
		u.rules = slices.Concat(d.rules, other.rules[:min(len(other.rules), maxRules-len(d.rules))])
	}
	return u
}

// A directive is the meaning of a word in the grammar.
type directive struct {
	kind  kind
	flags flags // added to Directives.flags; 0 for words without effect
}

type kind uint8

const (
	snippet kind = iota // the first three are indexes of Directives.limits
	videoPreview
	imagePreview
	unavailableAfter
	bare
)

var limitFlags = [imagePreview + 1]flags{hasSnippet, hasVideo, hasImage}

// directives has all known directives.
var directives = map[string]directive{
	"max-snippet":       {snippet, hasSnippet},
	"max-video-preview": {videoPreview, hasVideo},
	"max-image-preview": {imagePreview, hasImage},
	"unavailable_after": {unavailableAfter, hasAfter},

	"noindex":         {bare, noIndex},
	"nofollow":        {bare, noFollow},
	"none":            {bare, noIndex | noFollow},
	"noarchive":       {bare, noArchive},
	"nocache":         {bare, noArchive},
	"nosnippet":       {bare, noSnippet},
	"noimageindex":    {bare, noImageIndex},
	"notranslate":     {bare, noTranslate},
	"indexifembedded": {bare, indexIfEmbedded},
	"noai":            {bare, noAI | noImageAI},
	"noimageai":       {bare, noImageAI},
	"noml":            {bare, noML},

	"all": {bare, 0}, "index": {bare, 0}, "follow": {bare, 0}, "archive": {bare, 0}, "imageindex": {bare, 0},
	"noodp": {bare, 0}, "noydir": {bare, 0}, "noyaca": {bare, 0}, "nositelinkssearchbox": {bare, 0},
}

// lookup finds the directive with this name, ignoring letter case. It also
// returns the name in lower case.
func lookup(word string) (name string, d directive, ok bool) {
	name = strings.ToLower(word)
	if d, ok = directives[name]; ok {
		name = directiveNames[name] // not a part of the text that is read
	}
	return name, d, ok
}

// directiveNames has the names of all directives, each under itself.
var directiveNames = func() map[string]string {
	names := make(map[string]string, len(directives))
	for name := range directives {
		names[name] = name
	}
	return names
}()

// set adds a directive with a value. It returns false, and changes nothing, if
// the value cannot be read.
func (d *Directives) set(dir directive, value string) bool {
	switch dir.kind {
	case snippet, videoPreview:
		n, ok := readLimit(value)
		if !ok {
			return false
		}
		d.limit(int(dir.kind), dir.flags, n)
	case imagePreview:
		n := slices.Index(imagePreviews, strings.ToLower(value))
		if n < 0 {
			return false
		}
		d.limit(int(imagePreview), hasImage, int32(n))
	case unavailableAfter:
		t, n := readDate(value)
		if n == 0 || n != len(value) {
			return false
		}
		d.expire(t)
	default:
		return false
	}
	return true
}

// limit adds a limit. flag is its flag.
func (d *Directives) limit(kind int, flag flags, n int32) {
	if old := d.limits[kind]; d.flags&flag == 0 || old < 0 || n >= 0 && n < old {
		d.limits[kind] = n
	}
	d.flags |= flag
}

// expire adds the date of an unavailable_after.
func (d *Directives) expire(t time.Time) {
	if d.flags&hasAfter == 0 || t.Before(d.after) {
		d.after = t
	}
	d.flags |= hasAfter
}

// readLimit reads the value of max-snippet and max-video-preview: a whole
// number, or -1 for no limit.
func readLimit(s string) (n int32, ok bool) {
	if s == "-1" {
		return -1, true
	}
	u, err := strconv.ParseUint(s, 10, 26) // beyond 26 bits, this is the largest number that fits, and ErrRange
	return int32(u), err == nil || errors.Is(err, strconv.ErrRange)
}
