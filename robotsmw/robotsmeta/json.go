package robotsmeta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// storedDirectives is the JSON of a Directives. Says has the directives in
// force, as the content of a meta. It is apart from the rules, because only the
// first 256 rules are kept.
type storedDirectives struct {
	Says      string `json:"says,omitempty"`
	Truncated bool   `json:"truncated,omitempty"`
	Reserved  bool   `json:"tdm_reserved,omitempty"` // see Says("tdm-reservation")
	Rules     []Rule `json:"rules,omitempty"`
}

// MarshalJSON returns everything that d says, for a store of pages.
// UnmarshalJSON reads it again.
func (d Directives) MarshalJSON() ([]byte, error) {
	var says []string
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		dir := directives[name]
		switch limit := d.Limit(name); {
		case limit != "":
			says = append(says, name+": "+limit)
		case dir.kind == bare && dir.flags != 0 && d.flags&dir.flags == dir.flags:
			says = append(says, name)
		}
	}
	if t, ok := d.UnavailableAfter(); ok {
		says = append(says, "unavailable_after: "+t.Format(time.RFC3339Nano))
	}
	return json.Marshal(storedDirectives{strings.Join(says, ", "), d.Truncated(), d.Says("tdm-reservation"), d.rules})
}

// UnmarshalJSON reads what MarshalJSON has written. It returns an error for
// JSON of another form, and for a directive that this package does not know: to
// leave it out could lift a restriction.
func (d *Directives) UnmarshalJSON(text []byte) error {
	var s storedDirectives
	if err := json.Unmarshal(text, &s); err != nil {
		return fmt.Errorf("robotsmeta: reading stored directives: %w", err)
	}
	read := ParseContent(s.Says)
	for r := range read.Rules() {
		if !r.Known {
			return fmt.Errorf("robotsmeta: stored directives say %q, which is not known", r.Raw)
		}
	}
	read.rules = s.Rules
	if s.Truncated {
		read.flags |= truncated
	}
	isReserved := func(r Rule) bool { return r.Source == Meta && r.Name == "tdm-reservation" && r.Value == "1" }
	if s.Reserved || slices.ContainsFunc(s.Rules, isReserved) {
		read.flags |= tdmReserved
	}
	*d = read
	return nil
}
