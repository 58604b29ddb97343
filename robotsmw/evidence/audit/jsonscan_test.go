package audit

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

// A foundMember is a call of everyMember's function.
type foundMember struct {
	name string
	rest int // the length of the rest in bytes
}

// everyMemberSlow is a slow version of everyMember: json.Valid checks the line,
// and each quoted text that is followed by a colon is the name of a member.
func everyMemberSlow(line []byte) (found []foundMember, ok bool) {
	if !json.Valid(line) {
		return nil, false
	}
	for {
		i := bytes.IndexByte(line, '"')
		if i < 0 {
			return found, true
		}
		text, rest, ok := quoted(line[i:])
		if !ok {
			return found, true
		}
		if len(rest) > 0 && rest[0] == ':' {
			found = append(found, foundMember{string(text), len(rest) - 1})
		}
		line = rest
	}
}

func checkEveryMember(t *testing.T, line []byte) {
	t.Helper()
	var got []foundMember
	ok := everyMember(line, func(name, rest []byte) {
		got = append(got, foundMember{string(name), len(rest)})
	})
	want, wantOK := everyMemberSlow(line)
	if ok != wantOK || ok && !slices.Equal(got, want) {
		t.Fatalf("everyMember(%.1000q) finds %v and returns %t, want %v and %t", line, got, ok, want, wantOK)
	}
}

const caddySample = `{"level":"info","ts":1795168800.123,"logger":"http.log.access.log0","msg":"handled request","request":{"remote_ip":"192.0.2.1","method":"GET","host":"a.example",` +
	`"uri":"/\u00e9\"?q=\\","headers":{"User-Agent":["B/1","C"],"X":[]},"tls":{"resumed":false,"proto":null}},"bytes_read":-0,"duration":5.25e-05,"size":10900,"status":200,"resp_headers":{}}`

// jsonSamples contains valid and invalid texts for each rule of JSON's syntax.
var jsonSamples = []string{
	caddySample, "", " ", "{", "}", "{}", "[]", "{ }", " {\t} \r\n", "{}x", "{}{}", "{},", "null", "nul", "nulL", "true", "false", "truefalse", "tru e",
	`{"a":1,}`, `{,"a":1}`, `{"a" 1}`, `{"a"}`, `{"a":}`, `{a:1}`, `{"a":1 "b":2}`, `{"a":1;"b":2}`, `{"a":1,"a":2}`, `{"a" :1}`, `{"a": 1}`, `{1:1}`, `{"a":"b":"c"}`,
	`[1,]`, `[,1]`, `[1 2]`, `[1,2]`, `[[1],{"a":[2]}]`, `[1}`, `{"a":1]`, `[`, `[1`, `[1,`, `"a":1`, `:`, `,`,
	"0", "-0", "-", "00", "01", "-01", "1.", "1.5", ".5", "+1", "1e5", "1e", "1e+", "1E-7", "1e+-7", "1.e5", "0x1", "1_0", "1a", "NaN", "Infinity", "1 2", "12345678901234567890123", "0.0e0", "0e", "1ee2",
	`"`, `"\"`, `"\\"`, `"\/\b\f\n\r\t"`, `"\x22"`, `"\'"`, `"\u12"`, `"\u12G4"`, `"\uD800"`, `"\uabCD"`, `"\U0000"`, `"\`, `"\u`, "\"\t\"", "\"\x00\"", "\"\x1f\"", "\"\x7f\"", "\"\xff\xc3\"", "\"\xed\xa0\x80\"", "\"é\u2028\"", "\ufeff{}", "\x00", "{}\x00", "\v{}", "\u00a0{}",
	strings.Repeat("[", maxJSONDepth) + strings.Repeat("]", maxJSONDepth),
	strings.Repeat("[", maxJSONDepth+1) + strings.Repeat("]", maxJSONDepth+1),
	strings.Repeat(`{"a":`, maxJSONDepth) + "1" + strings.Repeat("}", maxJSONDepth),
	strings.Repeat(`{"a":`, maxJSONDepth+1) + "1" + strings.Repeat("}", maxJSONDepth+1),
	strings.Repeat("[", maxJSONDepth) + "{}" + strings.Repeat("]", maxJSONDepth),
	"[" + strings.Repeat("[],", maxJSONDepth) + "[]]",
}

func TestEveryMember_Samples(t *testing.T) {
	for _, sample := range jsonSamples {
		checkEveryMember(t, []byte(sample))
	}
}

// If a line is truncated, or a byte of it has changed, everyMember and
// json.Valid agree on whether the line is valid.
func TestEveryMember_DamagedLines(t *testing.T) {
	if testmain.RaceEnabled {
		t.Skip("the race detector finds nothing in one goroutine, and makes this ten times slower")
	}
	valid := 0
	for i := range len(caddySample) {
		checkEveryMember(t, []byte(caddySample[:i]))
		checkEveryMember(t, []byte(caddySample[i:]))
		checkEveryMember(t, []byte(caddySample[:i]+caddySample[i+1:]))
		line := []byte(caddySample)
		for b := range 256 {
			line[i] = byte(b)
			checkEveryMember(t, line)
			if everyMember(line, func(_, _ []byte) {}) {
				valid++
			}
		}
	}
	if valid == 0 || valid == 256*len(caddySample) {
		t.Errorf("%d lines are valid, want some, but not all", valid)
	}
}

func FuzzEveryMember(f *testing.F) {
	for _, sample := range jsonSamples {
		if len(sample) < 1000 {
			f.Add([]byte(sample))
		}
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		checkEveryMember(t, line)
		checkEveryMember(t, bytes.Join([][]byte{[]byte(`{"a":[`), line, []byte(`],"b":"`), line, []byte(`"}`)}, nil))
	})
}
