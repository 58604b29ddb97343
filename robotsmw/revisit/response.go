package revisit

import (
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// A cachedResponse is a response without its body. It must not be modified
// after it has been stored.
type cachedResponse struct {
	Header     string                 `json:"head"`    // the values of headerFields, separated by newlines
	Variant    uint64                 `json:"variant"` // the result of variant for the request
	Since      int64                  `json:"since"`   // when the response was received, in Unix nanoseconds
	Until      int64                  `json:"until"`   // until when it is fresh, in Unix nanoseconds
	Lifetime   time.Duration          `json:"lifetime"`
	Directives *robotsmeta.Directives `json:"directives,omitempty"` // nil if there are none
	Status     uint16                 `json:"status"`
	State      robotsmw.PageState     `json:"state"`
	NoCache    bool                   `json:"no_cache,omitempty"`
	Public     bool                   `json:"public,omitempty"`
}

// headerFields are the fields in cachedResponse.Header. They are stored as one
// string because a crawler may store millions of responses.
var headerFields = []string{"Etag", "Last-Modified", "Date", "Location", "Vary"}

// Indexes of headerFields.
const (
	etagField = iota
	lastModifiedField
	dateField
	locationField
	varyField
)

const maxHeader = 8 << 10 // maximum size of cachedResponse.Header in bytes

func (r *cachedResponse) field(i int) string {
	rest := r.Header
	for range i {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

func (r *cachedResponse) setField(i int, value string) {
	fields := strings.Split(r.Header, "\n")
	fields[i] = value
	r.Header = strings.Join(fields, "\n")
}

// isValid reports whether Header has the right number of fields and contains no
// control characters. It is used to check responses from a Store.
func (r *cachedResponse) isValid() bool {
	if strings.Count(r.Header, "\n") != len(headerFields)-1 {
		return false
	}
	return !strings.ContainsFunc(strings.ReplaceAll(r.Header, "\n", ""), unicode.IsControl)
}

// hasValidator reports whether a conditional request is possible.
func (r *cachedResponse) hasValidator() bool {
	return r.field(etagField) != "" || r.field(lastModifiedField) != ""
}

// hasSameValidator reports whether a 304 with the given header refers to the
// stored version: the header has the same validator, or no validator.
func (r *cachedResponse) hasSameValidator(h http.Header) bool {
	storedETag := r.field(etagField)
	if etag := singleLine(h, "Etag"); etag != "" && storedETag != "" {
		return strings.TrimPrefix(etag, "W/") == strings.TrimPrefix(storedETag, "W/")
	}
	if storedETag != "" {
		return true
	}
	lastModified := singleLine(h, "Last-Modified")
	return lastModified == "" || lastModified == r.field(lastModifiedField)
}

// stale returns a copy of r that is not fresh. r may be nil.
func (r *cachedResponse) stale() *cachedResponse {
	if r == nil {
		return nil
	}
	c := *r
	c.Until = 0
	return &c
}

// freshUntil returns the time until which r is fresh, or the zero time if r is
// not fresh.
func (r *cachedResponse) freshUntil(now time.Time) time.Time {
	if r.Until <= now.UnixNano() {
		return time.Time{}
	}
	return time.Unix(0, r.Until)
}

func (r *cachedResponse) directives() robotsmeta.Directives {
	if r.Directives == nil {
		return robotsmeta.Directives{}
	}
	return *r.Directives
}

func (r *cachedResponse) setDirectives(d robotsmeta.Directives) {
	hasRules := false
	for range d.Rules() {
		hasRules = true
		break
	}
	if hasRules || d.Truncated() {
		r.Directives = &d
	}
}

// matches reports whether r is the variant for a request. If the request has an
// Authorization, r must also be public. r may be nil, which does not match.
func (r *cachedResponse) matches(req *http.Request) bool {
	if r == nil {
		return false
	}
	if !r.Public && len(req.Header["Authorization"]) > 0 {
		return false
	}
	return r.Variant == variant(req, r.field(varyField))
}

// variant returns a hash of the Cookie of a request and of the fields listed in
// vary. It returns 0 if the request has none of these fields.
func variant(req *http.Request, vary string) uint64 {
	var text []byte
	add := func(name string) {
		if values := req.Header[name]; len(values) > 0 {
			text = append(text, name+"\n"+strings.Join(values, ", ")+"\n"...)
		}
	}
	add("Cookie")
	if vary != "" {
		for name := range strings.SplitSeq(vary, ",") {
			add(name)
		}
	}
	if text == nil {
		return 0
	}
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

// parseVary returns the names of the fields in Vary except Cookie, in canonical
// form, sorted and separated by commas. ok is false for "*".
func parseVary(h http.Header) (vary string, ok bool) {
	var names []string
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if name != "" && name != "Cookie" {
				names = append(names, name)
			}
		}
	}
	slices.Sort(names)
	return strings.Join(slices.Compact(names), ","), !slices.Contains(names, "*")
}

// singleLine returns the value of a header field, or "" if the field does not
// have exactly one line.
func singleLine(h http.Header, name string) string {
	if lines := h[name]; len(lines) == 1 {
		return lines[0]
	}
	return ""
}
