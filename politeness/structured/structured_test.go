package structured

import (
	"encoding/base64"
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// The constant refused is the expected result for an invalid text.
const refused = "refused"

// Each row has a text and the result for it. The result is the canonical form
// of the text, or "refused". Each group of rows names the section of RFC 9651
// that it follows.
func TestDictionary(t *testing.T) {
	sections := []struct {
		name  string
		tests []struct{ text, want string }
	}{
		{"§3.2 Dictionaries", []struct{ text, want string }{
			{"", ""},
			{"   ", ""},
			{"a=1, b=2", "a=1, b=2"},
			{"a=1,b=2", "a=1, b=2"},
			{"a=1 \t,\t b=2", "a=1, b=2"},
			{"  a=1  ", "a=1"},
			{"a=1\t", "a=1"},
			{"\ta=1", refused}, // only spaces may precede the first key
			{"a", "a"},
			{"a, b;x, c=?0", "a, b;x, c=?0"},
			{"a=?1", "a"},
			// a repeated key stays at its first place, with its last value
			{
				text: "a=1, b, a=2",
				want: "a=2, b",
			},
			{"a=1, a", "a"},
			{"a=1,", refused},
			{"a=1, ", refused},
			{",a=1", refused},
			{"a=1,,b=2", refused},
			{"a=1 b=2", refused},
			{"a=1;b=2 c", refused},
			{"a=", refused},
			{"a= 1", refused},
			{"a =1", refused},
			{"=1", refused},
			{"a=1\n", refused},
			{"a=1\x00", refused},
			{"a==1", refused},
			{"a=!", refused},
			{`a=%x"y"`, refused},
			{`a=("x""y")`, refused},
			{"rating=1.5, feelings=(joy sadness)", "rating=1.5, feelings=(joy sadness)"},
			{"a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid", "a=(1 2), b=3, c=4;aa=bb, d=(5 6);valid"},
			{
				text: `sig1=("@authority" "x";key="sig1");created=1;tag="t"`,
				want: `sig1=("@authority" "x";key="sig1");created=1;tag="t"`,
			},
		}},
		{"§3.1.2 keys", []struct{ text, want string }{
			{"a1_-.*=1", "a1_-.*=1"},
			{"*a", "*a"},
			{"*", "*"},
			{"A=1", refused},
			{"aB=1", refused},
			{"1a=1", refused},
			{"_a=1", refused},
			{"-a=1", refused},
			{"a!=1", refused},
			{"é=1", refused},
			{"=", refused},
		}},
		{"§3.1.2 parameters", []struct{ text, want string }{
			{"a=1;b=2;c", "a=1;b=2;c"},
			{"a;b", "a;b"},
			{"a=1; b=2;  c", "a=1;b=2;c"},
			{"a=1;b=1;c;b=2", "a=1;b=2;c"},
			{"a=1;b=?0", "a=1;b=?0"},
			{"a=1;b=?1", "a=1;b"},
			{"a=1 ;b=2", refused},
			{"a=1;\tb=2", refused},
			{"a=1;b =2", refused},
			{"a=1;b= 2", refused},
			{"a=1;", refused},
			{"a=1;;b", refused},
			{"a=1;B", refused},
			{"a=1;=2", refused},
			{"a=1;b=(1)", refused},
		}},
		{"§3.1.1 inner lists", []struct{ text, want string }{
			{"a=()", "a=()"},
			{"a=(   )", "a=()"},
			{"a=(1 b \"c\")", "a=(1 b \"c\")"},
			{"a=(  1   2  )", "a=(1 2)"},
			{"a=(1;x 2;y=3);z", "a=(1;x 2;y=3);z"},
			{"a=(1", refused},
			{"a=(1 ", refused},
			{"a=(", refused},
			{"a=)", refused},
			{"a=(1,2)", refused},
			{"a=(1\t2)", refused},
			{"a=(1\"b\")", refused},
			{"a=((1))", refused},
			{"a=(1))", refused},
		}},
		{"§3.3.1 Integers", []struct{ text, want string }{
			{"a=0", "a=0"},
			{"a=-0", "a=0"},
			{"a=-42", "a=-42"},
			{"a=007", "a=7"},
			{"a=-007", "a=-7"},
			{"a=999999999999999", "a=999999999999999"},
			{"a=-999999999999999", "a=-999999999999999"},
			{"a=1000000000000000", refused},
			{"a=0000000000000001", refused},
			{"a=-", refused},
			{"a=--1", refused},
			{"a=+1", refused},
			{"a=- 1", refused},
			{"a=1e3", refused},
			{"a=0x1", refused},
			{"a=1_0", refused},
		}},
		{"§3.3.2 Decimals", []struct{ text, want string }{
			{"a=1.5", "a=1.5"},
			{"a=-0.125", "a=-0.125"},
			{"a=0.0", "a=0.0"},
			{"a=01.500", "a=1.5"},
			{"a=2.010", "a=2.01"},
			{"a=999999999999.999", "a=999999999999.999"},
			{"a=1000000000000.0", refused},
			{"a=0000000000001.0", refused},
			{"a=1.0000", refused},
			{"a=1.", refused},
			{"a=.5", refused},
			{"a=-.5", refused},
			{"a=1.-5", refused},
			{"a=1.5.1", refused},
		}},
		{"§3.3.3 Strings", []struct{ text, want string }{
			{`a=""`, `a=""`},
			{`a="b c, d;e"`, `a="b c, d;e"`},
			{`a="b\"c\\d"`, `a="b\"c\\d"`},
			{`a="b\c"`, refused},
			{`a="b\n"`, refused},
			{`a="b`, refused},
			{`a="b\"`, refused},
			{`a="b\`, refused},
			{`a="`, refused},
			{`a='b'`, refused},
			{"a=\"b\tc\"", refused},
			{"a=\"b\x00\"", refused},
			{"a=\"b\nc\"", refused},
			{"a=\"b\x7f\"", refused},
			{"a=\"é\"", refused},
			{"a=\"\xff\"", refused},
			{"a=\"b\\\x01\"", refused},
			{`a="b"c`, refused},
		}},
		{"§3.3.4 Tokens", []struct{ text, want string }{
			{"a=b", "a=b"},
			{"a=Bc", "a=Bc"},
			{"a=*b", "a=*b"},
			{"a=b!#$%&'*+-.^_`|~:/1", "a=b!#$%&'*+-.^_`|~:/1"},
			{"a=b=c", refused},
			{"a=!b", refused},
			{"a=/b", refused},
			{"a=b(c", refused},
			{"a=b\"c\"", refused},
			{"a=bé", refused},
			{"a=é", refused},
			{"a={b}", refused},
		}},
		{"§3.3.5 Byte Sequences", []struct{ text, want string }{
			{"a=::", "a=::"},
			{"a=:aGVsbG8=:", "a=:aGVsbG8=:"},
			{"a=:+/+/:", "a=:+/+/:"},
			{"a=:aGVsbG8:", "a=:aGVsbG8=:"}, // §4.2.7: missing padding SHOULD NOT be an error
			// §4.2.7: padding bits other than 0 SHOULD NOT be an error
			{
				text: "a=:iZ==:",
				want: "a=:iQ==:",
			},
			{"a=:YQ=:", refused},
			{"a=:YQ===:", refused},
			{"a=:=YQ=:", refused},
			{"a=:Y=Q=:", refused},
			{"a=:YQ==YQ==:", refused},
			{"a=:YWI==:", refused},
			{"a=:Y:", refused},
			{"a=:=:", refused},
			{"a=:aGVsbG8=", refused},
			{"a=:", refused},
			{"a=:_-Ah:", refused},
			{"a=:aGVs bG8=:", refused},
			{"a=:aGVs\nbG8=:", refused},
			{"a=:aGVs\r\nbG8=:", refused},
			{"a=:é:", refused},
		}},
		{"§3.3.6 Booleans", []struct{ text, want string }{
			{"a=?0", "a=?0"},
			{"a=?1;b", "a;b"},
			{"a=?", refused},
			{"a=?2", refused},
			{"a=?T", refused},
			{"a=?01", refused},
			{"a=? 1", refused},
		}},
		{"§3.3.7 Dates", []struct{ text, want string }{
			{"a=@1659578233", "a=@1659578233"},
			{"a=@-62135596800", "a=@-62135596800"},
			{"a=@0", "a=@0"},
			{"a=@", refused},
			{"a=@ 1", refused},
			{"a=@1.5", refused},
			{"a=@x", refused},
			{"a=@1000000000000000", refused},
		}},
		{"§3.3.8 Display Strings", []struct{ text, want string }{
			{`a=%""`, `a=%""`},
			{`a=%"b c\d"`, `a=%"b c\d"`},
			{`a=%"f%c3%bc"`, `a=%"f%c3%bc"`},
			{`a=%"%22%25%62"`, `a=%"%22%25b"`},
			{`a=%"%00"`, `a=%"%00"`},
			{`a=%"%C3%BC"`, refused},
			{`a=%"%c3"`, refused},
			{`a=%"%ff"`, refused},
			{`a=%"%ed%a0%80"`, refused},
			{`a=%"%c"`, refused},
			{`a=%"%"`, refused},
			{`a=%"%zz"`, refused},
			{`a=%"b`, refused},
			{`a=%"%6`, refused},
			{`a=%b`, refused},
			{`a=%`, refused},
			{`a=% "b"`, refused},
			{`a=%"ü"`, refused},
			{"a=%\"\t\"", refused},
		}},
	}
	for _, section := range sections {
		t.Run(section.name, func(t *testing.T) {
			for _, tt := range section.tests {
				got := refused
				d, ok := dictionary(tt.text)
				if ok {
					got = serialize(d)
				} else if d != nil {
					t.Errorf("%q is invalid, but the dictionary is %v, want nil", tt.text, d)
				}
				if got != tt.want {
					t.Errorf("%q is parsed as %s, want %s", tt.text, got, tt.want)
				}
			}
		})
	}
}

// Each byte is either allowed at its place, or makes the whole field invalid
// (§4.2).
func TestDictionary_Characters(t *testing.T) {
	const (
		lower   = "abcdefghijklmnopqrstuvwxyz"
		digits  = "0123456789"
		letters = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	)
	printable := ""
	for c := ' '; c <= '~'; c++ {
		printable += string(c)
	}
	for _, tt := range []struct{ name, before, after, good string }{
		{"first of a key", "", "", lower + "* "},
		{"a key", "x", "y", lower + digits + "_-.*,;="},
		{"first of a token", "x=", "", letters + "*" + digits},
		{"a token", "x=t", "t", letters + digits + "!#$%&'*+-.^_`|~:/,;"},
		{"a string", `x="`, `"`, strings.NewReplacer(`"`, "", `\`, "").Replace(printable)},
		{"an escape", `x="\`, `"`, `"\`},
		{"a display string", `x=%"`, `"`, strings.NewReplacer(`"`, "", `%`, "").Replace(printable)},
		{"base64", "x=:ab", "d:", letters + digits + "+/"},
		{"the end of a member", "x=1", "", digits + " \t"},
	} {
		for c := range 256 {
			text := tt.before + string([]byte{byte(c)}) + tt.after
			_, ok := dictionary(text)
			if want := strings.IndexByte(tt.good, byte(c)) >= 0; ok != want {
				t.Errorf("%s: %q is valid: %t, want %t", tt.name, text, ok, want)
			}
		}
	}
}

// RFC 9651 defines the lengths that every parser must accept (§3, §4.2.4). This
// parser accepts them. It rejects a text of more than limit bytes.
func TestDictionary_Sizes(t *testing.T) {
	numbered := func(n int, format, between string) string {
		var parts []string
		for i := range n {
			parts = append(parts, fmt.Sprintf(format, i))
		}
		return strings.Join(parts, between)
	}
	for name, text := range map[string]string{
		"1024 members":          numbered(1024, "k%d", ", "),
		"a key of 64":           strings.Repeat("k", 64),
		"256 parameters":        "a;" + numbered(256, "k%d=1", ";"),
		"256 in an inner list":  "a=(" + numbered(256, "%d", " ") + ")",
		"a string of 1024":      `a="` + strings.Repeat("x", 1024) + `"`,
		"a token of 512":        "a=" + strings.Repeat("x", 512),
		"16384 bytes in base64": "a=:" + base64.StdEncoding.EncodeToString(make([]byte, 16384)) + ":",
		"as much as there may":  strings.Repeat(" ", limit-1) + "a",
	} {
		if _, ok := dictionary(text); !ok {
			t.Errorf("%s: reported as invalid, want valid", name)
		}
	}
	if _, ok := dictionary(strings.Repeat(" ", limit) + "a"); ok {
		t.Errorf("a dictionary of %d bytes is valid, want invalid", limit+1)
	}
}

// The lines of a field are joined with commas (§4.2). The bytes between the
// lines count toward the limit too.
func TestList(t *testing.T) {
	for _, tt := range []struct {
		lines []string
		limit int
		want  string
	}{
		{nil, limit, ""},
		{[]string{""}, limit, ""},
		{[]string{`"a";r=1`, `b , (c d);x`}, limit, `"a";r=1|b|(c d);x`},
		{[]string{"a, a"}, limit, "a|a"}, // items are not keys, so both remain
		{[]string{"a", ""}, limit, refused},
		{[]string{"", "a"}, limit, refused},
		{[]string{"a", "b;"}, limit, refused},
		{[]string{"a=1"}, limit, refused},
		{[]string{"a", "b"}, 4, "a|b"},
		{[]string{"a", "b"}, 3, refused},
		{make([]string, 1000), 500, refused},
	} {
		members, ok := List(tt.lines, tt.limit)
		var texts []string
		for _, m := range members {
			texts = append(texts, m.String())
		}
		got := strings.Join(texts, "|")
		if !ok {
			got += refused
		}
		if got != tt.want {
			t.Errorf("%q is parsed as %s, want %s", tt.lines, got, tt.want)
		}
	}
}

// If a parsed dictionary is written and parsed again, the result is the same
// dictionary, without repeated keys.
func FuzzDictionary(f *testing.F) {
	for _, text := range []string{
		"train-ai=n, search=y",
		`a=1;b="c", d=(1 2.5;x "y");z, e=:YQ==:, f=?0, g=@1, h=%"%c3%bc", i`,
		"a=-0, b=007, c=-0.10, a=2",
		`a="\"\\"; b`,
		"a=:YQ:",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, ok := dictionary(text)
		if !ok {
			return
		}
		once := serialize(d)
		again, ok := dictionary(once)
		if !ok && len(once) <= limit {
			t.Fatalf("%q: serialized as %q, which is invalid, want valid", text, once)
		}
		if twice := serialize(again); ok && twice != once {
			t.Fatalf("%q is serialized as %q, but as %q after parsing that, want the same text", text, once, twice)
		}
		if ok && !reflect.DeepEqual(again, d) {
			t.Fatalf("%q is parsed as %v, but as %v after serializing that, want the same dictionary", text, d, again)
		}
		if list, ok := List([]string{text}, limit); ok && len(list) > len(text) {
			t.Fatalf("the list %q has %d items, want at most one per byte", text, len(list))
		}
	})
}

const limit = 64 << 10

func dictionary(text string) ([]Member, bool) { return Dictionary([]string{text}, limit) }

// serialize serializes a dictionary (RFC 9651 §4.1.2).
func serialize(members []Member) string {
	var parts []string
	for _, m := range members {
		part := m.Key
		if m.Value != boolTrue {
			part += "="
		}
		parts = append(parts, part+strings.TrimPrefix(m.String(), boolTrue))
	}
	return strings.Join(parts, ", ")
}
