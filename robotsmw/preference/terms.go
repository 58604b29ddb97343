package preference

import (
	"cmp"
	"slices"
	"strings"
)

// rsl returns what the RSL files say.
func (in Input) rsl() (all []Statement) {
	for _, f := range in.RSL {
		if f == nil {
			continue
		}
		for _, c := range f.inForce(in.target()) {
			for _, use := range uses {
				all = append(all, c.about(use)...)
			}
		}
	}
	if _, cut := in.licenses(); cut && len(in.RSL) > 0 {
		for _, use := range uses {
			all = append(all, Statement{
				Use: use, Answer: Unknown, Signal: "RSL", Where: "robots.txt or header", cut: true,
				Raw: "cannot be read: there are more addresses of RSL files than Licenses returns",
			})
		}
	}
	return all
}

// about returns what the licences of a content element say about a use. They
// are a choice, so a use is denied if a licence prohibits it and no licence
// permits it. Within a licence, "prohibits" outweighs "permits". If a
// permission has a condition, such as a payment, its answer is Unknown.
func (c rslContent) about(use Use) []Statement {
	var permitted, denied []Statement
	for _, l := range c.Licenses {
		if said := c.terms(use, Deny, "prohibits ", l, l.Prohibits, ""); len(said) > 0 {
			denied = append(denied, said...)
			continue
		}
		answer, conditions := Allow, c.conditions(l)
		if conditions != "" {
			answer = Unknown
		}
		permitted = append(permitted, c.terms(use, answer, "permits ", l, l.Permits, conditions)...)
	}
	if len(permitted) > 0 {
		return permitted
	}
	return denied
}

// terms returns those of a licence's terms that are about a use.
func (c rslContent) terms(use Use, answer Answer, verb string, l rslLicense, terms []rslTerm, conditions string) (all []Statement) {
	policy := strings.TrimSpace(cmp.Or(l.Payment.Custom, l.Payment.Standard))
	for _, t := range terms {
		words := t.words()
		if slices.ContainsFunc(words, func(word string) bool { return slices.Contains(rslUses[word], use) }) {
			all = append(all, Statement{
				Use: use, Answer: answer, Signal: "RSL", Where: "RSL file", Line: t.line, Path: c.URL,
				Raw: verb + strings.Join(words, " ") + conditions, Policy: policy,
			})
		}
	}
	return all
}

// conditions returns what somebody must do or be for whom a licence permits
// something, as words for Statement.Raw. It returns "" if the permission is
// free and for everybody.
func (c rslContent) conditions(l rslLicense) (words string) {
	if payment := strings.ToLower(strings.TrimSpace(l.Payment.Type)); payment != "" && payment != "free" {
		words += ", payment " + payment
	}
	if c.Server != "" {
		words += ", licence from " + c.Server
	}
	isForSome := func(t rslTerm) bool { return t.Type != usage }
	if l.Reporting != nil || slices.ContainsFunc(l.Permits, isForSome) || slices.ContainsFunc(l.Prohibits, isForSome) {
		words += ", and other conditions"
	}
	return words
}
