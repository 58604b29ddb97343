package preference

import (
	"strings"

	"github.com/goodbots/courtesy/politeness/structured"
)

// usageLabels maps the labels of Content-Usage to uses.
var usageLabels = map[string]Use{"train-ai": TrainAI, "ai-use": AIInput, "search": Search}

// usageAnswers maps the values of Content-Usage to answers.
var usageAnswers = map[string]Answer{"y": Allow, "n": Deny}

// contentUsage returns the statements of Content-Usage.
func (in Input) contentUsage() []Statement {
	return append(in.robotsUsage(), in.headerUsage()...)
}

func (in Input) robotsUsage() []Statement {
	fields, truncated := in.robotsFields(contentUsage, contentUsage)
	if len(fields) == 0 && truncated == nil {
		return nil
	}
	if !in.Robots.Rules(in.Tokens...).Allowed(in.target()) {
		return nil
	}
	var all []Statement
	for _, s := range fields {
		all = append(all, s.parseUsage()...)
	}
	if truncated != nil {
		all = append(all, truncated.unreadable(usageLabels)...)
	}
	return all
}

func (in Input) headerUsage() []Statement {
	lines, ok := in.headerFields(contentUsage)
	if !ok {
		return lines[0].unreadable(usageLabels)
	}
	if len(lines) == 0 {
		return nil
	}
	s := lines[0]
	s.Raw = strings.Join(in.Header.Values(contentUsage), ", ") // one Dictionary (RFC 9651 §3.2)
	return s.parseUsage()
}

// parseUsage parses s.Raw, a Dictionary.
func (s Statement) parseUsage() []Statement {
	s.truncated = len(s.Raw) > maxField
	members, ok := structured.Dictionary([]string{s.Raw}, maxField)
	if !ok {
		return s.unreadable(usageLabels)
	}
	var all []Statement
	unknownLabels := 0
	for _, m := range members {
		use, known := usageLabels[m.Key]
		if known {
			answer, ok := usageAnswers[m.Value]
			if !ok {
				answer = Unknown
			}
			all = append(all, s.withAnswer(use, answer))
			continue
		}
		unknownLabels++
		if unknownLabels <= maxUnknown {
			other := s.withAnswer(Use(m.Key), Unknown)
			other.Raw = m.Key + "=" + m.String()
			all = append(all, other)
		}
	}
	return all
}
