package robotsmeta

import (
	"errors"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Directives are the combined directives that apply to one robot. The zero
// value has no directives.
//
// Directives are immutable, and safe for concurrent use by multiple goroutines.
type Directives struct {
	flags  flags
	limits [numLimits]int32 // indexed by kind; valid if the flag of the kind is set; -1 means no limit
	after  time.Time        // the earliest unavailable_after; valid if hasAfter is set
	rules  []Rule           // shared by copies, so it must not be modified
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

// maxRules is the maximum number of rules that are stored for display. Further
// directives take effect without being stored.
const maxRules = 256

// NoIndex reports whether the page should not be stored now. See
// [Directives.NoIndexAt].
func (d Directives) NoIndex() bool { return d.NoIndexAt(time.Now()) }

// NoIndexAt reports whether the page should not be stored at time t, because of
// "noindex" or "none", or because t is not before the earliest
// unavailable_after.
func (d Directives) NoIndexAt(t time.Time) bool {
	if d.flags&noIndex != 0 {
		return true
	}
	return d.flags&hasAfter != 0 && !t.Before(d.after)
}

// NoFollow reports whether the links of the page should not be followed,
// because of "nofollow" or "none".
func (d Directives) NoFollow() bool { return d.flags&noFollow != 0 }

// Says reports whether the directives include the one with the given lower-case
// name, or others that imply it: "none" implies noindex and nofollow, nocache
// implies noarchive, noai implies noimageai, and max-snippet:0 implies
// nosnippet. Says returns false for unknown directives, and for directives
// without effect such as "index". The name "tdm-reservation" is also accepted:
// Says then reports whether a meta element with this name has the content "1".
func (d Directives) Says(name string) bool {
	if name == "tdm-reservation" {
		return d.flags&tdmReserved != 0
	}
	if name == "nosnippet" && d.Limit("max-snippet") == "0" {
		return true
	}
	implied := directives[name].flags
	return implied != 0 && d.flags&implied == implied
}

// Limit returns the smallest value of the directive with the given name:
// max-snippet (in characters), max-video-preview (in seconds) or
// max-image-preview ("none", "standard" or "large"). "-1" means no limit, and
// "" means that there is no such directive. Numbers that are larger than
// 67108863 are returned as 67108863.
func (d Directives) Limit(name string) string {
	dir := directives[name]
	if dir.kind >= numLimits || d.flags&dir.flags == 0 {
		return ""
	}
	limit := d.limits[dir.kind]
	if dir.kind == imagePreviewKind {
		return imagePreviews[limit]
	}
	return strconv.Itoa(int(limit))
}

// imagePreviews contains the values of max-image-preview, from the strictest to
// the most permissive.
var imagePreviews = []string{"none", "standard", "large"}

// UnavailableAfter returns the earliest unavailable_after, in UTC. ok is false
// if there is none with a valid date.
func (d Directives) UnavailableAfter() (t time.Time, ok bool) {
	return d.after, d.flags&hasAfter != 0
}

// Truncated reports whether the input exceeded a limit, so that there may be
// further directives: 8 KiB for a header line or meta element, 64 KiB for all
// lines of a field, or htmlmeta.Window for the head of a page. Crawlers that
// must not miss a directive should treat the page as noindex.
func (d Directives) Truncated() bool { return d.flags&truncated != 0 }

// Rules yields the first 256 directives for the robot, in the order of the
// header and page. They include unknown directives and those without effect.
func (d Directives) Rules() iter.Seq[Rule] { return slices.Values(d.rules) }

// WithTruncated returns a copy of d for which Truncated reports true. Programs
// that limit how much of a page they parse should call it if the limit was
// exceeded.
func (d Directives) WithTruncated() Directives {
	d.flags |= truncated
	return d
}

// Union returns the combination of d and other, which has the restrictions of
// both, the smaller of two limits, and the earlier of two dates.
func (d Directives) Union(other Directives) Directives {
	u := d
	for kind, flag := range limitFlags {
		if other.flags&flag != 0 {
			u.addLimit(directive{directiveKind(kind), flag}, other.limits[kind])
		}
	}
	if other.flags&hasAfter != 0 {
		u.addUnavailableAfter(other.after)
	}
	u.flags |= other.flags
	u.rules = concatRules(d.rules, other.rules)
	return u
}

// concatRules returns the first maxRules rules of a and b. It does not modify
// them. It does not copy a if the result equals a, because a page may have
// thousands of meta elements.
func concatRules(a, b []Rule) []Rule {
	if len(a) == 0 {
		return b
	}
	b = b[:min(len(b), max(0, maxRules-len(a)))]
	if len(b) == 0 {
		return a
	}
	return slices.Concat(a, b)
}

// A directive is the meaning of a word in a header or meta element.
type directive struct {
	kind  directiveKind
	flags flags // added to Directives.flags; 0 if the directive has no effect
}

type directiveKind uint8

// The first numLimits kinds are indexes of Directives.limits.
const (
	snippetKind directiveKind = iota
	videoPreviewKind
	imagePreviewKind
	unavailableAfterKind
	flagKind // a directive without a value

	numLimits = unavailableAfterKind
)

var limitFlags = [numLimits]flags{hasSnippet, hasVideo, hasImage}

// directives maps the names of the known directives to their meanings.
var directives = map[string]directive{
	"max-snippet":       {snippetKind, hasSnippet},
	"max-video-preview": {videoPreviewKind, hasVideo},
	"max-image-preview": {imagePreviewKind, hasImage},
	"unavailable_after": {unavailableAfterKind, hasAfter},

	"noindex":         {flagKind, noIndex},
	"nofollow":        {flagKind, noFollow},
	"none":            {flagKind, noIndex | noFollow},
	"noarchive":       {flagKind, noArchive},
	"nocache":         {flagKind, noArchive},
	"nosnippet":       {flagKind, noSnippet},
	"noimageindex":    {flagKind, noImageIndex},
	"notranslate":     {flagKind, noTranslate},
	"indexifembedded": {flagKind, indexIfEmbedded},
	"noai":            {flagKind, noAI | noImageAI},
	"noimageai":       {flagKind, noImageAI},
	"noml":            {flagKind, noML},

	// These have no effect.
	"all":                  {flagKind, 0},
	"index":                {flagKind, 0},
	"follow":               {flagKind, 0},
	"archive":              {flagKind, 0},
	"imageindex":           {flagKind, 0},
	"noodp":                {flagKind, 0},
	"noydir":               {flagKind, 0},
	"noyaca":               {flagKind, 0},
	"nositelinkssearchbox": {flagKind, 0},
}

// lookup returns the directive whose name is word, ignoring case, and the name
// in lower case.
func lookup(word string) (name string, d directive, ok bool) {
	name = strings.ToLower(word)
	d, ok = directives[name]
	if ok {
		name = directiveNames[name] // the constant, which does not retain the text that is parsed
	}
	return name, d, ok
}

// directiveNames maps the names of all directives to themselves.
var directiveNames = func() map[string]string {
	names := make(map[string]string, len(directives))
	for name := range directives {
		names[name] = name
	}
	return names
}()

// set adds a directive with a value. If the value is invalid, it returns false
// without changing d.
func (d *Directives) set(dir directive, value string) bool {
	switch dir.kind {
	case snippetKind, videoPreviewKind:
		n, ok := parseLimit(value)
		if !ok {
			return false
		}
		d.addLimit(dir, n)
		return true
	case imagePreviewKind:
		n := slices.Index(imagePreviews, strings.ToLower(value))
		if n < 0 {
			return false
		}
		d.addLimit(dir, int32(n))
		return true
	case unavailableAfterKind:
		t, length := parseDatePrefix(value)
		if length == 0 || length != len(value) {
			return false
		}
		d.addUnavailableAfter(t)
		return true
	}
	return false
}

func (d *Directives) addLimit(dir directive, n int32) {
	old := d.limits[dir.kind]
	isFirst := d.flags&dir.flags == 0
	if isFirst || isStricter(n, old) {
		d.limits[dir.kind] = n
	}
	d.flags |= dir.flags
}

// isStricter reports whether the limit n should replace the limit old, because
// it is smaller. If old is -1, which means no limit, any n should replace it.
func isStricter(n, old int32) bool {
	if old < 0 {
		return true
	}
	return n >= 0 && n < old
}

func (d *Directives) addUnavailableAfter(t time.Time) {
	if d.flags&hasAfter == 0 || t.Before(d.after) {
		d.after = t
	}
	d.flags |= hasAfter
}

// parseLimit parses the value of max-snippet and max-video-preview: a
// nonnegative integer, or -1 for no limit.
func parseLimit(s string) (n int32, ok bool) {
	if s == "-1" {
		return -1, true
	}
	u, err := strconv.ParseUint(s, 10, 26) // if the value is out of range, u is the maximum
	return int32(u), err == nil || errors.Is(err, strconv.ErrRange)
}
