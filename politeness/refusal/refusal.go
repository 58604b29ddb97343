// Package refusal tells an answer that is the page from one that is a "no".
//
// In front of many sites stands a wall: a service that answers in the site's
// place when it takes a visitor for a robot. Its answer is a challenge, a
// captcha, a block, a price or a demand for a licence. Some walls send it with
// status 200 or 202, so a crawler that looks at the status alone keeps the
// wall's page as content, or reads it as a robots.txt without rules.
//
//	if r, ok := refusal.Of(resp); ok && r.Sure {
//		return fmt.Errorf("%s refused: %s (%s)", r.By, r.Kind, r.Evidence)
//	}
//
// [Of] looks at status and header alone. [OfPage] also looks for the marks
// that walls leave in the first 16 KiB of a page. A mark is a guess: ordinary
// pages quote such pages, embed captchas and load the scripts of walls. So what
// a mark says is never Sure.
//
// The signs are a table, in table.go. Each row names its source.
//
// Nothing here solves a challenge, retries one, or gets round it. A polite
// crawler reports a refusal, rests the host, and comes back later.
package refusal

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Window is how many bytes of a page [OfPage] looks at: 16 KiB.
const Window = 16 << 10

// A Refusal is what an answer says that is not the page.
type Refusal struct {
	// By names who refuses, such as "Cloudflare". It is empty where the answer
	// does not say.
	By string

	// Kind says what the refusal asks for. The zero value is no refusal.
	Kind Kind

	// Sure reports whether the status and a header that its maker documents, or
	// that many sites have shown, say so. A mark in a page is not sure.
	Sure bool

	// Evidence is what was found, for a log: the header field or the mark. It
	// is printable ASCII of at most 300 bytes.
	Evidence string

	// Price and Currency are what a Payment asks for, where the header field
	// crawler-price says so: "0.01" and "USD". Both are empty otherwise.
	Price, Currency string
}

// Of reports whether resp is a refusal, by its status and header alone. It
// reads no body, changes nothing, and allocates only if there is a refusal.
// A nil resp is none.
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

// findHeader returns the first sign that resp shows, and the field's value.
func findHeader(resp *http.Response) (sign *headerSign, value string) {
	var name string     // of the field looked up last: signs of one field follow each other
	var values []string // of that field
	for i := range headerSigns {
		s := &headerSigns[i]
		switch {
		case len(s.statuses) > 0 && !slices.Contains(s.statuses, resp.StatusCode):
			continue
		case s.field.name == "":
			return s, "" // the status says it all
		case s.field.name != name:
			name = s.field.name
			values = resp.Header[name]
		}
		for _, v := range values {
			if v = strings.TrimSpace(v); s.field.is(v) {
				return s, v
			}
		}
	}
	return nil, ""
}

// OfPage is [Of], and where that finds nothing it looks for the marks of walls
// in begin, the decoded beginning of the body. It looks at [Window] bytes at
// most. What a mark says is not Sure. Marks count in a body that begins as the
// wall's does, which mostly is HTML. So a robots.txt that names a wall's paths
// is not taken for the wall's page.
func OfPage(resp *http.Response, begin []byte) (Refusal, bool) {
	if r, ok := Of(resp); ok || resp == nil {
		return r, ok
	}
	s := findPage(resp.StatusCode, begin)
	if s == nil {
		return Refusal{}, false
	}
	return Refusal{By: s.by, Kind: s.kind, Evidence: s.evidence(resp.StatusCode)}, true
}

// findPage returns the first sign that a body of which begin is the beginning
// shows; nil is none.
func findPage(status int, begin []byte) *pageSign {
	begin = begin[:min(len(begin), Window)]
	text := bytes.TrimLeft(begin, "\ufeff \t\r\n\f\v")
	for i := range pageSigns {
		s := &pageSigns[i]
		if (len(s.statuses) == 0 || slices.Contains(s.statuses, status)) && s.isIn(text) {
			return s
		}
	}
	return nil
}

func (s *headerSign) refusal(resp *http.Response, value string) Refusal {
	r := Refusal{By: s.by, Kind: s.kind, Sure: s.sure}
	switch {
	case s.field.name == "":
		r.Evidence = printable(strconv.Itoa(resp.StatusCode) + " " + http.StatusText(resp.StatusCode))
	default:
		r.Evidence = printable(strconv.Itoa(resp.StatusCode) + ", " + strings.ToLower(s.field.name) + ": " + value)
	}
	switch s.kind {
	case Payment:
		r.Currency, r.Price = price(resp.Header.Get("Crawler-Price"))
	case Legal:
		r.By = printable(blockedBy(resp.Header))
	}
	return r
}

// is reports whether a field's value is the sign.
func (f *field) is(value string) bool {
	switch f.how {
	case equal:
		return strings.EqualFold(value, f.value)
	case begins:
		return len(value) >= len(f.value) && strings.EqualFold(value[:len(f.value)], f.value)
	}
	return true // present
}

// isIn reports whether text, a body without the white space before it, has the
// sign.
func (s *pageSign) isIn(text []byte) bool {
	if s.atMost > 0 && len(text) > s.atMost || !bytes.HasPrefix(text, []byte(s.begins)) {
		return false
	}
	for _, mark := range s.marks {
		if !bytes.Contains(text, []byte(mark)) {
			return false
		}
	}
	return true
}

func (s *pageSign) evidence(status int) string {
	what := strings.Join(s.marks, " and ")
	if what == "" {
		what = s.begins
	}
	return printable(strconv.Itoa(status) + ", the page has " + what)
}

// price reads "USD 0.01". Anything else is no price.
func price(value string) (currency, amount string) {
	currency, amount, ok := strings.Cut(strings.TrimSpace(value), " ")
	amount = strings.TrimSpace(amount)
	if !ok || len(currency) != 3 || len(amount) > 32 {
		return "", ""
	}
	if strings.Trim(currency, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz") != "" {
		return "", ""
	}
	if n, err := strconv.ParseFloat(amount, 64); err != nil || n < 0 || strings.Trim(amount, "0123456789.") != "" {
		return "", ""
	}
	return strings.Clone(strings.ToUpper(currency)), strings.Clone(amount)
}

// blockedBy returns the URL of the Link with rel="blocked-by" (RFC 7725 §4), or
// nothing.
func blockedBy(h http.Header) string {
	for _, line := range h["Link"] {
		for link := range strings.SplitSeq(line, ",") {
			target, params, ok := strings.Cut(strings.TrimSpace(link), ">")
			if ok && strings.HasPrefix(target, "<") && strings.Contains(strings.ToLower(params), "blocked-by") {
				return target[1:]
			}
		}
	}
	return ""
}

// printable returns s as printable ASCII of at most 300 bytes. It shares no
// memory with s, which may be a part of a header of megabytes.
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
	return strings.Clone(clean) // Map returns what it need not change
}
