package robotsmeta

import "strings"

// The sources of rules, in the field Source of a [Rule].
const (
	Content    = "content"      // a text passed to ParseContent
	XRobotsTag = "X-Robots-Tag" // an X-Robots-Tag header line
	RobotsTag  = "Robots-Tag"   // a Robots-Tag header line
	Meta       = "meta"         // a <meta> element
)

// A Rule is a single directive of a header or page, with its position.
type Rule struct {
	// Name is the directive in lower case, such as "noindex". If the directive
	// is not known, Name is unchanged text of the header or page.
	Name string `json:"name"`

	// Value is the value of the directive, such as "20" for "max-snippet: 20".
	// For tdm-reservation and tdm-policy, Value is the content of the meta
	// element. Value is empty if the directive is not known, takes no value, or
	// has an invalid value.
	Value string `json:"value,omitempty"`

	// Known reports whether the directive is known and its value is valid. A
	// Rule that is not Known has no effect.
	Known bool `json:"known"`

	Source string `json:"source"` // XRobotsTag, RobotsTag, Meta or Content

	// Scope is the name of the robot that the directive is for, as in
	// "googlebot: noindex" or <meta name="googlebot">. It is empty if the
	// directive is for all robots.
	Scope string `json:"scope,omitempty"`

	// Line is the number, counted from 1, of the header line among the lines of
	// the same field, or of the line of the page in which the meta element
	// begins. It is 0 for a text passed to ParseContent.
	Line int `json:"line,omitempty"`

	// Raw is the text of the directive, such as "Max-Snippet : 20". White
	// space and punctuation outside of ASCII may be replaced by ASCII.
	Raw string `json:"raw"`
}

// clone returns a copy of the rule that does not retain the text that was
// parsed. Programs may keep Directives for a long time, and a header line may
// be a megabyte long.
func (rule Rule) clone() Rule {
	if rule.Known && rule.Raw == rule.Name {
		rule.Raw = rule.Name // no copy, because the names of directives are constants
	} else {
		rule.Raw = strings.Clone(rule.Raw)
	}
	rule.Value = substring(rule.Raw, rule.Value)
	if !rule.Known {
		rule.Name = substring(rule.Raw, rule.Name)
	}
	return rule
}

// substring returns a substring of s that equals sub. If there is none, it
// returns a copy of sub.
func substring(s, sub string) string {
	if i := strings.Index(s, sub); i >= 0 {
		return s[i : i+len(sub)]
	}
	return strings.Clone(sub)
}
