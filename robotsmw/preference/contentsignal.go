package preference

import (
	"iter"
	"slices"
	"strings"
)

// signalLabels maps the labels of Content-Signal whose values are yes and no to
// uses.
var signalLabels = map[string]Use{"search": Search, "ai-train": TrainAI, "ai-input": AIInput}

// signalAnswers maps the values of the labels in signalLabels to answers.
var signalAnswers = map[string]Answer{"yes": Allow, "1": Allow, "no": Deny, "0": Deny}

// useLabel is the label of Content-Signal whose values are contentUses.
const useLabel = "use"

// contentUses contains the values of the label "use", from the least to the
// greatest.
var contentUses = []string{"immediate", "reference", "full"}

// contentSignal returns the statements of Content-Signal.
func (in Input) contentSignal() []Statement {
	var all []Statement
	lines, ok := in.headerFields(contentSignal)
	if !ok {
		all = lines[0].unreadable(signalLabels)
		lines = nil
	}
	fields, truncated := in.robotsFields(contentSignal, contentSignal, "ContentSignal")
	for _, s := range append(fields, lines...) {
		all = append(all, s.parseSignal()...)
	}
	if truncated != nil {
		all = append(all, truncated.unreadable(signalLabels)...)
	}
	return all
}

// parseSignal parses s.Raw, a list of labels and values.
func (s Statement) parseSignal() []Statement {
	if len(s.Raw) > maxField {
		s.truncated = true
		return s.unreadable(signalLabels)
	}
	var all []Statement
	answers := make(map[Use]Answer)
	hasContentUse := make(map[string]bool)
	unknownLabels := 0
	for label, value := range labels(s.Raw) {
		label = strings.ToLower(label)
		value = strings.ToLower(value)
		use, known := signalLabels[label]
		if answer, ok := signalAnswers[value]; known && ok {
			answers[use] = combine(answers[use], answer)
			continue
		}
		if !known {
			use = Use(label)
		}
		other := s.withAnswer(use, Unknown)
		other.Raw = label + "=" + value
		if label == useLabel && slices.Contains(contentUses, value) {
			// ContentUse needs each different value once.
			if !hasContentUse[value] {
				hasContentUse[value] = true
				all = append(all, other)
			}
			continue
		}
		if label != "" && unknownLabels < maxUnknown {
			unknownLabels++
			all = append(all, other)
		}
	}
	for _, use := range uses {
		if answer, ok := answers[use]; ok {
			all = append(all, s.withAnswer(use, answer))
		}
	}
	return all
}

// labels yields the labels and values of a Content-Signal. They should be
// separated by commas, but some sites use white space or semicolons. These
// separators are accepted so that no "no" is missed.
func labels(text string) iter.Seq2[string, string] {
	const separators = ",; \t"
	return func(yield func(label, value string) bool) {
		for {
			label, rest, ok := strings.Cut(text, "=")
			if !ok {
				return
			}
			label = strings.TrimRight(label, " \t")
			label = label[strings.LastIndexAny(label, separators)+1:]
			value := strings.TrimLeft(rest, " \t")
			text = ""
			if end := strings.IndexAny(value, separators); end >= 0 {
				text = value[end:]
				value = value[:end]
			}
			if !yield(label, strings.Trim(value, `"`)) {
				return
			}
		}
	}
}
