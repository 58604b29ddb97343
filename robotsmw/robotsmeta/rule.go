package robotsmeta

// A Source says where a rule was found. It is its own text.
type Source string

// The sources.
const (
	Content    Source = "content"      // a text given to ParseContent
	XRobotsTag Source = "X-Robots-Tag" // an X-Robots-Tag header line
	RobotsTag  Source = "Robots-Tag"   // a Robots-Tag header line
	Meta       Source = "meta"         // a <meta> element
)

// A Rule is one thing that was said, with where it was said.
type Rule struct {
	// Name is the directive in lower case, such as "noindex". Of an unknown one
	// it is the text as written.
	Name string `json:"name"`

	// Value is the text after the colon, trimmed: "20" in max-snippet: 20. It
	// is empty for directives without one.
	Value string `json:"value,omitempty"`

	// Known is false if the directive is none that this package knows, or if
	// its value cannot be read. Such a rule restricts nothing.
	Known bool `json:"known"`

	// Source is the kind of place it was found in.
	Source Source `json:"source"`

	// Scope is the robot's name as written there, as in "googlebot: noindex" or
	// <meta name="googlebot">. It is empty where everybody is meant.
	Scope string `json:"scope,omitempty"`

	// Line counts from 1. In a header it is the line among those of the same
	// field; of a meta it is the line of the page that the element begins in.
	// It is 0 for a text given to ParseContent.
	Line int `json:"line,omitempty"`

	// Raw is the text as written, such as "Max-Snippet : 20". Spaces and commas
	// beyond ASCII are those of ASCII here.
	Raw string `json:"raw"`
}
