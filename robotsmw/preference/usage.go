package preference

import (
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
)

// usageLabels are the labels of Content-Usage.
var usageLabels = map[string]Use{"train-ai": TrainAI, "ai-use": AIInput, "search": Search}

func (in Input) contentUsage() (all []Statement) {
	lines, unread := in.inForce(contentUsage, contentUsage)
	isStated := len(lines) > 0 || unread != nil
	if isStated && in.Robots.Rules(in.Tokens...).Allowed(in.target()) {
		for _, s := range lines {
			all = append(all, s.readUsage()...)
		}
		if unread != nil {
			all = append(all, unread.unreadable(usageLabels)...)
		}
	}
	// All header lines are read as one Dictionary (RFC 9651 §3.2).
	lines, ok := in.header(contentUsage)
	switch {
	case !ok:
		all = append(all, lines[0].unreadable(usageLabels)...)
	case len(lines) > 0:
		lines[0].Raw = strings.Join(in.Header.Values(contentUsage), ", ")
		all = append(all, lines[0].readUsage()...)
	}
	return all
}

// readUsage reads s.Raw.
func (s Statement) readUsage() (all []Statement) {
	s.cut = len(s.Raw) > maxField
	members, ok := structured.Dictionary([]string{s.Raw}, maxField)
	if !ok {
		return s.unreadable(usageLabels)
	}
	unknown := 0
	for _, m := range members {
		use, isKnown := usageLabels[m.Key]
		answer := map[string]Answer{"y": Allow, "n": Deny}[m.Value]
		switch {
		case !isKnown:
			if unknown++; unknown <= maxUnknown {
				said := s.about(Use(m.Key), Unknown)
				said.Raw = m.Key + "=" + m.String()
				all = append(all, said)
			}
		case answer == "":
			all = append(all, s.about(use, Unknown))
		default:
			all = append(all, s.about(use, answer))
		}
	}
	return all
}
