package robotsmeta

import (
	"encoding/json"
	"fmt"
	"time"
)

// storedDirectives is the JSON of a Directives. Says names the directives
// without a value in force. They are listed apart from the rules, because only
// the first 256 rules are kept.
type storedDirectives struct {
	Says      []string   `json:"says,omitempty"`
	Image     string     `json:"max-image-preview,omitempty"`
	Snippet   *int32     `json:"max-snippet,omitempty"`
	Video     *int32     `json:"max-video-preview,omitempty"`
	After     *time.Time `json:"unavailable_after,omitempty"`
	Truncated bool       `json:"truncated,omitempty"`
	Rules     []Rule     `json:"rules,omitempty"`
}

// MarshalJSON returns everything that d says, for a store of pages.
// UnmarshalJSON reads it again.
func (d Directives) MarshalJSON() ([]byte, error) {
	s := storedDirectives{Image: d.MaxImagePreview(), Truncated: d.Truncated(), Rules: d.rules}
	for _, sameLength := range directives {
		for _, dir := range sameLength {
			single := dir.flags&(dir.flags-1) == 0
			if dir.kind == bare && single && d.flags&dir.flags != 0 && dir.name != "nocache" {
				s.Says = append(s.Says, dir.name)
			}
		}
	}
	if d.flags&hasSnippet != 0 {
		s.Snippet = &d.snippet
	}
	if d.flags&hasVideo != 0 {
		s.Video = &d.video
	}
	if d.flags&hasAfter != 0 {
		s.After = &d.after
	}
	return json.Marshal(s)
}

// UnmarshalJSON reads what MarshalJSON has written. It returns an error for
// JSON of another form, and for a directive that this package does not know: to
// leave it out could lift a restriction.
func (d *Directives) UnmarshalJSON(text []byte) error {
	var s storedDirectives
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("robotsmeta: reading stored directives: %w", err)
	}
	read := Directives{rules: s.Rules}
	for _, name := range s.Says {
		dir, ok := lookup(name)
		if !ok || dir.kind != bare {
			return fmt.Errorf("robotsmeta: stored directives name %q, which is not known", name)
		}
		read.flags |= dir.flags
	}
	if s.Truncated {
		read.flags |= truncated
	}
	if s.Snippet != nil {
		read.snippet, read.flags = *s.Snippet, read.flags|hasSnippet
	}
	if s.Video != nil {
		read.video, read.flags = *s.Video, read.flags|hasVideo
	}
	if s.After != nil {
		read.expire(*s.After)
	}
	if s.Image != "" {
		if dir, _ := lookup("max-image-preview"); !read.set(dir, s.Image) {
			return fmt.Errorf("robotsmeta: stored directives have the max-image-preview %q, which is not known", s.Image)
		}
	}
	*d = read
	return nil
}
