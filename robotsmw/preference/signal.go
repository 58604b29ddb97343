package preference

import "strings"

var signalKeys = map[Use]string{Search: "search", TrainAI: "ai-train", AIInput: "ai-input"}

func (in Input) contentSignal(use Use) (all []Statement) {
	key := signalKeys[general(use)]
	if key == "" {
		return nil
	}
	say := func(text, where string, line int, path string) {
		for name, value := range signals(text) {
			answer := Unknown
			switch {
			case !strings.EqualFold(name, key):
				continue
			case strings.EqualFold(value, "yes"), value == "1":
				answer = Allow
			case strings.EqualFold(value, "no"), value == "0":
				answer = Deny
			default:
				continue
			}
			all = append(all, Statement{Use: use, Answer: answer, Signal: ContentSignal, Where: where, Line: line, Path: path, Raw: text})
		}
	}
	in.eachSignal(say)
	return all
}

// unknownSignals returns what Content-Signal says under keys that are not in
// signalKeys.
func (in Input) unknownSignals() (all []Statement) {
	in.eachSignal(func(text, where string, line int, path string) {
		for name, value := range signals(text) {
			name = strings.ToLower(name)
			known := false
			for _, key := range signalKeys {
				known = known || name == key
			}
			if !known && name != "" && len(all) < maxFields {
				all = append(all, Statement{Use: Use(name), Signal: ContentSignal, Where: where, Line: line, Path: path, Raw: name + "=" + value})
			}
		}
	})
	return all
}

func (in Input) eachSignal(say func(text, where string, line int, path string)) {
	for _, s := range in.inForce("Content-Signal", "ContentSignal") {
		say(s.text, "robots.txt", s.line, s.path)
	}
	for i, text := range in.Header.Values("Content-Signal") {
		say(text, "header", i+1, "")
	}
}

// signals yields the names and values in a Content-Signal. Commas should
// separate them, but some sites write white space or semicolons. The function
// accepts these too, because it would otherwise miss a "no".
func signals(text string) func(yield func(name, value string) bool) {
	const parts = ",; \t"
	return func(yield func(name, value string) bool) {
		for {
			name, rest, ok := strings.Cut(text, "=")
			if !ok {
				return
			}
			name = strings.TrimRight(name, " \t")
			name = name[strings.LastIndexAny(name, parts)+1:]
			value := strings.TrimLeft(rest, " \t")
			text = ""
			if end := strings.IndexAny(value, parts); end >= 0 {
				value, text = value[:end], value[end:]
			}
			if !yield(name, strings.Trim(value, `"`)) {
				return
			}
		}
	}
}
