package robotsmeta

import (
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestDirectives_StoredAndReadAgain(t *testing.T) {
	for name, d := range map[string]Directives{
		"nothing":         {},
		"noindex":         ParseContent("noindex"),
		"all at once":     ParseContent("none, noarchive, nosnippet, noimageindex, notranslate, indexifembedded, noai, noimageai, noml"),
		"limits":          ParseContent("max-snippet:20, max-video-preview:-1, max-image-preview:standard"),
		"a date":          ParseContent("unavailable_after: 2030-01-02T03:04:05Z"),
		"an unknown word": ParseContent("nofllow"),
		"cut short":       ParseContent("noindex," + strings.Repeat("x", 9<<10)),
		"more than 256":   ParseContent(strings.Repeat("index,", 300) + "noindex"),
		"a header's scopes": ParseHeader(
			http.Header{"X-Robots-Tag": {"bot: nofollow, max-snippet: 0"}},
			"bot",
		),
	} {
		text, err := json.Marshal(d)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var read Directives
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(d.rules) == 0 {
			d.rules = nil
		}
		if !reflect.DeepEqual(read, d) {
			t.Errorf("%s: read again from %s:\n%+v\nwant\n%+v", name, text, read, d)
		}
	}
}

func TestDirectives_StoredByAnotherVersion(t *testing.T) {
	for name, text := range map[string]string{
		"cut short":        `{"says":"noin`,
		"a new directive":  `{"says":"nothinking"}`,
		"one with a value": `{"says":"max-snippet"}`,
		"a new preview":    `{"says":"max-image-preview: huge"}`,
		"another form":     `{"says":["noindex"]}`,
	} {
		d := ParseContent("nofollow")
		if err := json.Unmarshal([]byte(text), &d); err == nil {
			t.Errorf("%s: %s was read without an error", name, text)
		}
		if !d.NoFollow() {
			t.Errorf("%s: a failed UnmarshalJSON changed the Directives", name)
		}
	}
}

// A page has more rules than are kept, and one of them reserves text and data
// mining. Says reports the rule, although Rules does not yield it. So does
// a Directives that was stored and read again.
func TestSays_ReservationBeyondTheRulesThatAreKept(t *testing.T) {
	for _, before := range []int{0, maxRules - 1, maxRules, 2 * maxRules} {
		for _, content := range []string{"1", " 1\n", "0", "11", ""} {
			var d Directives
			for i := range before {
				d = d.Union(ParseMeta("robots", fmt.Sprint("unknown", i), 1))
			}
			d = d.Union(ParseMeta("TDM-Reservation", content, 1))
			text, err := json.Marshal(d)
			if err != nil {
				t.Fatal(err)
			}
			var again Directives
			if err := json.Unmarshal(text, &again); err != nil {
				t.Fatal(err)
			}
			want := strings.TrimSpace(content) == "1"
			if d.Says("tdm-reservation") != want || again.Says("tdm-reservation") != want {
				t.Errorf("%d rules, content %q: %v, stored %v",
					before, content, d.Says("tdm-reservation"), again.Says("tdm-reservation"))
			}
		}
	}
}

// A Directives that was stored before reservations were stored apart has the
// reservation among its rules.
func TestUnmarshalJSON_ReservationAmongTheRules(t *testing.T) {
	var d Directives
	text := `{"rules":[{"name":"tdm-reservation","value":"1","known":true,"source":"meta","raw":"1"}]}`
	if err := json.Unmarshal([]byte(text), &d); err != nil || !d.Says("tdm-reservation") {
		t.Errorf("%v, %+v", err, d)
	}
}

func TestRulesAsJSON(t *testing.T) {
	for source, text := range map[string]string{Content: "content", XRobotsTag: "X-Robots-Tag", RobotsTag: "Robots-Tag", Meta: "meta"} {
		rule := Rule{Name: "noindex", Known: true, Source: source, Line: 2, Raw: "NoIndex"}
		line, err := json.Marshal(rule)
		if want := `"source":"` + text + `"`; err != nil || !strings.Contains(string(line), want) {
			t.Errorf("%s, %v: want %s", line, err, want)
		}
		var back Rule
		if err := json.Unmarshal(line, &back); err != nil || back != rule {
			t.Errorf("%s is read back as %+v, %v", line, back, err)
		}
	}
}
