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

// A source is a place where an owner can answer a use. Each function adds to a
// draft of an Input what gives the Answer, and adds what the source cannot be
// read by for Unknown. A nil function means that the source has no such answer.
type source struct {
	name string
	use  Use
	say  map[Answer]func(d *draftInput)
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

// sources returns all sources of answers about training and about input.
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
	rsl := func(text string) func(d *draftInput) {
		return func(d *draftInput) { d.RSL = append(d.RSL, withRSL(t, "/", rslFile(forAllURLs(text))).RSL...) }
	}
	policy := func(use Use, token string) func(d *draftInput) {
		return func(d *draftInput) {
			if d.PolicyTokens == nil {
				d.PolicyTokens = make(map[Use][]string)
			}
			d.PolicyTokens[use] = append(d.PolicyTokens[use], token)
		}
	}
	for use, labels := range map[Use][3]string{TrainAI: {"train-ai", "ai-train", "ai-train"}, AIInput: {"ai-use", "ai-input", "ai-input"}, Search: {"search", "search", "search"}} {
		usage := labels[0]
		signal := labels[1]
		term := labels[2]
		all = append(all,
			source{
				name: "Content-Usage in robots.txt",
				use:  use,
				say:  map[Answer]func(*draftInput){Deny: line("Content-Usage: " + usage + "=n"), Allow: line("Content-Usage: " + usage + "=y"), Unknown: line("Content-Usage: " + usage + "=y, INVALID=y")},
			},
			source{
				name: "Content-Usage in the header",
				use:  use,
				say: map[Answer]func(*draftInput){Deny: field(
					"Content-Usage",
					usage+"=n",
				), Allow: field(
					"Content-Usage",
					usage+"=y",
				), Unknown: field("Content-Usage", usage+"=yes")},
			},
			source{
				name: "Content-Signal in robots.txt",
				use:  use,
				say:  map[Answer]func(*draftInput){Deny: line("Content-Signal: " + signal + "=no"), Allow: line("Content-Signal: " + signal + "=yes"), Unknown: line("Content-Signal: " + signal + "=maybe")},
			},
			source{
				name: "Content-Signal in the header",
				use:  use,
				say: map[Answer]func(*draftInput){Deny: field(
					"Content-Signal",
					signal+"=no",
				), Allow: field(
					"Content-Signal",
					signal+"=yes",
				), Unknown: field("Content-Signal", signal+"=perhaps")},
			},
			source{
				name: "RSL",
				use:  use,
				say:  map[Answer]func(*draftInput){Deny: rsl(`<prohibits type="usage">` + term + `</prohibits>`), Allow: rsl(`<permits type="usage">` + term + `</permits>`), Unknown: rsl(`<permits type="usage">` + term + `</permits><payment type="crawl"/>`)},
			},
			source{"policy token", use, map[Answer]func(*draftInput){
				Deny: policy(use, "denied-token"), Allow: policy(use, "allowed-token"),
			}},
		)
	}
	return append(all,
		source{
			name: "TDMRep in the header",
			use:  TrainAI,
			say: map[Answer]func(*draftInput){Deny: field(
				"TDM-Reservation",
				"1",
			), Allow: field("TDM-Reservation", "0"), Unknown: field("TDM-Reservation", "2")},
		},
		source{
			name: "noai",
			use:  TrainAI,
			say:  map[Answer]func(*draftInput){Deny: func(d *draftInput) { d.Page = d.Page.Union(robotsmeta.ParseMeta("robots", "noai", 1)) }},
		},
		source{
			name: "noml",
			use:  TrainAI,
			say:  map[Answer]func(*draftInput){Deny: func(d *draftInput) { d.Page = d.Page.Union(robotsmeta.ParseMeta("robots", "noml", 1)) }},
		},
	)
}

// The rule for all signals together: one that denies outweighs all that allow,
// silence is silence, and what cannot be read is reported and never allows.
// Each pair of sources is a row for each two answers of theirs.
func TestEachPairOfSources(t *testing.T) {
	all, rows := sources(t), 0
	answers := []Answer{Deny, Allow, Unknown}
	for i, a := range all {
		for _, said := range answers {
			if a.say[said] == nil {
				continue
			}
			var alone draftInput
			a.say[said](&alone)
			if v := alone.input().For(a.use); v.Answer != said || len(v.Evidence) == 0 {
				t.Errorf("%s alone: %v about %s, want %s: %v",
					a.name, v.Answer, a.use, said, v.Evidence)
			}
			for _, b := range all[i+1:] {
				for _, other := range answers {
					if b.say[other] == nil {
						continue
					}
					rows++
					var both draftInput
					a.say[said](&both)
					b.say[other](&both)
					in := both.input()
					checkSaid(t, in)
					want := said
					if a.use == b.use && (other == Deny || said == Unknown) {
						want = other
					}
					if v := in.For(a.use); v.Answer != want {
						t.Errorf("%s is %s for %s, %s is %s for %s: got %s, want %s: %v",
							a.name, said, a.use, b.name, other, b.use, v.Answer, want, v.Evidence)
					}
				}
			}
		}
	}
	if n := len(all); rows < n*(n-1)/2 {
		t.Errorf("%d rows for %d sources", rows, n)
	}
	t.Logf("%d rows", rows)
}

// Before version 08 of the vocabulary, nothing in Content-Usage was about
// input, so this was an allow.
func TestAIUseOutweighsWhatAllowsInput(t *testing.T) {
	in := Input{Header: header("Content-Usage", "ai-use=n", "Content-Signal", "ai-input=yes")}
	if v := in.For(AIInput); v.Answer != Deny || !strings.Contains(v.String(), "Content-Usage") {
		t.Errorf("got %v; want deny, because of Content-Usage", v)
	}
}

// What cannot be read is reported, and decides nothing.
func TestUnreadable(t *testing.T) {
	long := strings.Repeat("x", maxField)
	for _, tt := range []struct {
		name string
		in   Input
		want string // use: evidence
	}{
		{
			name: "no Dictionary",
			in:   Input{Header: header("Content-Usage", "ai-use=n, =")},
			want: "ai-input: unknown by Content-Usage in header, line 1: cannot be read: ai-use=n, =",
		},
		{
			name: "a value that is none",
			in:   Input{Header: header("Content-Usage", "ai-use=no")},
			want: "ai-input: unknown by Content-Usage in header, line 1: ai-use=no",
		},
		{
			name: "an unknown label",
			in:   Input{Header: header("Content-Usage", "dance=n;x")},
			want: "dance: unknown by Content-Usage in header, line 1: dance=n;x",
		},
		{
			name: "a signal's value that is none",
			in:   Input{Header: header("Content-Signal", "ai-train=perhaps")},
			want: "train-ai: unknown by Content-Signal in header, line 1: ai-train=perhaps",
		},
		{
			name: "a signal in many lines",
			in: Input{
				Header: http.Header{"Content-Signal": slices.Repeat(
					[]string{"ai-input=yes"},
					560_000,
				)},
			},
			want: "ai-input: unknown by Content-Signal in header, line 1: cannot be read: ai-input=yes",
		},
		{
			name: "a long reservation",
			in: Input{
				Header: header("TDM-Reservation", "0", "TDM-Reservation", long),
				TDMRep: []byte(`[{"location":"/","tdm-reservation":0}]`),
			},
			want: "train-ai: unknown by TDM-Reservation in header, line 1: cannot be read: 0",
		},
		{
			name: "a long Dictionary",
			in:   Input{Header: header("Content-Usage", "ai-use=y", "Content-Usage", long)},
			want: "ai-input: unknown by Content-Usage in header, line 1: cannot be read: ai-use=y",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkSaid(t, tt.in)
			use, want, _ := strings.Cut(tt.want, ": ")
			v := tt.in.For(Use(use))
			if v.Answer != Unknown || len(v.Evidence) != 1 || !strings.HasPrefix(v.String(), want) {
				t.Errorf("%v: %v, want %s", v.Answer, v.Evidence, want)
			}
		})
	}
	in := Input{Header: header("Link", "<a>; rel=license", "Link", "<b>; rel=license; title="+long)}
	if got := in.Licenses(); got != nil {
		t.Errorf("licenses of a long header: %v", got)
	}
}

// A hostile field of the greatest length, or a robots.txt of such fields, makes
// a limited number of statements of a limited length.
func TestFloods(t *testing.T) {
	labels := func(form, between string) string {
		var b strings.Builder
		for i := 0; b.Len() < maxField-100; i++ {
			fmt.Fprintf(&b, form+between, i)
		}
		return strings.TrimSuffix(b.String(), between)
	}
	for name, in := range map[string]Input{
		"labels of Content-Usage": {Header: header("Content-Usage", labels("k%d=n", ", "))},
		"one label again and again": {
			Header: header("Content-Signal", strings.Repeat("ai-train=no,", 5000)),
		},
		"labels of Content-Signal": {Header: header("Content-Signal", labels("k%d=no", " "))},
		"fields of robots.txt": {
			Robots: robots("User-agent: *\n" + strings.Repeat("Content-Signal: a=1,b=2,c=3,d=4,e=5,f=6,g=7\nContent-Usage: a,b,c,d,e,f,g\n", 5000)),
		},
		"reservations": {
			Header: http.Header{"Tdm-Reservation": slices.Repeat([]string{"1"}, 5000)},
		},
	} {
		all := in.statements()
		if n := len(all); n == 0 || n > 2*maxFields*maxUnknown {
			t.Errorf("%s: %d statements", name, n)
		}
		if n := len(in.Says()); n > maxFields+10 {
			t.Errorf("%s: %d statements are returned", name, n)
		}
		checkSaid(t, in)
	}
}

// The least of all values applies, wherever it is.
func TestContentUse(t *testing.T) {
	for _, tt := range []struct {
		name, want string
		in         Input
	}{
		{"nothing", "", Input{Header: header("Content-Signal", "search=yes")}},
		{
			name: "as Cloudflare writes it",
			want: "reference robots.txt 2",
			in: Input{
				Robots: robots(
					"User-agent: *",
					"Content-Signal: search=yes,ai-train=no,use=reference",
					"Allow: /",
				),
			},
		},
		{"in the header", "full header 1", Input{Header: header("Content-Signal", "use=full")}},
		{
			name: "immediate is less than reference",
			want: "immediate header 2",
			in: Input{
				Header: header(
					"Content-Signal",
					"use=reference",
					"Content-Signal",
					"USE=Immediate",
				),
			},
		},
		{
			name: "reference is less than full",
			want: "reference header 1",
			in: Input{
				Robots: robots("User-agent: *", "Content-Signal: use=full"),
				Header: header("Content-Signal", "use=reference"),
			},
		},
		{
			name: "in one line",
			want: "immediate header 1",
			in:   Input{Header: header("Content-Signal", "use=full, use=immediate, use=reference")},
		},
		{
			name: "of two equal ones the first",
			want: "full robots.txt 2",
			in: Input{
				Robots: robots("User-agent: *", "Content-Signal: use=full"),
				Header: header("Content-Signal", "use=full"),
			},
		},
		{
			name: "another value",
			want: "full header 2",
			in:   Input{Header: header("Content-Signal", "use=none", "Content-Signal", "use=full")},
		},
		{
			name: "another path",
			in: Input{
				Robots: robots("User-agent: *", "Content-Signal: /a use=full"),
				Target: "/b",
			},
		},
		{"it is no label of Content-Usage", "", Input{Header: header("Content-Usage", "use=full")}},
		{"it answers no use", "", Input{Header: header("Content-Signal", "use=")}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if use, by := tt.in.ContentUse(); use != "" {
				got = fmt.Sprint(use, " ", by.Where, " ", by.Line)
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
			for _, use := range uses {
				if v := tt.in.For(use); v.Answer == Deny && use != TrainAI && use != TrainAIImages {
					t.Errorf("%v: got %v; want deny for no use but training", use, v)
				}
			}
		})
	}
}

// A statement has the same meaning in each form that can express it.
func FuzzFormsAgree(f *testing.F) {
	f.Add("ny-", "", "/a", false)
	f.Add("-yn", "x=1, ", "/", true)
	f.Add("nnn", "ai-input=y;", "/b?c", true)
	f.Fuzz(func(t *testing.T, said, noise, target string, swap bool) {
		words := map[byte][3]string{'y': {"y", "yes", "permits"}, 'n': {"n", "no", "prohibits"}}
		labels := [...][3]string{{"search", "search", "search"}, {"train-ai", "ai-train", "ai-train"}, {"ai-use", "ai-input", "ai-input"}}
		var usage, signal []string
		var terms strings.Builder
		want := make(map[Use]Answer)
		for i, use := range []Use{Search, TrainAI, AIInput} {
			want[use] = Unknown
			if i >= len(said) {
				continue
			}
			word, ok := words[said[i]]
			if !ok {
				continue
			}
			want[use] = map[byte]Answer{'y': Allow, 'n': Deny}[said[i]]
			usage = append(usage, labels[i][0]+"="+word[0])
			signal = append(signal, labels[i][1]+"="+word[1])
			fmt.Fprintf(&terms, "<%s type=\"usage\">%s</%[1]s>", word[2], labels[i][2])
		}
		if swap {
			slices.Reverse(usage)
			slices.Reverse(signal)
		}
		forms := map[string]Input{
			"usage in the header": {Header: header("Content-Usage", strings.Join(usage, ", "))},
			"usage in lines":      {Header: http.Header{"Content-Usage": usage}},
			"usage in robots.txt": {
				Robots: robots(
					"User-agent: *",
					"Content-Usage: "+strings.Join(usage, ","),
					"Allow: /",
				),
			},
			"signal in the header": {Header: header("Content-Signal", strings.Join(signal, ","))},
			"signal in lines":      {Header: http.Header{"Content-Signal": signal}},
			"signal in robots.txt": {
				Robots: robots("User-agent: *", "Content-Signal: "+strings.Join(signal, "; ")),
			},
			"signal without commas": {Header: header("Content-Signal", strings.Join(signal, " "))},
			"terms":                 withRSL(t, "/", rslFile(forAllURLs(terms.String()))),
		}
		for _, name := range slices.Sorted(maps.Keys(forms)) {
			in := forms[name]
			if in.Robots == nil || !strings.HasPrefix(target, "/robots.txt") {
				in.Target = "/x"
			}
			for use, answer := range want {
				if v := in.For(use); v.Answer != answer {
					t.Fatalf("%q as %s: %v, want %s about %s", said, name, v, answer, use)
				}
			}
			checkSaid(t, in)
		}
		// The header and a line of robots.txt read the same text in one way.
		if strings.ContainsAny(noise, "#\r\n\x00\v\f") || strings.HasPrefix(strings.TrimSpace(noise), "/") || len(noise) > 1000 {
			return
		}
		for _, name := range []string{contentUsage, contentSignal} {
			text := strings.TrimSpace(noise + strings.Join(map[string][]string{contentUsage: usage, contentSignal: signal}[name], ", "))
			if text == "" {
				continue
			}
			a := Input{Header: header(name, text)}
			b := Input{Robots: robots("User-agent: *", name+": "+text, "Allow: /")}
			for _, use := range uses {
				if x, y := a.For(use), b.For(use); x.Answer != y.Answer || len(x.Evidence) != len(y.Evidence) {
					t.Fatalf("%q: the header says %v %v, robots.txt %v %v",
						text, x, x.Evidence, y, y.Evidence)
				}
			}
		}
	})
}
