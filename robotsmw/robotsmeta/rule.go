package robotsmeta

// The sources of rules, as in Rule.Source.
const (
	Content    = "content"      // a text given to ParseContent
	XRobotsTag = "X-Robots-Tag" // an X-Robots-Tag header line
	RobotsTag  = "Robots-Tag"   // a Robots-Tag header line
	Meta       = "meta"         // a <meta> element
)

// A Rule is one thing that was said, and the place where it was said.
type Rule struct {
	// Name is the directive in lower case, such as "noindex". For an unknown
	// directive it is the text as written.
	Name string `json:"name"`

	// Value is the text after the colon, trimmed. For the directive
	// "max-snippet: 20", it is "20". In Robots-Tag, it is the text after the
	// "=", without quotes around it. For tdm-reservation and tdm-policy, it is
	// the content of the meta. Value is empty for an unknown directive, for a
	// directive that takes no value, and for a value that cannot be read.
	Value string `json:"value,omitempty"`

	// Known is false if this package does not know the directive or cannot read
	// its value. A rule that is not known restricts nothing.
	Known bool `json:"known"`

	Source string `json:"source"` // where the rule was found, such as XRobotsTag

	// Scope is the robot's name as the header or page has it, as in "googlebot:
	// noindex" or <meta name="googlebot">. It is empty if the rule is for
	// everybody.
	Scope string `json:"scope,omitempty"`

	// Line counts from 1. For a header, it is the number of the line among the
	// lines of the same field. For a meta, it is the line of the page in which
	// the element begins. For a text given to ParseContent, it is 0.
	Line int `json:"line,omitempty"`

	// Raw is the text as written, such as "Max-Snippet : 20". But spaces,
	// commas, colons and semicolons beyond ASCII may be replaced by those of
	// ASCII.
	Raw string `json:"raw"`
}
