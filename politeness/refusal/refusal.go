// Package refusal recognizes responses of bot protection.
//
// Many sites use a service that responds instead of the site if it considers
// the client a robot. The response is a challenge, a captcha, a block page, a
// price or a request for a license, and its status may be 200 or 202. A crawler
// that looks only at the status would store it as the content of the page, or
// parse it as a robots.txt without rules.
//
//	if r, ok := refusal.Of(resp); ok && r.Sure {
//		return fmt.Errorf("%s refused: %s (%s)", r.By, r.Kind, r.Evidence)
//	}
//
// [Of] inspects the status and header. [OfPage] also searches the first 16 KiB
// of the body for text that is typical of block pages. Such text is not proof,
// because ordinary pages quote block pages, embed captchas and load scripts of
// bot protection. A refusal found in a body is therefore not Sure, unless it is
// found by a [Rule] that is.
//
// The indicators are a table in table.go, with the source of each of them. For
// other block pages, [NewDetector] takes additional rules: the status, a header
// field and texts in the first 16 KiB of the body.
//
// The package does not solve or evade challenges. A polite crawler should
// report a refusal, pause requests to the host, and retry later.
package refusal

import (
	"bytes"
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Window is the number of bytes of a body that [OfPage] searches: 16 KiB.
const Window = 16 << 10

// A Refusal describes a response of bot protection.
type Refusal struct {
	// By is the name of the service, such as "Cloudflare". If Kind is Legal, it
	// is the target of a Link with rel="blocked-by". It is empty if the
	// response does not identify the service.
	By string `json:"by,omitempty"`

	// Kind is the kind of the refusal. The zero value means no refusal.
	Kind Kind `json:"kind"`

	// Sure reports whether the indicator is certain: a status or header field
	// that is documented, or that has been observed at many sites. Some
	// cookies, and all indicators in a body, are not certain, because ordinary
	// responses may contain them too. An additional [Rule] states whether it is
	// certain.
	Sure bool `json:"sure"`

	// Evidence describes the indicator for a log: the status and the header
	// field or the text of the body, as at most 300 bytes of printable ASCII.
	Evidence string `json:"evidence,omitempty"`

	// Price and Currency are the price of the page, such as "0.01" and "USD",
	// from the header field crawler-price. They are set only if Kind is Payment
	// and the field is valid.
	Price    string `json:"price,omitempty"`
	Currency string `json:"currency,omitempty"`

	// License is the URL of the terms, from a Link with rel="license" (RSL
	// 1.0). It is set only if Kind is Payment or License. It may be relative,
	// and is limited to 300 bytes of printable ASCII.
	License string `json:"license,omitempty"`
}

// String returns a description such as "Cloudflare: challenge (403,
// cf-mitigated: challenge)". If the refusal is not Sure, the kind is preceded
// by "likely".
func (r Refusal) String() string {
	likely := ""
	if !r.Sure {
		likely = "likely "
	}
	return cmp.Or(r.By, "the server") + ": " + likely + r.Kind.String() + " (" + r.Evidence + ")"
}

// Of reports whether the status and header of resp are those of a refusal. It
// does not read the body, and it allocates memory only for a refusal. If resp
// is nil, ok is false.
func Of(resp *http.Response) (r Refusal, ok bool) {
	if resp == nil {
		return Refusal{}, false
	}
	ind, value := findHeader(resp)
	if ind == nil {
		return Refusal{}, false
	}
	return ind.refusal(resp, value), true
}

// findHeader returns the first indicator in the status and header of resp, and
// the value of its header field, which is empty if the status alone is the
// indicator. It returns nil if there is none.
func findHeader(resp *http.Response) (ind *headerIndicator, value string) {
	indicators := headerIndicators
	if resp.StatusCode == http.StatusOK {
		indicators = okIndicators
	}
	// Consecutive indicators often have the same field, which is then looked up
	// only once.
	var name string
	var lines []string
	for _, ind := range indicators {
		if !hasStatus(ind.statuses, resp.StatusCode) {
			continue
		}
		if ind.field.name == "" {
			return ind, ""
		}
		if ind.field.name != name {
			name = ind.field.name
			lines = resp.Header[name]
		}
		for _, v := range lines {
			if ind.field.matches(v) {
				return ind, strings.TrimSpace(v)
			}
		}
	}
	return nil, ""
}

// okIndicators are the headerIndicators that apply to status 200, which most
// responses have.
var okIndicators = slices.DeleteFunc(slices.Clone(headerIndicators), func(ind *headerIndicator) bool {
	return !hasStatus(ind.statuses, http.StatusOK)
})

// hasStatus reports whether an indicator with the given statuses applies to a
// status.
func hasStatus(statuses []int, status int) bool {
	return len(statuses) == 0 || slices.Contains(statuses, status)
}

// OfPage is like [Of], but also searches the body. begin is the beginning of
// the decoded body, of which at most [Window] bytes are searched. A refusal
// found in the body is not Sure.
//
// To avoid mistaking other responses for block pages, the body must begin like
// the block page, which is usually HTML. Some indicators also require a short
// body, whose length is the greater of len(begin) and resp.ContentLength, or
// are the whole title of the page.
func OfPage(resp *http.Response, begin []byte) (r Refusal, ok bool) {
	r, ok = Of(resp)
	if ok || resp == nil {
		return r, ok
	}
	if ind := findPage(resp.StatusCode, begin, resp.ContentLength); ind != nil {
		return Refusal{By: ind.by, Kind: ind.kind, Evidence: ind.evidence(resp.StatusCode)}, true
	}
	if ind := findTitle(begin); ind != nil {
		evidence := strconv.Itoa(resp.StatusCode) + ", the page has the title " + ind.title
		return Refusal{By: ind.by, Kind: ind.kind, Evidence: evidence}, true
	}
	return Refusal{}, false
}

// titleWindow is the number of bytes of a body that contain the whole title, if
// the title is that of a block page.
const titleWindow = 2 << 10

// findTitle returns the indicator that is the title of an HTML page, or nil.
func findTitle(begin []byte) *titleIndicator {
	text := trimStart(begin[:min(len(begin), titleWindow)])
	if len(text) == 0 || text[0] != '<' {
		return nil
	}
	_, rest, _ := bytes.Cut(text, []byte("<title>"))
	title, _, hasEnd := bytes.Cut(rest, []byte("</title>"))
	if !hasEnd {
		return nil
	}
	title = bytes.TrimSpace(title)
	for i := range titleIndicators {
		if ind := &titleIndicators[i]; string(title) == ind.title {
			return ind
		}
	}
	return nil
}

// trimStart removes a byte order mark and white space from the beginning of a
// body.
func trimStart(text []byte) []byte {
	if len(text) > 0 && text[0] == '<' { // fast path for nearly all pages
		return text
	}
	return bytes.TrimLeft(text, "\ufeff \t\r\n\f\v")
}

// findPage returns the first indicator in a body, or nil. begin is the
// beginning of the body. contentLength is -1 if it is unknown.
func findPage(status int, begin []byte, contentLength int64) *pageIndicator {
	text := trimStart(begin[:min(len(begin), Window)])
	for i := range pageIndicators {
		ind := &pageIndicators[i]
		if hasStatus(ind.statuses, status) && ind.permitsLength(contentLength) && ind.isIn(text) {
			return ind
		}
	}
	return nil
}

// pricePattern matches the value of crawler-price, such as "USD 0.01".
var pricePattern = regexp.MustCompile(`^\s*([A-Za-z]{3})\s+([0-9]{0,16}\.?[0-9]{1,15})\s*$`)

// refusal returns the Refusal for a response with the indicator.
func (ind *headerIndicator) refusal(resp *http.Response, value string) Refusal {
	r := Refusal{By: ind.by, Kind: ind.kind, Sure: ind.sure}
	status := strconv.Itoa(resp.StatusCode)
	if ind.field.name == "" {
		r.Evidence = status + " " + http.StatusText(resp.StatusCode)
	} else {
		r.Evidence = sanitize(status + ", " + strings.ToLower(ind.field.name) + ": " + value)
	}
	r.addTerms(resp.Header)
	return r
}

// addTerms sets the fields of r that depend on its kind, from the header of the
// response: the price, the license, and who demanded a legal block.
func (r *Refusal) addTerms(h http.Header) {
	switch r.Kind {
	case Payment:
		if m := pricePattern.FindStringSubmatch(h.Get("Crawler-Price")); m != nil {
			r.Currency = strings.ToUpper(sanitize(m[1]))
			r.Price = sanitize(m[2])
		}
		r.License = findLink(h, "license")
	case License:
		r.License = findLink(h, "license")
	case Legal:
		r.By = cmp.Or(findLink(h, "blocked-by"), r.By)
	}
}

// matches reports whether a value of the header field is that of the indicator,
// ignoring white space around it.
func (f *field) matches(value string) bool {
	value = strings.TrimSpace(value)
	switch f.comparison {
	case equal:
		return strings.EqualFold(value, f.value)
	case hasPrefix:
		return len(value) >= len(f.value) && strings.EqualFold(value[:len(f.value)], f.value)
	}
	return true
}

// permitsLength reports whether the indicator applies to a body of the given
// length. It does if the length is unknown, which is -1.
func (ind *pageIndicator) permitsLength(n int64) bool {
	return ind.maxLength == 0 || n <= int64(ind.maxLength)
}

// isIn reports whether the indicator is in text, which is the beginning of a
// body without leading white space.
func (ind *pageIndicator) isIn(text []byte) bool {
	if !ind.permitsLength(int64(len(text))) || !bytes.HasPrefix(text, []byte(ind.prefix)) {
		return false
	}
	for _, sub := range ind.substrings {
		// Searching for the part that begins with "_" or "x" first is faster,
		// because these letters are rare in HTML.
		rarePart := sub[max(0, bytes.IndexAny(sub, "_x")):]
		if !bytes.Contains(text, rarePart) || !bytes.Contains(text, sub) {
			return false
		}
	}
	return true
}

func (ind *pageIndicator) evidence(status int) string {
	text := string(bytes.Join(ind.substrings, []byte(" and ")))
	return sanitize(strconv.Itoa(status) + ", the page has " + cmp.Or(text, ind.prefix))
}

// findLink returns the target of the first link with the given relation in the
// Link fields (RFC 8288 §3), or "".
func findLink(h http.Header, relation string) string {
	for _, line := range h["Link"] {
		for link := range strings.SplitSeq(line, "<") {
			target, params, _ := strings.Cut(link, ">")
			if hasRelation(params, relation) {
				return sanitize(target)
			}
		}
	}
	return ""
}

// hasRelation reports whether the parameters of a link, which may end with a
// comma, include rel with the given relation.
func hasRelation(params, relation string) bool {
	for param := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(param, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "rel") {
			continue
		}
		for word := range strings.FieldsSeq(strings.Trim(value, "\", \t")) {
			if strings.EqualFold(word, relation) {
				return true
			}
		}
	}
	return false
}

const maxText = 300 // maximum length of the strings in a Refusal, in bytes

// sanitize replaces all bytes that are not printable ASCII, and truncates s to
// maxText bytes. The result is a copy, because s may be a part of a header that
// has megabytes.
func sanitize(s string) string {
	isTooLong := len(s) > maxText
	if isTooLong {
		s = s[:maxText-len("...")]
	}
	clean := strings.Map(func(r rune) rune {
		if !isPrintable(r) {
			return '?'
		}
		return r
	}, s)
	if isTooLong {
		return clean + "..."
	}
	return strings.Clone(clean) // strings.Map returns s if nothing is replaced
}

func isPrintable(r rune) bool { return ' ' <= r && r <= '~' }
