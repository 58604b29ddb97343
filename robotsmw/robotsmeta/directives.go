package robotsmeta

import (
	"iter"
	"slices"
	"strings"
	"time"
)

// Directives is the sum of what was said to one robot. The zero value says
// nothing, and so restricts nothing.
//
// A Directives is a value: no method changes it. It may be copied, and several
// goroutines may use it at once.
type Directives struct {
	flags   flags
	image   imagePreview
	snippet int32     // valid if hasSnippet is set in flags; -1 means no limit
	video   int32     // valid if hasVideo is set in flags; -1 means no limit
	after   time.Time // valid if hasAfter is set in flags
	rules   []Rule    // copies share these rules, so Union makes a new slice
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
	hasAfter
	truncated
)

type imagePreview uint8

const (
	imageUnsaid imagePreview = iota
	imageNone
	imageStandard
	imageLarge
)

// maxRules is how many rules are kept to show what was said. Rules beyond this
// number are not kept, but take effect.
const maxRules = 256

// NoIndex reports whether the page must not be kept at this time. See
// NoIndexAt.
func (d Directives) NoIndex() bool {
	return d.flags&(noIndex|hasAfter) != 0 && d.noIndexNow()
}

// noIndexNow is a separate function, so that NoIndex is short enough to be
// inlined. NoIndex is called for each page.
func (d Directives) noIndexNow() bool { return d.NoIndexAt(time.Now()) }

// NoIndexAt reports whether the page must not be kept at time t: "noindex" or
// "none" was said, or t is not before the earliest unavailable_after.
func (d Directives) NoIndexAt(t time.Time) bool {
	return d.flags&noIndex != 0 || d.flags&hasAfter != 0 && !t.Before(d.after)
}

// NoFollow reports whether the page's links must not be followed: "nofollow" or
// "none" was said.
func (d Directives) NoFollow() bool { return d.flags&noFollow != 0 }

// NoArchive reports whether noarchive or nocache was said: no copy of the page
// may be shown. Some operators (Bing, Amazon) also take it as a refusal of AI
// training. The caller may do the same.
func (d Directives) NoArchive() bool { return d.flags&noArchive != 0 }

// NoSnippet reports whether nosnippet was said, or max-snippet:0, which means
// the same.
func (d Directives) NoSnippet() bool {
	return d.flags&noSnippet != 0 || d.flags&hasSnippet != 0 && d.snippet == 0
}

// NoImageIndex reports whether noimageindex was said: the images of the page
// must not be kept.
func (d Directives) NoImageIndex() bool { return d.flags&noImageIndex != 0 }

// NoTranslate reports whether notranslate was said.
func (d Directives) NoTranslate() bool { return d.flags&noTranslate != 0 }

// IndexIfEmbedded reports whether indexifembedded was said: a page that is
// noindex may be kept as a part of pages that embed it. This does not change
// NoIndex.
func (d Directives) IndexIfEmbedded() bool { return d.flags&indexIfEmbedded != 0 }

// NoAI reports whether noai was said: the page is not for machine learning.
func (d Directives) NoAI() bool { return d.flags&noAI != 0 }

// NoImageAI reports whether noimageai or noai was said: the page's images are
// not for machine learning. "noai" includes "noimageai".
func (d Directives) NoImageAI() bool { return d.flags&(noAI|noImageAI) != 0 }

// NoML reports whether noml (noml.info) was said: the page is not for machine
// learning.
func (d Directives) NoML() bool { return d.flags&noML != 0 }

// MaxSnippet returns the smallest max-snippet, in characters. If only -1 was
// said, n is -1, which means no limit. If no max-snippet was said, ok is false.
// A value above 1<<26 counts as 1<<26.
func (d Directives) MaxSnippet() (n int, ok bool) { return int(d.snippet), d.flags&hasSnippet != 0 }

// MaxVideoPreview returns the smallest max-video-preview, in seconds. If only
// -1 was said, n is -1, which means no limit. If no max-video-preview was said,
// ok is false. A value above 1<<26 counts as 1<<26.
func (d Directives) MaxVideoPreview() (n int, ok bool) { return int(d.video), d.flags&hasVideo != 0 }

// MaxImagePreview returns the smallest max-image-preview: "none", "standard" or
// "large". It is "" if no max-image-preview was said.
func (d Directives) MaxImagePreview() string {
	switch d.image {
	case imageNone:
		return "none"
	case imageStandard:
		return "standard"
	case imageLarge:
		return "large"
	}
	return ""
}

// UnavailableAfter returns the earliest unavailable_after, in UTC. ok is false
// if no readable date was said.
func (d Directives) UnavailableAfter() (t time.Time, ok bool) { return d.after, d.flags&hasAfter != 0 }

// Truncated reports whether a limit cut the text short: 8 KiB for one header
// line or meta, 64 KiB for all lines of a field. What came after the cut is
// unknown. A crawler that must be sure treats the page as noindex.
func (d Directives) Truncated() bool { return d.flags&truncated != 0 }

// Rules yields the first 256 rules that were said to this robot, in the order
// in which they were read. Among them are unknown rules, and rules without
// effect (index, noodp).
func (d Directives) Rules() iter.Seq[Rule] { return slices.Values(d.rules) }

// Union returns the sum of d and other. It has the restrictions of both, the
// stricter of two limits, and the earlier of two dates.
func (d Directives) Union(other Directives) Directives {
	if other.flags == 0 && other.rules == nil { // nothing was said (max-image-preview sets no flag, but adds a rule)
		return d
	}
	return d.union(other)
}

// union is a separate function, so that Union is short enough to be inlined.
func (d Directives) union(other Directives) Directives {
	u := d
	u.flags |= other.flags
	u.snippet = smaller(d.snippet, d.flags&hasSnippet != 0, other.snippet, other.flags&hasSnippet != 0)
	u.video = smaller(d.video, d.flags&hasVideo != 0, other.video, other.flags&hasVideo != 0)
	if other.image != imageUnsaid && (d.image == imageUnsaid || other.image < d.image) {
		u.image = other.image
	}
	if other.flags&hasAfter != 0 && (d.flags&hasAfter == 0 || other.after.Before(d.after)) {
		u.after = other.after
	}
	switch {
	case len(d.rules) == 0:
		u.rules = other.rules
	case len(other.rules) > 0 && len(d.rules) < maxRules: // a page may have thousands of metas: copy no more than maxRules
		u.rules = slices.Concat(d.rules, other.rules[:min(len(other.rules), maxRules-len(d.rules))])
	}
	return u
}

// smaller returns the stricter of two limits. -1 means no limit. saidA and
// saidB report whether a and b were said. A limit that was not said does not
// count.
func smaller(a int32, saidA bool, b int32, saidB bool) int32 {
	switch {
	case !saidB:
		return a
	case !saidA:
		return b
	case a < 0:
		return b
	case b < 0:
		return a
	}
	return min(a, b)
}

// A directive is the meaning of a word in the grammar.
type directive struct {
	name  string
	flags flags // added to Directives.flags; 0 for max-image-preview and words without effect
	kind  kind
}

type kind uint8

const (
	bare kind = iota
	maxSnippet
	maxVideoPreview
	maxImagePreview
	unavailableAfter
)

const longest = len("nositelinkssearchbox")

// directives holds all known directives by the length of their names. Few names
// have the same length, so lookup() compares only a few.
var directives = func() (byLength [longest + 1][]directive) {
	add := func(kind kind, flags flags, names ...string) {
		for _, name := range names {
			byLength[len(name)] = append(byLength[len(name)], directive{name, flags, kind})
		}
	}
	add(maxSnippet, hasSnippet, "max-snippet")
	add(maxVideoPreview, hasVideo, "max-video-preview")
	add(maxImagePreview, 0, "max-image-preview")
	add(unavailableAfter, hasAfter, "unavailable_after")
	add(bare, noIndex, "noindex")
	add(bare, noFollow, "nofollow")
	add(bare, noIndex|noFollow, "none")
	add(bare, noArchive, "noarchive", "nocache")
	add(bare, noSnippet, "nosnippet")
	add(bare, noImageIndex, "noimageindex")
	add(bare, noTranslate, "notranslate")
	add(bare, indexIfEmbedded, "indexifembedded")
	add(bare, noAI, "noai")
	add(bare, noImageAI, "noimageai")
	add(bare, noML, "noml")
	add(bare, 0, "all", "index", "follow", "archive", "imageindex", "noodp", "noydir", "noyaca", "nositelinkssearchbox")
	return byLength
}()

// set adds a directive with a value. It returns false, and changes nothing, if
// the value cannot be read.
func (d *Directives) set(dir directive, value string) bool {
	said := d.flags&dir.flags != 0
	switch dir.kind {
	case maxSnippet, maxVideoPreview:
		n, ok := readLimit(value)
		if !ok {
			return false
		}
		limit := &d.snippet
		if dir.kind == maxVideoPreview {
			limit = &d.video
		}
		*limit = smaller(*limit, said, n, true)
	case maxImagePreview:
		image := imageUnsaid
		switch {
		case strings.EqualFold(value, "none"):
			image = imageNone
		case strings.EqualFold(value, "standard"):
			image = imageStandard
		case strings.EqualFold(value, "large"):
			image = imageLarge
		default:
			return false
		}
		if d.image == imageUnsaid || image < d.image {
			d.image = image
		}
	case unavailableAfter:
		t, n := readDate(value)
		if n == 0 || n != len(value) {
			return false
		}
		d.expire(t)
	default:
		return false
	}
	d.flags |= dir.flags
	return true
}

// expire adds the date of an unavailable_after.
func (d *Directives) expire(t time.Time) {
	if d.flags&hasAfter == 0 || t.Before(d.after) {
		d.after = t
	}
	d.flags |= hasAfter
}

// lookup finds the directive with this name, ignoring letter case.
func lookup(word string) (directive, bool) {
	if len(word) > longest {
		return directive{}, false
	}
	sameLength := directives[len(word)]
	for i := range sameLength {
		if inLower(word, sameLength[i].name) {
			return sameLength[i], true
		}
	}
	return directive{}, false
}

// inLower reports whether word equals name, ignoring letter case. Both must
// have the same length, and name must be in lower case.
func inLower(word, name string) bool {
	for i := range len(name) {
		if word[i] != name[i] && lower(word[i]) != name[i] {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		c += 'a' - 'A'
	}
	return c
}

// readLimit reads the value of max-snippet and max-video-preview: a whole
// number, or -1 for no limit.
func readLimit(s string) (n int32, ok bool) {
	if s == "-1" {
		return -1, true
	}
	if s == "" {
		return 0, false
	}
	const most = 1 << 30 // n never exceeds most/16, so n*10 cannot overflow
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return 0, false
		}
		n = min(n*10+int32(s[i]-'0'), most/16)
	}
	return n, true
}
