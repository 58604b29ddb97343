package preference

import (
	"cmp"
	"slices"
	"strings"
)

// rslStatements returns the statements of the RSL files. If there may be RSL
// files that Licenses does not return because of a limit, rslStatements adds a
// statement with the answer Unknown for each use.
func (in Input) rslStatements() []Statement {
	if len(in.RSL) == 0 {
		return nil // RSL is not used
	}
	var all []Statement
	for _, f := range in.RSL {
		if f == nil {
			continue
		}
		for _, c := range f.contentsFor(in.target()) {
			for _, use := range uses {
				all = append(all, c.statements(use)...)
			}
		}
	}
	if _, truncated := in.licenses(); truncated {
		for _, use := range uses {
			all = append(all, Statement{
				Use:       use,
				Answer:    Unknown,
				Signal:    rsl,
				Where:     "robots.txt or header",
				truncated: true,
				Raw:       unreadablePrefix + "there may be more RSL files than Licenses returns",
			})
		}
	}
	return all
}

// statements returns what the licenses of a content element state about a use.
// Because the user may choose one of the licenses, a use is denied only if no
// license permits it. Within a license, "prohibits" overrides "permits".
func (c rslContent) statements(use Use) []Statement {
	var permitted, prohibited []Statement
	for _, l := range c.Licenses {
		prohibits := c.termStatements(use, l, l.Prohibits)
		if len(prohibits) > 0 {
			for _, s := range prohibits {
				s.Answer = Deny
				s.Raw = "prohibits " + s.Raw
				prohibited = append(prohibited, s)
			}
			continue
		}
		conditions := c.conditions(l)
		for _, s := range c.termStatements(use, l, l.Permits) {
			s.Answer = Allow
			if conditions != "" {
				s.Answer = Unknown
			}
			s.Raw = "permits " + s.Raw + conditions
			permitted = append(permitted, s)
		}
	}
	if len(permitted) > 0 {
		return permitted
	}
	return prohibited
}

// termStatements returns a statement without an answer for each of the terms of
// a license that are about a use. Raw contains the words of the term.
func (c rslContent) termStatements(use Use, l rslLicense, terms []rslTerm) []Statement {
	policy := strings.TrimSpace(cmp.Or(l.Payment.Custom, l.Payment.Standard))
	var all []Statement
	for _, t := range terms {
		words := t.usageWords()
		includesUse := func(word string) bool { return slices.Contains(rslUses[word], use) }
		if !slices.ContainsFunc(words, includesUse) {
			continue
		}
		all = append(all, Statement{
			Use:    use,
			Signal: rsl,
			Where:  "RSL file",
			Line:   t.line,
			Path:   c.URL,
			Raw:    strings.Join(words, " "),
			Policy: policy,
		})
	}
	return all
}

// conditions returns the conditions of the permissions of a license, as text
// for Statement.Raw, or "" if there are none.
func (c rslContent) conditions(l rslLicense) string {
	text := ""
	payment := strings.ToLower(strings.TrimSpace(l.Payment.Type))
	if payment != "" && payment != "free" {
		text += ", payment " + payment
	}
	if c.Server != "" {
		text += ", license from " + c.Server
	}
	if l.hasOtherConditions() {
		text += ", and other conditions"
	}
	return text
}

// hasOtherConditions reports whether the license requires reporting, or is
// limited to some users or countries.
func (l rslLicense) hasOtherConditions() bool {
	isLimit := func(t rslTerm) bool { return t.Type != usageTerm }
	return l.Reporting != nil ||
		slices.ContainsFunc(l.Permits, isLimit) ||
		slices.ContainsFunc(l.Prohibits, isLimit)
}
