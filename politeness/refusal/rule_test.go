package refusal

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

func mustDetector(t testing.TB, rules ...Rule) *Detector {
	t.Helper()
	d, err := NewDetector(rules...)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Each response that meets a rule has a sibling that misses one condition.
func TestDetector(t *testing.T) {
	const page = "<html><p>Our gatekeeper has stopped you</p></html>"
	tests := []struct {
		name   string
		rule   Rule
		answer *http.Response
		page   string
		want   Refusal // what OfPage returns; the zero value if there is no refusal
	}{
		{"the status alone", Rule{By: "Gate", Kind: Block, Sure: true, Statuses: []int{418, 999}},
			answer(999), "", Refusal{By: "Gate", Kind: Block, Sure: true, Evidence: "999"}},
		{"another status", Rule{By: "Gate", Kind: Block, Sure: true, Statuses: []int{418, 999}},
			answer(404), "", Refusal{}},

		{"a field with any value", Rule{Kind: Captcha, Header: "x-gate"},
			answer(200, "x-gate: "), "", Refusal{Kind: Captcha, Evidence: "200, x-gate: "}},
		{"without the field", Rule{Kind: Captcha, Header: "x-gate"},
			answer(200, "x-gates: 1"), "", Refusal{}},

		{"a part of a value, in another case", Rule{
			Kind:        Challenge,
			Header:      "SET-COOKIE",
			HeaderValue: "gate_check=",
		},
			answer(200, "set-cookie: a=b", "set-cookie: GATE_check=1; Path=/"), "", Refusal{
				Kind:     Challenge,
				Evidence: "200, set-cookie: GATE_check=1; Path=/",
			}},
		{"another value", Rule{Kind: Challenge, Header: "SET-COOKIE", HeaderValue: "gate_check="},
			answer(200, "set-cookie: a=b", "set-cookie: gate_chec=1"), "", Refusal{}},

		{"a text", Rule{By: "Gate", Kind: Block, Sure: true, Text: []string{"gatekeeper"}},
			answer(200), page, Refusal{
				By:       "Gate",
				Kind:     Block,
				Sure:     true,
				Evidence: "200, the page has gatekeeper",
			}},
		{"a text in another case", Rule{
			By:   "Gate",
			Kind: Block,
			Sure: true,
			Text: []string{"Gatekeeper"},
		},
			answer(200), page, Refusal{}},
		{"the last text within 16 KiB", Rule{Kind: Block, Text: []string{"gatekeeper"}},
			answer(200), strings.Repeat(" ", Window-len("gatekeeper")) + "gatekeeper", Refusal{
				Kind:     Block,
				Evidence: "200, the page has gatekeeper",
			}},
		{"a text that ends beyond 16 KiB", Rule{Kind: Block, Text: []string{"gatekeeper"}},
			answer(200), strings.Repeat(" ", Window-len("gatekeeper")+1) + "gatekeeper", Refusal{}},
		{"a text in JSON", Rule{Kind: Block, Text: []string{`"blocked":true`}},
			answer(200), `{"blocked":true}`, Refusal{
				Kind:     Block,
				Evidence: `200, the page has "blocked":true`,
			}},

		{"all texts", Rule{Kind: Block, Text: []string{"gatekeeper", "stopped"}},
			answer(403), page, Refusal{
				Kind:     Block,
				Evidence: "403, the page has gatekeeper and stopped",
			}},
		{"one of two texts", Rule{Kind: Block, Text: []string{"gatekeeper", "blocked"}},
			answer(403), page, Refusal{}},

		{"all conditions", Rule{
			Kind:        Block,
			Statuses:    []int{403},
			Header:      "Server",
			HeaderValue: "gate",
			Text:        []string{"gatekeeper"},
		},
			answer(403, "server: Gate/1.0"), page, Refusal{
				Kind:     Block,
				Evidence: "403, server: Gate/1.0, the page has gatekeeper",
			}},
		{"all but the status", Rule{
			Kind:        Block,
			Statuses:    []int{403},
			Header:      "Server",
			HeaderValue: "gate",
			Text:        []string{"gatekeeper"},
		},
			answer(200, "server: Gate/1.0"), page, Refusal{}},
		{"all but the field", Rule{
			Kind:        Block,
			Statuses:    []int{403},
			Header:      "Server",
			HeaderValue: "gate",
			Text:        []string{"gatekeeper"},
		},
			answer(403, "server: nginx"), page, Refusal{}},
		{"all but the text", Rule{
			Kind:        Block,
			Statuses:    []int{403},
			Header:      "Server",
			HeaderValue: "gate",
			Text:        []string{"gatekeeper"},
		},
			answer(403, "server: Gate/1.0"), "<html>", Refusal{}},

		// A rule takes precedence over the table.
		{"before the table", Rule{
			By:       "Gate",
			Kind:     Captcha,
			Statuses: []int{429},
			Text:     []string{"gatekeeper"},
		},
			answer(429), page, Refusal{
				By:       "Gate",
				Kind:     Captcha,
				Evidence: "429, the page has gatekeeper",
			}},
		{"the table, without the text", Rule{
			By:       "Gate",
			Kind:     Captcha,
			Statuses: []int{429},
			Text:     []string{"gatekeeper"},
		},
			answer(429), "<html>", Refusal{
				Kind:     RateLimit,
				Sure:     true,
				Evidence: "429 Too Many Requests",
			}},

		{"a price", Rule{By: "Gate", Kind: Payment, Statuses: []int{403}},
			answer(403, "crawler-price: EUR 2"), "", Refusal{
				By:       "Gate",
				Kind:     Payment,
				Currency: "EUR",
				Price:    "2",
				Evidence: "403",
			}},
		{"who blocks", Rule{By: "Gate", Kind: Legal, Statuses: []int{403}},
			answer(403, `link: <https://a.example/>; rel="blocked-by"`), "", Refusal{
				By:       "https://a.example/",
				Kind:     Legal,
				Evidence: "403",
			}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			d := mustDetector(t, Rule{Kind: License, Header: "X-Never-Sent"}, tt.rule)
			got, ok := d.OfPage(tt.answer, []byte(tt.page))
			if got != tt.want || ok != (tt.want != Refusal{}) {
				t.Errorf("OfPage = %+v, %t, want %+v", got, ok, tt.want)
			}
			wantOf, wantOK := Of(tt.answer)
			if len(tt.rule.Text) == 0 && ok {
				wantOf = got
				wantOK = ok
			}
			if got, ok := d.Of(tt.answer); got != wantOf || ok != wantOK {
				t.Errorf("Of = %+v, %t, want %+v, %t", got, ok, wantOf, wantOK)
			}
		})
	}
}

func TestNewDetector_Errors(t *testing.T) {
	text := []string{"gate"}
	tests := []struct {
		rule Rule
		want string // part of the error; empty if the rule is valid
	}{
		{Rule{Kind: Block, Statuses: []int{400, 999}}, ""},
		{Rule{Kind: Block, Statuses: []int{100, 200, 304}, Header: "x-gate"}, ""},
		{Rule{Kind: Block, Header: "x-gate", HeaderValue: "a b=\"c\""}, ""},
		{Rule{Kind: RateLimit, Text: []string{strings.Repeat("x", Window)}}, ""},
		{Rule{Text: text}, "Kind"},
		{Rule{Kind: RateLimit + 1, Text: text}, "Kind"},
		{Rule{Kind: Block}, "no condition"},
		{Rule{Kind: Block, Statuses: []int{}, Text: []string{}}, "no condition"},
		{Rule{Kind: Block, Statuses: []int{403, 200}}, "200"},
		{Rule{Kind: Block, Statuses: []int{399}}, "399"},
		{Rule{Kind: Block, Statuses: []int{403, 99}, Text: text}, "99"},
		{Rule{Kind: Block, Statuses: []int{1000}, Text: text}, "1000"},
		{Rule{Kind: Block, Header: "x gate"}, `"x gate"`},
		{Rule{Kind: Block, Header: "x-gate:"}, `"x-gate:"`},
		{Rule{Kind: Block, Header: "x-gaté"}, `"x-gaté"`},
		{Rule{Kind: Block, HeaderValue: "gate", Text: text}, "Header is empty"},
		{Rule{Kind: Block, Header: "x-gate", HeaderValue: "a\nb"}, "printable"},
		{Rule{Kind: Block, Header: "x-gate", HeaderValue: "é"}, "printable"},
		{Rule{Kind: Block, Text: []string{"gate", ""}}, "is empty"},
		{Rule{Kind: Block, Text: []string{strings.Repeat("x", Window+1)}}, "16385 bytes"},
	}
	for _, tt := range tests {
		d, err := NewDetector(Rule{Kind: Block, Text: text}, tt.rule)
		if tt.want == "" {
			if err != nil || d == nil {
				t.Errorf("NewDetector(%.60v) = %v, %v, want a Detector", tt.rule, d, err)
			}
			continue
		}
		if err == nil || d != nil {
			t.Errorf("NewDetector(%.60v) = %v, %v, want an error", tt.rule, d, err)
			continue
		}
		text := err.Error()
		if !strings.HasPrefix(text, "refusal: rule 1: ") || !strings.Contains(text, tt.want) {
			t.Errorf("NewDetector(%.60v) returns the error %q, want one of rule 1 that contains %q",
				tt.rule, text, tt.want)
		}
	}
}

// TestDetector_WithoutRules checks that a Detector without rules has the
// results of the functions Of and OfPage.
func TestDetector_WithoutRules(t *testing.T) {
	for name, d := range map[string]*Detector{
		"nil":      nil,
		"zero":     new(Detector),
		"no rules": mustDetector(t),
	} {
		if r, ok := d.Of(answer(403, "cf-mitigated: challenge")); !ok || r.By != "Cloudflare" {
			t.Errorf("%s: Of = %+v, %t, want a refusal by Cloudflare", name, r, ok)
		}
		if r, ok := d.OfPage(answer(200), []byte(anubisChallenge)); !ok || r.By != "Anubis" {
			t.Errorf("%s: OfPage = %+v, %t, want a refusal by Anubis", name, r, ok)
		}
		if r, ok := d.Of(nil); ok {
			t.Errorf("%s: Of(nil) = %+v, true, want false", name, r)
		}
	}
	d := mustDetector(t, Rule{Kind: Block, Statuses: []int{403}})
	if r, ok := d.Of(nil); ok {
		t.Errorf("Of(nil) = %+v, true, want false", r)
	}
	if r, ok := d.OfPage(nil, []byte("<html>")); ok {
		t.Errorf("OfPage(nil) = %+v, true, want false", r)
	}
}

// TestNewDetector_CopiesSlices checks that a caller may reuse the slices of a
// rule.
func TestNewDetector_CopiesSlices(t *testing.T) {
	rule := Rule{Kind: Block, Statuses: []int{403}, Text: []string{"gate"}}
	d := mustDetector(t, rule)
	rule.Statuses[0] = 404
	rule.Text[0] = "door"
	if r, ok := d.OfPage(answer(403), []byte("gate")); !ok || r.Evidence != "403, the page has gate" {
		t.Errorf("OfPage = %+v, %t, want a refusal by the original rule", r, ok)
	}
}

// TestDetector_ShortAndPrintable checks that the texts of a Refusal are short
// and printable, whatever the response and the rule contain.
func TestDetector_ShortAndPrintable(t *testing.T) {
	d := mustDetector(t, Rule{
		By:     strings.Repeat("\x1b", 4000),
		Kind:   Block,
		Header: "x-gate",
		Text:   []string{"\x1b[31m\xff\u202e" + strings.Repeat("g", Window/2)},
	})
	body := []byte(d.rules[0].Text[0])
	r, ok := d.OfPage(answer(403, "x-gate: \x07"+strings.Repeat("9", 9<<20)), body)
	isShort := len(r.Evidence) <= 300 && len(r.By) <= 300
	if !ok || !isShort || strings.Trim(r.Evidence+r.By, printables()) != "" {
		t.Errorf("OfPage returns %t, an Evidence of %d bytes %.80q and a By of %d bytes, want short, printable texts",
			ok, len(r.Evidence), r.Evidence, len(r.By))
	}
}

// TestDetector_Allocs checks that a Detector does not allocate for a response
// that is not a refusal.
func TestDetector_Allocs(t *testing.T) {
	d := mustDetector(t,
		Rule{Kind: Block, Statuses: []int{403}},
		Rule{Kind: Block, Header: "Set-Cookie", HeaderValue: "gate="},
		Rule{Kind: Block, Text: []string{"gatekeeper"}})
	resp := answer(200, "content-type: text/html", "server: nginx", "set-cookie: a=b")
	page := []byte("<html>" + strings.Repeat("<p>words</p>", 1000))
	if n := testing.AllocsPerRun(100, func() { d.Of(resp); d.OfPage(resp, page) }); n > 0 {
		t.Errorf("Of and OfPage make %v allocations, want none", n)
	}
}

// FuzzDetector compares a Detector of one rule with a simple version of its
// conditions.
func FuzzDetector(f *testing.F) {
	f.Add(403, "Server", "Gate/1", []byte("<p>gatekeeper"), 403, "server", "gate", "keeper")
	f.Add(200, "Set-Cookie", "a", []byte(""), 0, "set-cookie", "", "")
	f.Add(500, "", "", []byte("\xff\x00"), 500, "", "", "\x00")
	f.Fuzz(func(t *testing.T, status int, name, value string, page []byte, ruleStatus int, header, headerValue, text string) {
		rule := Rule{By: "Gate", Kind: Block, Header: header, HeaderValue: headerValue}
		if ruleStatus != 0 {
			rule.Statuses = []int{ruleStatus}
		}
		if text != "" {
			rule.Text = []string{text}
		}
		d, err := NewDetector(rule)
		if err != nil {
			return
		}
		h := make(http.Header)
		h.Add(name, value)
		resp := &http.Response{StatusCode: status, Header: h}
		if slices.ContainsFunc([]byte(value), func(c byte) bool { return c > '~' }) {
			return // strings.ToLower changes letters that are not ASCII
		}
		window := page[:min(len(page), Window)]
		hasStatus := ruleStatus == 0 || ruleStatus == status
		hasValue := strings.Contains(strings.ToLower(value), strings.ToLower(headerValue))
		hasHeader := header == "" || strings.EqualFold(header, name) && hasValue
		want := hasStatus && hasHeader && strings.Contains(string(window), text)
		r, ok := d.OfPage(resp, page)
		if found := ok && r.By == "Gate"; found != want {
			t.Fatalf("the rule %+v applies to status %d, %s: %q and the page %q: %t (%+v), want %t",
				rule, status, name, value, page, found, r, want)
		}
	})
}
