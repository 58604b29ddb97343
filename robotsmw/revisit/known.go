package revisit

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/internal/freshness"
	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
)

// known is what is known of a URL. Zero means nothing.
type known struct {
	Page   *version `json:"page,omitempty"`   // the page as it last came
	Answer *version `json:"answer,omitempty"` // a 301, 308, 404, 410 or 429 that came after it, while fresh
	Asked  int64    `json:"asked"`            // Unix nanoseconds: when the last request began
}

// pages holds what is known of each URL.
type pages interface {
	get(ctx context.Context, key string) known

	// put replaces what is known of a URL, and forgets it if k is zero. It does
	// nothing if a request that began later has already changed it.
	put(key string, k known, began time.Time)
}

// A version is the page or an answer, as a server sent it. It is not changed
// once it is stored.
type version struct {
	Head       string                 `json:"head"`    // fields of the header, in the order of headFields, a line each
	Variant    uint64                 `json:"variant"` // a hash of the request's fields that Vary names
	Since      int64                  `json:"since"`   // Unix nanoseconds: when it came
	Until      int64                  `json:"until"`   // Unix nanoseconds: until when it is fresh
	Lifetime   time.Duration          `json:"lifetime"`
	Directives *robotsmeta.Directives `json:"directives,omitempty"` // nil means none
	Status     uint16                 `json:"status"`
	State      robotsmw.PageState     `json:"state"`
	NoCache    bool                   `json:"no_cache,omitempty"`
	Public     bool                   `json:"public,omitempty"`
}

// headFields are the fields of Head. One string for all keeps a page small.
var headFields = []string{"Etag", "Last-Modified", "Date", "Location", "Vary"}

// The places of the fields in Head.
const (
	etag = iota
	modified
	date
	location
	vary
)

func (v *version) field(i int) string {
	rest := v.Head
	for range i {
		_, rest, _ = strings.Cut(rest, "\n")
	}
	value, _, _ := strings.Cut(rest, "\n")
	return value
}

func (v *version) setField(i int, value string) {
	fields := strings.Split(v.Head, "\n")
	fields[i] = value
	v.Head = strings.Join(fields, "\n")
}

// isWhole reports whether Head has its fields, and they can be sent.
func (v *version) isWhole() bool {
	return v == nil || strings.Count(v.Head, "\n") == len(headFields)-1 && !strings.ContainsFunc(strings.ReplaceAll(v.Head, "\n", ""), unicode.IsControl)
}

// hasValidator reports whether the server can be asked for a change.
func (v *version) hasValidator() bool { return v.field(etag) != "" || v.field(modified) != "" }

// stale returns a copy of v that is not fresh.
func (v *version) stale() *version {
	if v == nil {
		return nil
	}
	old := *v
	old.Until = 0
	return &old
}

// freshUntil returns the time until which nothing is asked. It is zero if that
// is no later than now.
func (v *version) freshUntil(now time.Time) time.Time {
	if v == nil || v.Until <= now.UnixNano() {
		return time.Time{}
	}
	return time.Unix(0, v.Until)
}

func (v *version) directives() robotsmeta.Directives {
	if v == nil || v.Directives == nil {
		return robotsmeta.Directives{}
	}
	return *v.Directives
}

func (v *version) setDirectives(d robotsmeta.Directives) {
	for range d.Rules() {
		v.Directives = &d
		return
	}
	if d.Truncated() {
		v.Directives = &d
	}
}

// fresh returns the version that answers the request without asking the server,
// or nil.
func (k known) fresh(req *http.Request, now time.Time) *version {
	if now.UnixNano() < k.Asked {
		return nil // the clock was set back
	}
	wants := freshness.OfRequest(req.Header)
	age := time.Duration(now.UnixNano() - k.Asked)
	if wants.NoCache || req.Header.Get("Pragma") == "no-cache" || wants.Stated && age >= wants.Lifetime {
		return nil
	}
	for _, v := range []*version{k.Page, k.Answer} {
		if v.answers(req) && now.UnixNano() < v.Until {
			return v
		}
	}
	return nil
}

// answers reports whether v is the answer to such a request.
func (v *version) answers(req *http.Request) bool {
	return v != nil && (v.Public || len(req.Header["Authorization"]) == 0) && v.Variant == variantOf(req, v.field(vary))
}

// variantOf hashes the request's Cookie and the fields that Vary names. It is 0
// if the request has none of them.
func variantOf(req *http.Request, varies string) uint64 {
	var text []byte
	add := func(name string) {
		if values := req.Header[name]; len(values) > 0 {
			text = append(text, name+"\n"+strings.Join(values, ", ")+"\n"...)
		}
	}
	add("Cookie")
	if varies != "" {
		for name := range strings.SplitSeq(varies, ",") {
			add(name)
		}
	}
	if text == nil {
		return 0
	}
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}

// varyOf returns the names in Vary, in one form. ok is false for "*".
func varyOf(h http.Header) (names string, ok bool) {
	var list []string
	for _, line := range h["Vary"] {
		for name := range strings.SplitSeq(line, ",") {
			if name = http.CanonicalHeaderKey(strings.TrimSpace(name)); name != "" && name != "Cookie" {
				list = append(list, name)
			}
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), ","), !slices.Contains(list, "*")
}

// single returns the value of a field that has one line.
func single(h http.Header, name string) string {
	if lines := h[name]; len(lines) == 1 {
		return lines[0]
	}
	return ""
}
