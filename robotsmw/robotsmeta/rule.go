package robotsmeta

import "fmt"

// A Source says where a rule was found.
type Source uint8

const (
	Content    Source = iota // a text given to ParseContent
	XRobotsTag               // an X-Robots-Tag header line
	RobotsTag                // a Robots-Tag header line
	Meta                     // a <meta> element
)

// String returns "content", "X-Robots-Tag", "Robots-Tag" or "meta".
func (s Source) String() string {
	switch s {
	case XRobotsTag:
		return "X-Robots-Tag"
	case RobotsTag:
		return "Robots-Tag"
	case Meta:
		return "meta"
	}
	return "content"
}

// MarshalText is String.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (s *Source) UnmarshalText(text []byte) error {
	for _, known := range []Source{Content, XRobotsTag, RobotsTag, Meta} {
		if string(text) == known.String() {
			*s = known
			return nil
		}
	}
	return fmt.Errorf("robotsmeta: %q is no source of a rule", text)
}

// A Rule is one thing that was said, with where it was said.
type Rule struct {
	// Name is the directive in lower case, such as "noindex". Of an unknown one it is the text as written.
	Name string `json:"name"`

	// Value is the text after the colon, trimmed: "20" in max-snippet: 20. It is empty for directives without one.
	Value string `json:"value,omitempty"`

	// Known is false if the directive is none that this package knows, or if its value cannot be read. Such a rule
	// restricts nothing.
	Known bool `json:"known"`

	// Source is the kind of place it was found in.
	Source Source `json:"source"`

	// Scope is the robot's name as written there, as in "googlebot: noindex" or <meta name="googlebot">. It is empty
	// where everybody is meant.
	Scope string `json:"scope,omitempty"`

	// Line counts from 1. In a header it is the line among those of the same field; of a meta it is the line of the
	// page that the element begins in. It is 0 for a text given to ParseContent.
	Line int `json:"line,omitempty"`

	// Raw is the text as written, such as "Max-Snippet : 20". Spaces and commas beyond ASCII are those of ASCII here.
	Raw string `json:"raw"`
}
