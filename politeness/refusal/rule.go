package refusal

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// A Rule is an indicator of a refusal that the built-in table does not contain,
// such as the block page of a site with its own bot protection. Its conditions
// are Statuses, Header and Text. A response is a refusal if it meets all
// conditions that are set, and at least one of them must be set.
type Rule struct {
	// By is the name of the service, for [Refusal.By]. It may be empty.
	By string

	// Kind is the kind of the refusal. It is required.
	Kind Kind

	// Sure reports whether the rule is certain, for [Refusal.Sure]. Crawlers do
	// not store the response of a sure refusal as a page, so a rule should be
	// sure only if no ordinary page of the crawled sites can meet it.
	Sure bool

	// Statuses are the statuses that the rule applies to, each of them 100 to
	// 999. Empty means all. If it is the only condition, each status must be at
	// least 400, because otherwise the rule would match every ordinary page or
	// redirect.
	Statuses []int

	// Header is the name of a header field that the response must have, in any
	// case. Empty means that the header is not inspected.
	Header string

	// HeaderValue is a text that a value of the field must contain, as
	// printable ASCII. The comparison ignores case. Empty means any value. It
	// must be empty if Header is.
	HeaderValue string

	// Text are texts that the first 16 KiB of the decoded body must contain.
	// The comparison is byte for byte, so a text must be written in the
	// encoding of the page. None of them may be empty, or longer than [Window].
	// No text means that the body is not inspected, and then [Detector.Of]
	// suffices.
	//
	// Unlike the built-in indicators, the texts are searched in bodies of any
	// length and media type. Several specific texts, or a text together with a
	// status of 400 and above, avoid mistaking pages that quote the block page.
	Text []string
}

// A Detector recognizes refusals by additional rules and by the built-in table.
// A nil Detector and the zero value use the table alone, as the functions [Of]
// and [OfPage] do. A Detector is safe for concurrent use.
type Detector struct {
	rules []*detectorRule
}

// A detectorRule is a validated Rule in the form that is searched for.
type detectorRule struct {
	Rule
	texts [][]byte
}

// NewDetector returns a Detector with additional rules. The rules are tried in
// order, before the built-in table. It returns an error if a field of a rule
// has an invalid value. A crawler sets the Detector as the option Refusals of
// package robotsmw.
func NewDetector(rules ...Rule) (*Detector, error) {
	d := new(Detector)
	for i, rule := range rules {
		if err := rule.validate(); err != nil {
			return nil, fmt.Errorf("refusal: rule %d: %w", i, err)
		}
		// The caller may change its slices later.
		rule.Statuses = slices.Clone(rule.Statuses)
		rule.Text = slices.Clone(rule.Text)
		rule.Header = http.CanonicalHeaderKey(rule.Header)
		d.rules = append(d.rules, &detectorRule{Rule: rule, texts: substrings(rule.Text...)})
	}
	return d, nil
}

func (r *Rule) validate() error {
	if Kind(0).String() == r.Kind.String() {
		return errors.New("the Kind is not one of the constants of this package")
	}
	for _, status := range r.Statuses {
		if status < 100 || status > 999 {
			return fmt.Errorf("status %d in Statuses is not from 100 to 999", status)
		}
	}
	if r.Header == "" && len(r.Text) == 0 {
		if len(r.Statuses) == 0 {
			return errors.New("there is no condition; set Statuses, Header or Text")
		}
		if lowest := slices.Min(r.Statuses); lowest < 400 {
			return fmt.Errorf("status %d in Statuses needs a Header or a Text; "+
				"otherwise all responses with this status would be refusals", lowest)
		}
	}
	if r.Header != "" && !isToken(r.Header) {
		return fmt.Errorf("the Header %q is not the name of a header field", r.Header)
	}
	if r.Header == "" && r.HeaderValue != "" {
		return fmt.Errorf("the HeaderValue is %q, but Header is empty", r.HeaderValue)
	}
	if strings.TrimFunc(r.HeaderValue, isPrintable) != "" {
		return fmt.Errorf("the HeaderValue %q is not printable ASCII", r.HeaderValue)
	}
	for _, text := range r.Text {
		if text == "" {
			return errors.New("a text in Text is empty, and all bodies contain it")
		}
		if len(text) > Window {
			return fmt.Errorf("a text in Text has %d bytes, but only %d bytes of a body are searched",
				len(text), Window)
		}
	}
	return nil
}

// isToken reports whether s is a token (RFC 9110 §5.6.2), as the names of
// header fields are.
func isToken(s string) bool {
	isTokenChar := func(r rune) bool {
		isLetter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
		isDigit := '0' <= r && r <= '9'
		return isLetter || isDigit || strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	}
	return s != "" && strings.TrimFunc(s, isTokenChar) == ""
}

// Of is like the function [Of], but first tries the rules of d that have no
// Text.
func (d *Detector) Of(resp *http.Response) (r Refusal, ok bool) {
	if d != nil && resp != nil {
		for _, rule := range d.rules {
			if value, matches := rule.matchHeader(resp); matches && len(rule.texts) == 0 {
				return rule.refusal(resp, value), true
			}
		}
	}
	return Of(resp)
}

// OfPage is like the function [OfPage], but first tries the rules of d. A
// refusal that a rule finds is Sure if the rule is.
func (d *Detector) OfPage(resp *http.Response, begin []byte) (r Refusal, ok bool) {
	if d != nil && resp != nil {
		text := begin[:min(len(begin), Window)]
		for _, rule := range d.rules {
			if value, matches := rule.matchHeader(resp); matches && rule.matchText(text) {
				return rule.refusal(resp, value), true
			}
		}
	}
	return OfPage(resp, begin)
}

// matchHeader reports whether the status and header of resp meet the rule, and
// returns the value of the header field, if the rule has one.
func (r *detectorRule) matchHeader(resp *http.Response) (value string, ok bool) {
	if !hasStatus(r.Statuses, resp.StatusCode) {
		return "", false
	}
	if r.Header == "" {
		return "", true
	}
	for _, v := range resp.Header[r.Header] {
		if containsFold(v, r.HeaderValue) {
			return strings.TrimSpace(v), true
		}
	}
	return "", false
}

// matchText reports whether text contains all texts of the rule.
func (r *detectorRule) matchText(text []byte) bool {
	for _, t := range r.texts {
		if !bytes.Contains(text, t) {
			return false
		}
	}
	return true
}

// refusal returns the Refusal for a response that meets the rule. value is that
// of the header field.
func (r *detectorRule) refusal(resp *http.Response, value string) Refusal {
	found := Refusal{By: sanitize(r.By), Kind: r.Kind, Sure: r.Sure}
	evidence := strconv.Itoa(resp.StatusCode)
	if r.Header != "" {
		evidence += ", " + strings.ToLower(r.Header) + ": " + value
	}
	if len(r.Text) > 0 {
		evidence += ", the page has " + strings.Join(r.Text, " and ")
	}
	found.Evidence = sanitize(evidence)
	found.addTerms(resp.Header)
	return found
}

// containsFold reports whether s contains sub, which is ASCII, ignoring case.
func containsFold(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if strings.EqualFold(s[i:i+len(sub)], sub) {
			return true
		}
	}
	return false
}
