package robotsmeta

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// jsonDirectives is the JSON form of Directives. Content contains the
// directives in the syntax of a robots meta element's content attribute,
// because Rules contains only the first 256.
type jsonDirectives struct {
	Content     string `json:"says,omitempty"`
	Truncated   bool   `json:"truncated,omitempty"`
	TDMReserved bool   `json:"tdm_reserved,omitempty"`
	Rules       []Rule `json:"rules,omitempty"`
}

// MarshalJSON implements [json.Marshaler]. UnmarshalJSON restores all of d from
// the result.
func (d Directives) MarshalJSON() ([]byte, error) {
	return json.Marshal(jsonDirectives{
		Content:     d.content(),
		Truncated:   d.Truncated(),
		TDMReserved: d.Says("tdm-reservation"),
		Rules:       d.rules,
	})
}

// content returns the directives in the syntax of a robots meta element's
// content attribute.
func (d Directives) content() string {
	var items []string
	for _, name := range slices.Sorted(maps.Keys(directives)) {
		dir := directives[name]
		isSet := dir.flags != 0 && d.flags&dir.flags == dir.flags
		if dir.kind == flagKind && isSet {
			items = append(items, name)
		} else if limit := d.Limit(name); limit != "" {
			items = append(items, name+": "+limit)
		}
	}
	if t, ok := d.UnavailableAfter(); ok {
		items = append(items, "unavailable_after: "+t.Format(time.RFC3339Nano))
	}
	return strings.Join(items, ", ")
}

// UnmarshalJSON implements [json.Unmarshaler] for the results of MarshalJSON.
// It returns an error if a directive is unknown, because omitting it might lift
// a restriction.
func (d *Directives) UnmarshalJSON(text []byte) error {
	var j jsonDirectives
	if err := json.Unmarshal(text, &j); err != nil {
		return fmt.Errorf("robotsmeta: decoding directives: %w", err)
	}
	parsed := ParseContent(j.Content)
	for r := range parsed.Rules() {
		if !r.Known {
			return fmt.Errorf("robotsmeta: decoding directives: unknown directive %q", r.Raw)
		}
	}
	parsed.rules = j.Rules
	if j.Truncated {
		parsed.flags |= truncated
	}
	if j.TDMReserved || slices.ContainsFunc(j.Rules, Rule.isTDMReserved) {
		parsed.flags |= tdmReserved
	}
	*d = parsed
	return nil
}

// isTDMReserved reports whether the rule is <meta name="tdm-reservation"
// content="1">.
func (rule Rule) isTDMReserved() bool {
	return rule.Source == Meta && rule.Name == "tdm-reservation" && rule.Value == "1"
}
