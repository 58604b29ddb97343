package redislimit

import (
	"fmt"
	"iter"
	"maps"
	"strings"
)

// settingDifferences describes the settings that two Limiters do not have in
// common. It returns "" if there are none. Settings that only one of them has,
// because it is of another version, are ignored.
func settingDifferences(own, other string) string {
	others := maps.Collect(eachSetting(other))
	var differences []string
	for name, value := range eachSetting(own) {
		otherValue, known := others[name]
		if known && otherValue != value {
			differences = append(differences, fmt.Sprintf("%s is %s here and %s there", name, value, otherValue))
		}
	}
	return strings.Join(differences, "; ")
}

// eachSetting yields the names and values of settings such as "Delay=1s".
func eachSetting(settings string) iter.Seq2[string, string] {
	return func(yield func(name, value string) bool) {
		for word := range strings.FieldsSeq(settings) {
			name, value, _ := strings.Cut(word, "=")
			if !yield(name, value) {
				return
			}
		}
	}
}
