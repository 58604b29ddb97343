package preference

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotsmeta"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// A source is a place in which an owner can state a preference about a use.
// Each function adds a statement with the given answer to a draft of an Input.
// For Unknown, the statement cannot be parsed. A function is nil if the source
// has no statement with this answer.
type source struct {
	name    string
	use     Use
	deny    func(d *draftInput)
	allow   func(d *draftInput)
	unknown func(d *draftInput)
}

// add returns the function for an answer.
func (s source) add(answer Answer) func(d *draftInput) {
	switch answer {
	case Deny:
		return s.deny
	case Allow:
		return s.allow
	}
	return s.unknown
}

// A draftInput is an Input whose robots.txt is not parsed yet.
type draftInput struct {
	Input
	robots []string
}

func (d draftInput) input() Input {
	d.Robots = robotstxt.Parse([]byte("User-agent: *\n" + strings.Join(d.robots, "\n") + "\n" +
		"Allow: /\n" +
		"\n" +
		"User-agent: allowed-token\n" +
		"Allow: /\n" +
		"\n" +
		"User-agent: denied-token\n" +
		"Disallow: /\n"))
	return d.Input
}

// sources returns all sources of statements about search, training and input.
func sources(t *testing.T) (all []source) {
	line := func(text string) func(d *draftInput) {
		return func(d *draftInput) { d.robots = append(d.robots, text) }
	}
	field := func(name, text string) func(d *draftInput) {
		return func(d *draftInput) {
			if d.Header == nil {
				d.Header = make(http.Header)
			}
			d.Header.Add(name, text)
		}
	}
	license := func(terms string) func(d *draftInput) {
		file := mustParseRSL(t, rslFile(forAllURLs(terms)))
		return func(d *draftInput) { d.RSL = append(d.RSL, file) }
	}
	policy := func(use Use, token string) func(d *draftInput) {
		return func(d *draftInput) {
			if d.PolicyTokens == nil {
				d.PolicyTokens = make(map[Use][]string)
			}
			d.PolicyTokens[use] = append(d.PolicyTokens[use], token)
		}
	}
	meta := func(content string) func(d *draftInput) {
		return func(d *draftInput) {
			d.Page = d.Page.Union(robotsmeta.ParseMeta("robots", content, 1))
		}
	}
	for _, label := range []struct {
		use           Use
		usage, signal string // the labels of Content-Usage, and of Content-Signal and RSL
	}{
		{TrainAI, "train-ai", "ai-train"},
		{AIInput, "ai-use", "ai-input"},
		{Search, "search", "search"},
	} {
		permits := `<permits type="usage">` + label.signal + `</permits>`
		prohibits := `<prohibits type="usage">` + label.signal + `</prohibits>`
		all = append(all,
			source{
				name:    "Content-Usage in robots.txt",
				use:     label.use,
				deny:    line("Content-Usage: " + label.usage + "=n"),
				allow:   line("Content-Usage: " + label.usage + "=y"),
				unknown: line("Content-Usage: " + label.usage + "=y, INVALID=y"),
			},
			source{
				name:    "Content-Usage in the header",
				use:     label.use,
				deny:    field("Content-Usage", label.usage+"=n"),
				allow:   field("Content-Usage", label.usage+"=y"),
				unknown: field("Content-Usage", label.usage+"=yes"),
			},
			source{
				name:    "Content-Signal in robots.txt",
				use:     label.use,
				deny:    line("Content-Signal: " + label.signal + "=no"),
				allow:   line("Content-Signal: " + label.signal + "=yes"),
				unknown: line("Content-Signal: " + label.signal + "=maybe"),
			},
			source{
				name:    "Content-Signal in the header",
				use:     label.use,
				deny:    field("Content-Signal", label.signal+"=no"),
				allow:   field("Content-Signal", label.signal+"=yes"),
				unknown: field("Content-Signal", label.signal+"=perhaps"),
			},
			source{
				name:    "RSL",
				use:     label.use,
				deny:    license(prohibits),
				allow:   license(permits),
				unknown: license(permits + `<payment type="crawl"/>`),
			},
			source{
				name:  "policy token",
				use:   label.use,
				deny:  policy(label.use, "denied-token"),
				allow: policy(label.use, "allowed-token"),
			},
		)
	}
	return append(all,
		source{
			name:    "TDMRep in the header",
			use:     TrainAI,
			deny:    field("TDM-Reservation", "1"),
			allow:   field("TDM-Reservation", "0"),
			unknown: field("TDM-Reservation", "2"),
		},
		source{name: "noai", use: TrainAI, deny: meta("noai")},
		source{name: "noml", use: TrainAI, deny: meta("noml")},
	)
}

// TestFor_EachSource checks the answer if there is a single statement.
func TestFor_EachSource(t *testing.T) {
	for _, s := range sources(t) {
		for _, answer := range []Answer{Deny, Allow, Unknown} {
			add := s.add(answer)
			if add == nil {
				continue
			}
			var d draftInput
			add(&d)
			if v := d.input().For(s.use); v.Answer != answer || len(v.Evidence) == 0 {
				t.Errorf("%s with %s: For(%s) = %s with the evidence %v, want %s with evidence",
					s.name, answer, s.use, v.Answer, v.Evidence, answer)
			}
		}
	}
}

// TestFor_EachPairOfSources checks that of two statements about the same use,
// deny overrides allow, and allow overrides unknown.
func TestFor_EachPairOfSources(t *testing.T) {
	all := sources(t)
	answers := []Answer{Deny, Allow, Unknown}
	count := 0
	for i, a := range all {
		for _, b := range all[i+1:] {
			for _, answerA := range answers {
				for _, answerB := range answers {
					if checkPair(t, a, b, answerA, answerB) {
						count++
					}
				}
			}
		}
	}
	if n := len(all); count < n*(n-1)/2 {
		t.Errorf("checked %d pairs of answers for %d sources, want at least one for each pair",
			count, n)
	}
	t.Logf("%d pairs of answers", count)
}

// checkPair checks the answer about the use of a if there are two statements.
// It returns false if one of the sources has no such statement.
func checkPair(t *testing.T, a, b source, answerA, answerB Answer) bool {
	t.Helper()
	addA := a.add(answerA)
	addB := b.add(answerB)
	if addA == nil || addB == nil {
		return false
	}
	var d draftInput
	addA(&d)
	addB(&d)
	in := d.input()
	checkStatements(t, in)
	want := answerA
	if a.use == b.use {
		want = combine(answerA, answerB)
	}
	if v := in.For(a.use); v.Answer != want {
		t.Errorf("%s with %s for %s, and %s with %s for %s: For(%s) = %s, want %s; the evidence is %v",
			a.name, answerA, a.use, b.name, answerB, b.use, a.use, v.Answer, want, v.Evidence)
	}
	return true
}

// TestCombine checks the rule on which the verdict for several signals is
// based.
func TestCombine(t *testing.T) {
	for _, tt := range []struct{ a, b, want Answer }{
		{Deny, Deny, Deny},
		{Deny, Allow, Deny},
		{Deny, Unknown, Deny},
		{Allow, Allow, Allow},
		{Allow, Unknown, Allow},
		{Unknown, Unknown, Unknown},
	} {
		if got := combine(tt.a, tt.b); got != tt.want {
			t.Errorf("combine(%s, %s) = %s, want %s", tt.a, tt.b, got, tt.want)
		}
		if got := combine(tt.b, tt.a); got != tt.want {
			t.Errorf("combine(%s, %s) = %s, want %s", tt.b, tt.a, got, tt.want)
		}
	}
}

// TestFor_AIUse checks a label that denies input, and that versions of the
// vocabulary before 08 did not define.
func TestFor_AIUse(t *testing.T) {
	in := Input{Header: header("Content-Usage", "ai-use=n", "Content-Signal", "ai-input=yes")}
	if v := in.For(AIInput); v.Answer != Deny || !strings.Contains(v.String(), "Content-Usage") {
		t.Errorf("For(AIInput) = %v, want deny by Content-Usage", v)
	}
}

// TestFor_InvalidFields checks that fields that cannot be parsed are in the
// evidence, but have no answer.
func TestFor_InvalidFields(t *testing.T) {
	long := strings.Repeat("x", maxField)
	for _, tt := range []struct {
		name string
		in   Input
		want string // the use, a colon, and the beginning of the evidence
	}{
		{
			name: "a field that is not a Dictionary",
			in:   Input{Header: header("Content-Usage", "ai-use=n, =")},
			want: "ai-input: unknown by Content-Usage in header, line 1: cannot be read: ai-use=n, =",
		},
		{
			name: "an invalid value of Content-Usage",
			in:   Input{Header: header("Content-Usage", "ai-use=no")},
			want: "ai-input: unknown by Content-Usage in header, line 1: ai-use=no",
		},
		{
			name: "an unknown label",
			in:   Input{Header: header("Content-Usage", "dance=n;x")},
			want: "dance: unknown by Content-Usage in header, line 1: dance=n;x",
		},
		{
			name: "an invalid value of Content-Signal",
			in:   Input{Header: header("Content-Signal", "ai-train=perhaps")},
			want: "train-ai: unknown by Content-Signal in header, line 1: ai-train=perhaps",
		},
		{
			name: "a Content-Signal of too many lines",
			in: Input{
				Header: http.Header{
					"Content-Signal": slices.Repeat([]string{"ai-input=yes"}, 560_000),
				},
			},
			want: "ai-input: unknown by Content-Signal in header, line 1: cannot be read: ai-input=yes",
		},
		{
			name: "a TDM-Reservation that is too long",
			in: Input{
				Header: header("TDM-Reservation", "0", "TDM-Reservation", long),
				TDMRep: []byte(`[{"location":"/","tdm-reservation":0}]`),
			},
			want: "train-ai: unknown by TDM-Reservation in header, line 1: cannot be read: 0",
		},
		{
			name: "a Content-Usage that is too long",
			in:   Input{Header: header("Content-Usage", "ai-use=y", "Content-Usage", long)},
			want: "ai-input: unknown by Content-Usage in header, line 1: cannot be read: ai-use=y",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkStatements(t, tt.in)
			use, want, _ := strings.Cut(tt.want, ": ")
			v := tt.in.For(Use(use))
			if v.Answer != Unknown || len(v.Evidence) != 1 {
				t.Errorf("For(%s) = %s with the evidence %v, want unknown with one statement",
					use, v.Answer, v.Evidence)
			}
			if !strings.HasPrefix(v.String(), want) {
				t.Errorf("For(%s).String() = %q, want a text that begins with %q", use, v, want)
			}
		})
	}
	in := Input{Header: header("Link", "<a>; rel=license", "Link", "<b>; rel=license; title="+long)}
	if got := in.Licenses(); got != nil {
		t.Errorf("Licenses() with a Link that is too long = %v, want none", got)
	}
}

// TestSays_HostileInput checks that the number and the size of statements are
// limited, even if fields have the maximum size.
func TestSays_HostileInput(t *testing.T) {
	labels := func(format, separator string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxField-100; i++ {
			fmt.Fprintf(&b, format+separator, i)
		}
		return strings.TrimSuffix(b.String(), separator)
	}
	lines := "Content-Signal: a=1,b=2,c=3,d=4,e=5,f=6,g=7\nContent-Usage: a,b,c,d,e,f,g\n"
	for name, in := range map[string]Input{
		"labels of Content-Usage": {Header: header("Content-Usage", labels("k%d=n", ", "))},
		"a repeated label": {
			Header: header("Content-Signal", strings.Repeat("ai-train=no,", 5000)),
		},
		"labels of Content-Signal": {Header: header("Content-Signal", labels("k%d=no", " "))},
		"fields of robots.txt": {
			Robots: robots("User-agent: *\n" + strings.Repeat(lines, 5000)),
		},
		"reservations": {
			Header: http.Header{"Tdm-Reservation": slices.Repeat([]string{"1"}, 5000)},
		},
	} {
		all := in.statements()
		if n := len(all); n == 0 || n > 2*maxFields*maxUnknown {
			t.Errorf("%s: statements() returns %d statements, want 1 to %d", name, n, 2*maxFields*maxUnknown)
		}
		if n := len(in.Says()); n > maxFields+10 {
			t.Errorf("%s: Says() returns %d statements, want at most %d", name, n, maxFields+10)
		}
		checkStatements(t, in)
	}
}

// TestContentUse checks that the least of all values is returned.
func TestContentUse(t *testing.T) {
	for _, tt := range []struct {
		name string
		want string // the value, and the place and line of its statement
		in   Input
	}{
		{"no label use", "", Input{Header: header("Content-Signal", "search=yes")}},
		{
			name: "a line of Cloudflare",
			want: "reference robots.txt 2",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Signal: search=yes,ai-train=no,use=reference",
					"Allow: /",
				),
			},
		},
		{"a line in the header", "full header 1", Input{Header: header("Content-Signal", "use=full")}},
		{
			name: "immediate and reference",
			want: "immediate header 2",
			in: Input{
				Header: header(
					"Content-Signal", "use=reference",
					"Content-Signal", "USE=Immediate",
				),
			},
		},
		{
			name: "reference and full",
			want: "reference header 1",
			in: Input{
				Robots: robots("User-agent: *", "Content-Signal: use=full"),
				Header: header("Content-Signal", "use=reference"),
			},
		},
		{
			name: "all values in one line",
			want: "immediate header 1",
			in:   Input{Header: header("Content-Signal", "use=full, use=immediate, use=reference")},
		},
		{
			name: "the same value in two places",
			want: "full robots.txt 2",
			in: Input{
				Robots: robots("User-agent: *", "Content-Signal: use=full"),
				Header: header("Content-Signal", "use=full"),
			},
		},
		{
			name: "an unknown value",
			want: "full header 2",
			in:   Input{Header: header("Content-Signal", "use=none", "Content-Signal", "use=full")},
		},
		{
			name: "a path that does not match",
			in: Input{
				Robots: robots("User-agent: *", "Content-Signal: /a use=full"),
				Target: "/b",
			},
		},
		{"the label use of Content-Usage", "", Input{Header: header("Content-Usage", "use=full")}},
		{"an empty value", "", Input{Header: header("Content-Signal", "use=")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if use, by := tt.in.ContentUse(); use != "" {
				got = fmt.Sprint(use, " ", by.Where, " ", by.Line)
			}
			if got != tt.want {
				t.Errorf("ContentUse() = %q, want %q", got, tt.want)
			}
			for _, use := range []Use{Search, AIInput} {
				if v := tt.in.For(use); v.Answer == Deny {
					t.Errorf("For(%s) = %v, want no denial by the label use", use, v)
				}
			}
		})
	}
}

// FuzzFor_Equivalents checks that the signals that can express the same
// statements have the same meaning. The bytes of answers are the answers for
// Search, TrainAI and AIInput: "y", "n", or any other byte for none.
func FuzzFor_Equivalents(f *testing.F) {
	f.Add("ny-", "", "/a", false)
	f.Add("-yn", "x=1, ", "/", true)
	f.Add("nnn", "ai-input=y;", "/b?c", true)
	f.Fuzz(func(t *testing.T, answers, noise, target string, reverse bool) {
		want, usage, signal, terms := express(answers)
		if reverse {
			slices.Reverse(usage)
			slices.Reverse(signal)
		}
		allUsage := strings.Join(usage, ", ")
		allSignal := strings.Join(signal, ", ")
		inputs := map[string]Input{
			"Content-Usage in one line":     {Header: header("Content-Usage", allUsage)},
			"Content-Usage in several":      {Header: http.Header{"Content-Usage": usage}},
			"Content-Usage in robots.txt":   {Robots: robots("User-agent: *", "Content-Usage: "+allUsage, "Allow: /")},
			"Content-Signal in one line":    {Header: header("Content-Signal", allSignal)},
			"Content-Signal in several":     {Header: http.Header{"Content-Signal": signal}},
			"Content-Signal in robots.txt":  {Robots: robots("User-agent: *", "Content-Signal: "+strings.Join(signal, "; "))},
			"Content-Signal without commas": {Header: header("Content-Signal", strings.Join(signal, " "))},
			"RSL":                           withRSL(t, "/", rslFile(forAllURLs(terms))),
		}
		for _, name := range slices.Sorted(maps.Keys(inputs)) {
			in := inputs[name]
			if in.Robots == nil || !strings.HasPrefix(target, "/robots.txt") {
				in.Target = "/x"
			}
			for use, answer := range want {
				if v := in.For(use); v.Answer != answer {
					t.Fatalf("%q as %s: For(%s) = %v, want %s", answers, name, use, v, answer)
				}
			}
			checkStatements(t, in)
		}
		compareHeaderAndRobots(t, contentUsage, noise+allUsage)
		compareHeaderAndRobots(t, contentSignal, noise+allSignal)
	})
}

// express returns statements with the given answers as members of Content-Usage
// and Content-Signal, and as terms of RSL.
func express(answers string) (want map[Use]Answer, usage, signal []string, terms string) {
	want = make(map[Use]Answer)
	labels := []struct {
		use           Use
		usage, signal string
	}{
		{Search, "search", "search"},
		{TrainAI, "train-ai", "ai-train"},
		{AIInput, "ai-use", "ai-input"},
	}
	for i, label := range labels {
		want[label.use] = Unknown
		if i >= len(answers) {
			continue
		}
		switch answers[i] {
		case 'y':
			want[label.use] = Allow
			usage = append(usage, label.usage+"=y")
			signal = append(signal, label.signal+"=yes")
			terms += `<permits type="usage">` + label.signal + `</permits>`
		case 'n':
			want[label.use] = Deny
			usage = append(usage, label.usage+"=n")
			signal = append(signal, label.signal+"=no")
			terms += `<prohibits type="usage">` + label.signal + `</prohibits>`
		}
	}
	return want, usage, signal, terms
}

// compareHeaderAndRobots checks that a field has the same meaning in the header
// and in robots.txt, unless it is a value that only one of them can contain.
func compareHeaderAndRobots(t *testing.T, name, value string) {
	t.Helper()
	value = strings.TrimSpace(value)
	hasPath := strings.HasPrefix(value, "/")
	if value == "" || hasPath || len(value) > 1200 || strings.ContainsAny(value, "#\r\n\x00\v\f") {
		return
	}
	inHeader := Input{Header: header(name, value)}
	inRobots := Input{Robots: robots("User-agent: *", name+": "+value, "Allow: /")}
	for _, use := range uses {
		a := inHeader.For(use)
		b := inRobots.For(use)
		if a.Answer != b.Answer || len(a.Evidence) != len(b.Evidence) {
			t.Fatalf("%s: %q: For(%s) is %v with %v in the header, and %v with %v in robots.txt, want the same",
				name, value, use, a, a.Evidence, b, b.Evidence)
		}
	}
}
