package evidence

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"time"
	"unicode/utf8"
)

// appendMembers appends members of a JSON object, each after a comma. pairs are
// alternating names and values. A member whose value is 0, "", false, the zero
// time or an empty json.RawMessage is omitted, but a float64 is always written.
// A duration is written in seconds, and a json.RawMessage verbatim.
func appendMembers(b []byte, pairs ...any) []byte {
	for i := 0; i < len(pairs); i += 2 {
		start := len(b)
		b = append(append(append(b, `,"`...), pairs[i].(string)...), `":`...)
		before := len(b)
		switch v := pairs[i+1].(type) {
		case string:
			if v != "" {
				b = appendQuoted(b, v)
			}
		case int:
			if v != 0 {
				b = strconv.AppendInt(b, int64(v), 10)
			}
		case bool:
			if v {
				b = append(b, "true"...)
			}
		case float64:
			b = strconv.AppendFloat(b, v, 'f', -1, 64)
		case time.Duration:
			if v != 0 {
				b = strconv.AppendFloat(b, seconds(v), 'f', -1, 64)
			}
		case time.Time:
			if !v.IsZero() {
				b = v.UTC().AppendFormat(b, `"`+timestampLayout+`"`)
			}
		case json.RawMessage:
			b = append(b, v...)
		default:
			panic(fmt.Sprintf("evidence: appendMembers has no case for %T: use asJSON", v))
		}
		if len(b) == before {
			b = b[:start]
		}
	}
	return b
}

// asJSON encodes a slice or a map of strings and numbers, which cannot fail. It
// is separate from appendMembers, because all values of all lines would
// otherwise escape to the heap.
func asJSON(v any) json.RawMessage {
	text, _ := json.Marshal(v)
	return text
}

// seconds returns a duration in seconds. Because the result is a float64,
// appendMembers writes it even if it is 0.
func seconds(d time.Duration) float64 { return float64(d) / 1e9 }

const timestampLayout = "2006-01-02T15:04:05.000000000Z"

// appendQuoted appends a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendQuoted(b []byte, text string) []byte {
	isPlain := true
	for i := range len(text) {
		c := text[i]
		isPlain = isPlain && c >= ' ' && c != '"' && c != '\\' && c < utf8.RuneSelf
	}
	if isPlain {
		return append(append(append(b, '"'), text...), '"')
	}
	var quoted bytes.Buffer
	encoder := json.NewEncoder(&quoted)
	encoder.SetEscapeHTML(false)
	encoder.Encode(text) // encoding a string never fails
	return append(b, bytes.TrimSuffix(quoted.Bytes(), []byte("\n"))...)
}
