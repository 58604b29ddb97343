package preference

import (
	"slices"
	"strings"
)

// rslUses maps each usage word of RSL to the uses that it stands for. RSL's
// guides write train-ai instead of ai-train.
var rslUses = map[string][]Use{
	"all":      {Search, TrainAI, AIInput},
	"ai-all":   {TrainAI, AIInput},
	"ai-train": {TrainAI},
	"train-ai": {TrainAI},
	"ai-input": {AIInput},
	"search":   {Search},
}

func (t rslTerm) isAbout(use Use) bool {
	return slices.ContainsFunc(t.tokens, func(token string) bool { return slices.Contains(rslUses[token], use) })
}

// rsl returns what the RSL files say. A content element offers a choice of
// licences, so a use is denied if a licence prohibits it and no licence permits
// it.
func (in Input) rsl() (all []Statement) {
	for _, f := range in.RSL {
		if f == nil {
			continue
		}
		for _, c := range f.inForce(in.target()) {
			for _, use := range uses {
				var permitted, denied []Statement
				for _, l := range c.licenses {
					switch said := c.termsOf(l, use); {
					case len(said) == 0:
					case said[0].Answer == Deny: // within a licence, "prohibits" outweighs "permits"
						denied = append(denied, said...)
					default:
						permitted = append(permitted, said...)
					}
				}
				if len(permitted) > 0 {
					denied = nil
				}
				all = append(append(all, permitted...), denied...)
			}
		}
	}
	return all
}

// termsOf returns those terms of a licence that prohibit a use. If no
// term prohibits the use, it returns the terms that permit it. If the
// permission has a condition, such as a payment, the answer in these statements
// is Unknown.
func (c rslContent) termsOf(l rslLicense, use Use) (prohibits []Statement) {
	var permits []Statement
	for _, t := range l.terms {
		if !t.isAbout(use) {
			continue
		}
		s := Statement{Use: use, Signal: "RSL", Where: "RSL file", Line: t.line, Path: c.url, Policy: l.address}
		if !t.permits {
			s.Answer, s.Raw = Deny, "prohibits "+strings.Join(t.tokens, " ")
			prohibits = append(prohibits, s)
			continue
		}
		s.Answer, s.Raw = Allow, "permits "+strings.Join(t.tokens, " ")
		for _, condition := range []struct {
			holds bool
			words string
		}{
			{l.payment != "" && l.payment != "free", "payment " + l.payment},
			{c.server != "", "licence from " + c.server},
			{l.limited, "and other conditions"},
		} {
			if condition.holds {
				s.Answer, s.Raw = Unknown, s.Raw+", "+condition.words
			}
		}
		permits = append(permits, s)
	}
	if len(prohibits) > 0 {
		return prohibits
	}
	return permits
}
