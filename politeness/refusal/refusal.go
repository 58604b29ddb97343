// Package refusal recognizes answers that say "no" in place of the page.
//
// Many sites are behind a wall: a service that answers in the site's place if
// it takes the visitor for a robot. The answer is a challenge, a captcha, a
// block, a price or a demand for a licence. Some walls send such an answer with
// status 200 or 202. If a crawler looks only at the status, it keeps the wall's
// page as content, or reads the page as a robots.txt without rules.
//
//	if r, ok := refusal.Of(resp); ok && r.Sure {
//		return fmt.Errorf("%s refused: %s (%s)", r.By, r.Kind, r.Evidence)
//	}
//
// [Of] looks at status and header alone. [OfPage] also looks for the marks that
// walls leave in the first 16 KiB of a page. A mark proves nothing, because
// ordinary pages quote the pages of walls, embed captchas and load the scripts
// of walls. So a refusal found by a mark is never Sure.
//
// The signs are a table, in table.go. Each row names its source.
//
// This package does not solve, retry or evade challenges. A polite crawler
// reports a refusal, lets the host rest, and comes back later.
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

// Window is the number of bytes of a page that [OfPage] looks at: 16 KiB.
const Window = 16 << 10

// A Refusal describes an answer that refuses the page.
type Refusal struct {
	// By names the service that refuses, such as "Cloudflare". For Legal, By is
	// the target of a Link field with rel="blocked-by". By is empty if the
	// answer does not name the service.
	By string `json:"by,omitempty"`

	// Kind is the kind of the refusal. The zero value means no refusal.
	Kind Kind `json:"kind"`

	// Sure reports whether the sign that was found is certain. A certain sign
	// is a status or a header field that is documented, or that was seen at
	// many sites. Other signs, such as some cookies and all marks in a page,
	// are not certain, because ordinary answers may have them too.
	Sure bool `json:"sure"`

	// Evidence says what was found: the status, and the header field or the
	// mark. It is a text for a log: printable ASCII of at most 300 bytes.
	Evidence string `json:"evidence,omitempty"`

	// Price and Currency are the price of the page, such as "0.01" and "USD",
	// if Kind is Payment. They come from the header field crawler-price. They
	// are empty if that field is missing or malformed.
	Price    string `json:"price,omitempty"`
	Currency string `json:"currency,omitempty"`

	// License is the address of the terms, if Kind is Payment or License. It is
	// the target of a Link field with rel="license" (RSL 1.0). It is not
	// resolved against the URL of the page, and is cut to 300 bytes of
	// printable ASCII. It is empty if the answer has no such link.
	License string `json:"license,omitempty"`
}

// String returns the refusal in one line, such as "Cloudflare: challenge (403,
// cf-mitigated: challenge)". If the refusal is not Sure, "likely" precedes the
// kind.
func (r Refusal) String() string {
	likely := ""
	if !r.Sure {
		likely = "likely "
	}
	return cmp.Or(r.By, "the server") + ": " + likely + r.Kind.String() + " (" + r.Evidence + ")"
}

// Of reports whether resp is a refusal, by its status and header alone. It
// reads no body, changes nothing, and allocates only if there is a refusal. A
// nil resp is no refusal.
func Of(resp *http.Response) (Refusal, bool) {
	if resp == nil {
		return Refusal{}, false
	}
	s, value := findHeader(resp)
	if s == nil {
		return Refusal{}, false
	}
	return s.refusal(resp, value), true
}

// findHeader returns the first sign in the status and header of resp, or nil.
// value is the value of the sign's header field. It is empty if the status
// alone is the sign.
func findHeader(resp *http.Response) (sign *headerSign, value string) {
	signs := headerSigns
	if resp.StatusCode == http.StatusOK {
		signs = signsOfOK
	}
	for _, s := range signs {
		if !hasStatus(s.statuses, resp.StatusCode) {
			continue
		}
		if s.field.name == "" {
			return s, ""
		}
		for _, v := range resp.Header[s.field.name] {
			if s.field.matches(v) {
				return s, strings.TrimSpace(v)
			}
		}
	}
	return nil, ""
}

// signsOfOK are the headerSigns that count with the status of nearly all
// answers.
var signsOfOK = slices.DeleteFunc(slices.Clone(headerSigns), func(s *headerSign) bool { return !hasStatus(s.statuses, http.StatusOK) })

// hasStatus reports whether a sign with these statuses counts with status.
func hasStatus(statuses []int, status int) bool {
	return len(statuses) == 0 || slices.Contains(statuses, status)
}

// OfPage is like [Of]. If Of finds nothing, OfPage also looks for the marks of
// walls in the body. The argument begin is the decoded beginning of the body.
// OfPage reads at most [Window] bytes of it. A refusal found by a mark is not
// Sure.
//
// A mark counts only in a body that begins like the wall's page, which is HTML
// in most cases. So a robots.txt that names a wall's paths is not taken for the
// wall's page. Some marks count only in a short page. The length of a page is
// len(begin) or resp.ContentLength, whichever is greater.
func OfPage(resp *http.Response, begin []byte) (Refusal, bool) {
	if r, ok := Of(resp); ok || resp == nil {
		return r, ok
	}
	s := findPage(resp.StatusCode, begin, resp.ContentLength)
	if s == nil {
		return Refusal{}, false
	}
	return Refusal{By: s.by, Kind: s.kind, Evidence: s.evidence(resp.StatusCode)}, true
}

// findPage returns the first sign that a body shows, or nil. begin is the
// beginning of the body. length is the body's Content-Length, or -1.
func findPage(status int, begin []byte, length int64) *pageSign {
	text := begin[:min(len(begin), Window)]
	if len(text) > 0 && text[0] != '<' { // nearly every page begins with "<"
		text = bytes.TrimLeft(text, "\ufeff \t\r\n\f\v")
	}
	for i := range pageSigns {
		s := &pageSigns[i]
		if hasStatus(s.statuses, status) && (s.atMost == 0 || length <= int64(s.atMost)) && s.isIn(text) {
			return s
		}
	}
	return nil
}

// price matches the value of a crawler-price, such as "USD 0.01".
var price = regexp.MustCompile(`^\s*([A-Za-z]{3})\s+([0-9]{0,16}\.?[0-9]{1,15})\s*$`)

func (s *headerSign) refusal(resp *http.Response, value string) Refusal {
	r := Refusal{By: s.by, Kind: s.kind, Sure: s.sure}
	if s.field.name == "" {
		r.Evidence = strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode)
	} else {
		r.Evidence = printable(strconv.Itoa(resp.StatusCode) + ", " + strings.ToLower(s.field.name) + ": " + value)
	}
	switch s.kind {
	case Payment:
		if m := price.FindStringSubmatch(resp.Header.Get("Crawler-Price")); m != nil {
			r.Currency, r.Price = strings.ToUpper(printable(m[1])), printable(m[2])
		}
		r.License = linkTo(resp.Header, "license")
	case License:
		r.License = linkTo(resp.Header, "license")
	case Legal:
		r.By = linkTo(resp.Header, "blocked-by")
	}
	return r
}

// matches reports whether a header field with this value shows f. White space
// around the value does not count.
func (f *field) matches(value string) bool {
	if f.how == present {
		return true
	}
	value = strings.TrimSpace(value)
	if f.how == begins && len(value) > len(f.value) {
		value = value[:len(f.value)]
	}
	return strings.EqualFold(value, f.value)
}

// isIn reports whether a body shows the sign. text is the beginning of the
// body, after any white space.
func (s *pageSign) isIn(text []byte) bool {
	if s.atMost > 0 && len(text) > s.atMost || !bytes.HasPrefix(text, []byte(s.begins)) {
		return false
	}
	for _, mark := range s.marks {
		rest := mark[max(0, bytes.IndexAny(mark, "_x")):] // these letters are rare in HTML, so the search is faster
		if !bytes.Contains(text, rest) || !bytes.Contains(text, mark) {
			return false
		}
	}
	return true
}

func (s *pageSign) evidence(status int) string {
	what := string(bytes.Join(s.marks, []byte(" and ")))
	return printable(strconv.Itoa(status) + ", the page has " + cmp.Or(what, s.begins))
}

// linkTo returns the target of the first link with this relation in the Link
// fields (RFC 8288 §3), or "" if there is no such link.
func linkTo(h http.Header, relation string) string {
	isRelation := func(word string) bool { return strings.EqualFold(word, relation) }
	for _, line := range h["Link"] {
		for link := range strings.SplitSeq(line, "<") {
			target, params, _ := strings.Cut(link, ">")
			for param := range strings.SplitSeq(params, ";") {
				name, value, _ := strings.Cut(param, "=")
				words := strings.Fields(strings.Trim(value, "\", \t")) // a comma before the next link may follow
				if strings.EqualFold(strings.TrimSpace(name), "rel") && slices.ContainsFunc(words, isRelation) {
					return printable(target)
				}
			}
		}
	}
	return ""
}

// printable returns s as printable ASCII of at most 300 bytes. The result
// shares no memory with s, because s may be part of a header of megabytes.
func printable(s string) string {
	const most = 300
	cut := len(s) > most
	if cut {
		s = s[:most-len("...")]
	}
	clean := strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, s)
	if cut {
		return clean + "..."
	}
	return strings.Clone(clean) // Map returns s itself if it changes nothing
}
