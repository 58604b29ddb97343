package preference

import (
	"slices"
	"strings"
)

// signalLabels are the labels of Content-Signal that have the values yes and
// no.
var signalLabels = map[string]Use{"search": Search, "ai-train": TrainAI, "ai-input": AIInput}

// useLabel is the label of Content-Signal that has the values of contentUses.
const useLabel = "use"

func (in Input) contentSignal() (all []Statement) {
	lines, ok := in.header(contentSignal)
	if !ok {
		all, lines = lines[0].unreadable(signalLabels), nil
	}
	inForce, unread := in.inForce(contentSignal, contentSignal, "ContentSignal")
	for _, s := range append(inForce, lines...) {
		all = append(all, s.readSignal()...)
	}
	if unread != nil {
		all = append(all, unread.unreadable(signalLabels)...)
	}
	return all
}

// readSignal reads s.Raw. If a label is repeated, "no" outweighs "yes".
func (s Statement) readSignal() (all []Statement) {
	if len(s.Raw) > maxField {
		s.cut = true
		return s.unreadable(signalLabels)
	}
	said, unknown := make(map[Use]Answer), 0
	listed := make(map[string]bool) // the values of the label "use"
	for label, value := range signals(s.Raw) {
		label = strings.ToLower(label)
		use, isKnown := signalLabels[label]
		if !isKnown {
			use = Use(label)
		}
		switch value = strings.ToLower(value); {
		case isKnown && (value == "no" || value == "0"):
			said[use] = Deny
		case isKnown && (value == "yes" || value == "1"):
			if said[use] != Deny {
				said[use] = Allow
			}
		case label == useLabel && slices.Contains(contentUses, value):
			// ContentUse needs the least of these values, so all of them are
			// listed, each once.
			if !listed[value] {
				listed[value] = true
				other := s.about(use, Unknown)
				other.Raw = label + "=" + value
				all = append(all, other)
			}
		case label != "" && unknown < maxUnknown:
			unknown++
			other := s.about(use, Unknown)
			other.Raw = label + "=" + value
			all = append(all, other)
		}
	}
	for _, use := range uses {
		if answer := said[use]; answer != "" {
			all = append(all, s.about(use, answer))
		}
	}
	return all
}

// signals yields the labels and values in a Content-Signal. Commas should
// separate them, but some sites write white space or semicolons. The function
// accepts these too, because it would otherwise miss a "no".
func signals(text string) func(yield func(label, value string) bool) {
	const parts = ",; \t"
	return func(yield func(label, value string) bool) {
		for {
			label, rest, ok := strings.Cut(text, "=")
			if !ok {
				return
			}
			label = strings.TrimRight(label, " \t")
			label = label[strings.LastIndexAny(label, parts)+1:]
			value := strings.TrimLeft(rest, " \t")
			text = ""
			if end := strings.IndexAny(value, parts); end >= 0 {
				value, text = value[:end], value[end:]
			}
			if !yield(label, strings.Trim(value, `"`)) {
				return
			}
		}
	}
}
