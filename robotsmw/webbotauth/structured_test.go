package webbotauth

import (
	"strings"
	"testing"
)

// Each row has the text of a dictionary (RFC 9651 §3, §4.2). The test parses
// the text, and writes the result as text again. The written text must equal
// the field want.
func TestParseDictionary(t *testing.T) {
	tests := []struct{ name, text, want string }{
		{"empty", "", ""},
		{"§3.2", `en="Applepie", da=:w4ZibGV0w6ZydGU=:`, `en="Applepie", da=:w4ZibGV0w6ZydGU=:`},
		{"§3.2, Booleans", "a=?0, b, c; foo=bar", "a=?0, b, c;foo=bar"},
		{"§3.2, inner lists", "rating=1.5, feelings=(joy sadness)", "rating=1.5, feelings=(joy sadness)"},
		{"§3.2, mixed", "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid", "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid"},
		{"§3.1.1, parameters of items", `a=("foo"; a=1;b=2);lvl=5`, `a=("foo";a=1;b=2);lvl=5`},
		{"the last of a key, at the place of the first", "a=1, b=2, a=3", "a=3, b=2"},
		{"the last of a parameter", "a=1;x=1;y;x=2", "a=1;x=2;y"},
		{"white space", " a=1 \t,\t b=2 ", "a=1, b=2"},
		{"an empty list", "a=(  )", "a=()"},
		{"integers", "a=-0, b=007, c=999999999999999, d=-42", "a=0, b=7, c=999999999999999, d=-42"},
		{"decimals", "a=1.50, b=-0.0, c=123456789012.125", "a=1.5, b=-0.0, c=123456789012.125"},
		{"strings", `a="\"\\ ~"`, `a="\"\\ ~"`},
		{"tokens", "a=*x/y:z, b=T~1", "a=*x/y:z, b=T~1"},
		{"bytes without padding", "a=:YQ:, b=::", "a=:YQ==:, b=::"},
		{"dates", "a=@1659578233, b=@-1", "a=@1659578233, b=@-1"},
		{"display strings", `a=%"f%c3%bc%22%25 "`, `a=%"f%c3%bc%22%25 "`},
		{"keys", "*a_-.*9=1", "*a_-.*9=1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			members, err := parseDictionary(tt.text)
			if got := dictionaryText(members); err != nil || got != tt.want {
				t.Errorf("%q, %v, want %q", got, err, tt.want)
			}
		})
	}
}

func TestParseDictionary_Refuses(t *testing.T) {
	for _, text := range []string{
		",", "a=1,", "a=1,,b=2", "a=1 b=2", "A=1", "1=a", "a=", "a=;x", "a=1;", "a=1;X=1", "a=1;x=",
		"a=(1", "a=(1,2)", "a=((1))", `a=("x""y")`, "a=(1\t2)",
		"a=-", "a=1.", "a=.5", "a=1.2345", "a=1234567890123.1", "a=1234567890123456", "a=--1",
		`a="`, `a="x`, `a="\n"`, `a="\`, "a=\"\x7f\"", `a="ü"`,
		"a=:YQ", "a=:Y:", "a=:Y Q:", "a=:YQ\n:", "a=?", "a=?2", "a=@", "a=@1.5", "a=@x",
		"a=%", `a=%"`, `a=%"%"`, `a=%"%c"`, `a=%"%C3%BC"`, `a=%"%ff"`, "a=%\"\x01\"", `a=%x"y"`,
		"a=ü", "a=!", "a=1\x00",
	} {
		if members, err := parseDictionary(text); err == nil {
			t.Errorf("%q is read as %q", text, dictionaryText(members))
		}
	}
}

func dictionaryText(members []member) string {
	var all []string
	for _, m := range members {
		if !m.isList && m.bare == isTrue {
			all = append(all, m.key+paramsText(m.params))
		} else {
			all = append(all, m.key+"="+m.text())
		}
	}
	return strings.Join(all, ", ")
}

// If a parsed dictionary is written and parsed again, the result is the same
// dictionary.
func FuzzParseDictionary(f *testing.F) {
	f.Add(`sig1=("@authority" "signature-agent";key="sig1");created=1735689600;keyid="x";tag="web-bot-auth"`)
	f.Add("a=1.5;x, b=:YQ:, c=@-1, d=?0, e=*t, f=%\"f%c3%bc\", g")
	f.Add("sha-256=:CADMT2aBdV/rqQr/NIru64ERQkCobVvllA4V0fLFDu0=:")
	f.Fuzz(func(t *testing.T, text string) {
		members, err := parseDictionary(text)
		if err != nil {
			return
		}
		written := dictionaryText(members)
		again, err := parseDictionary(written)
		if err != nil || dictionaryText(again) != written {
			t.Errorf("%q is read as %q, and that as %q, %v", text, written, dictionaryText(again), err)
		}
		for _, m := range members {
			stringOf(m.bare)
			if data, ok := bytesOf(m.bare); strings.HasPrefix(m.bare, ":") && !ok {
				t.Errorf("%s has no bytes: %q", m.bare, data)
			}
		}
	})
}
