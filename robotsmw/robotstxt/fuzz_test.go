package robotstxt

import (
	"bytes"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/integration_test/testmain"
)

var fuzzFiles = []string{
	"",
	"User-agent: *\nDisallow: /\n",
	"User-agent: a\n" +
		"Crawl-delay: 1\n" +
		"User-agent: b/2\r\n" +
		"Allow: /*.php$\rDisallow /x # y\n" +
		"\n" +
		"Sitemap: https://example.com/s.xml",
	"\xef\xbb\xbfuser agent : * x\n" +
		"\x00disallow:\t/\xff%2F%zz*\x00\n" +
		"allow-from: /in\n" +
		"disalow: foo\n" +
		":\n" +
		"::\n",
	"<html><body>User-agent: *<br>Disallow: /</body></html>",
	"user-agent: *\n" +
		"allow: /index.html\n" +
		"allow: /d/index.htm\n" +
		"disallow: /\n" +
		"\n" +
		"#\n" +
		"user-agent: *\n" +
		"disallow: /late\n",
	"user-agent: *\n" + strings.Repeat("disallow: /x*abcd*y\nallow: /xa*bcde\nallow: /xab$\n", 9),
}

// FuzzParse checks that any bytes can be parsed, without a panic and with
// consistent results.
func FuzzParse(f *testing.F) {
	for _, robots := range fuzzFiles {
		f.Add([]byte(robots), "ExampleBot", "/a%2Fb?c#d")
	}
	f.Fuzz(func(t *testing.T, body []byte, token, target string) {
		kept := bytes.Clone(body)
		file := Parse(body)
		if !bytes.Equal(body, kept) {
			t.Fatal("Parse modifies the body, want it unchanged")
		}
		lines := 1 + bytes.Count(body, []byte("\n")) + bytes.Count(body, []byte("\r"))
		for group := range file.Groups() {
			for _, r := range group.Rules {
				if r.Line < 1 || r.Line > lines {
					t.Fatalf("Groups yields a rule on line %d, want 1 to %d", r.Line, lines)
				}
			}
		}
		for _, tokens := range [][]string{{token}, nil} {
			rules := file.Rules(tokens...)
			m := rules.Match(target)
			if m.Allowed != rules.Allowed(target) {
				t.Fatalf("Match returns %+v, but Allowed returns %t, want the same", m, !m.Allowed)
			}
			checkConsistent(t, m, lines)
			if rules.Size() <= 0 {
				t.Fatalf("Size returns %d, want a positive number", rules.Size())
			}
			// The rules must not use the memory of the body.
			clear(body)
			if again := rules.Match(target); again.Pattern != m.Pattern || again.Line != m.Line {
				t.Fatalf("Match returns %+v after the body has changed, want %+v", again, m)
			}
			copy(body, kept)
		}
	})
}

// checkConsistent checks that the fields of a Match do not contradict each
// other. lines is the number of lines of the file.
func checkConsistent(t *testing.T, m Match, lines int) {
	t.Helper()
	hasLine := m.Line > 0
	if m.Line > lines || hasLine != (m.Reason == ByRule) {
		t.Fatalf("Match returns %+v, want a line from 1 to %d, if the reason is ByRule", m, lines)
	}
	if m.Reason != TooMuchWork && m.Allowed == (m.Kind == Disallow) {
		t.Fatalf("Match returns %+v, want Allowed unless a Disallow decides", m)
	}
	hasGroup := m.Group != nil
	if m.Reason != IsRobotsTxt && hasGroup == (m.Reason == NoGroup) {
		t.Fatalf("Match returns %+v, want a Group unless the reason is NoGroup", m)
	}
}

// FuzzMatch compares the matcher with its simple, slow reference. Both must
// give the same verdict, with the same rule and line.
func FuzzMatch(f *testing.F) {
	for _, seed := range []struct{ robots, target string }{
		{"user-agent: *\ndisallow: /a\nallow: /a/b\n", "/a/b/c"},
		{"user-agent: *\ndisallow: /*.php$\nallow: /*?x=%2F", "/a.php?x=/"},
		{"user-agent: *\ndisallow: /*%2Fb*%3Fc\nallow: *%2A%24$", "/a?x%2fb/?c*$"},
		{"user-agent: *\ndisallow: /%%32%46*%\n", "/%2F%"},
		{"user-agent: *\ndisallow: /privacy$\n", "/privacy$"},
		{"user-agent: *\ndisallow: /\u30c4*\x01\xff\n", "http://h/%e3%83%84\x01%FF#x"},
		{fuzzFiles[len(fuzzFiles)-1], "/xabcdef"},
	} {
		f.Add(seed.robots, seed.target)
	}
	f.Fuzz(func(t *testing.T, robots, target string) {
		if len(robots) > 1<<12 || len(target) > 1<<10 {
			t.Skip("too slow for the reference")
		}
		compareWithReference(t, Parse([]byte(robots)), target)
	})
}

// compareWithReference checks that Match, Allowed and the reference agree about
// a target, for a robot without a group of its own.
func compareWithReference(t *testing.T, f *File, target string) {
	t.Helper()
	rules := f.Rules()
	got := rules.Match(target)
	if rules.Allowed(target) != got.Allowed {
		t.Errorf("Match(%q) = %+v, but Allowed returns %t, want the same", target, got, !got.Allowed)
	}
	want, ok := referenceMatch(referenceRules(f), target)
	canon, _ := referenceTarget(target)
	switch {
	case canon == "/robots.txt":
		if !got.Allowed || got.Reason != IsRobotsTxt {
			t.Errorf("Match(%q) = %+v, want allowed with the reason IsRobotsTxt", target, got)
		}
	case !ok:
		if !got.Allowed || got.Line != 0 {
			t.Errorf("Match(%q) = %+v, want allowed, because no rule matches", target, got)
		}
	case got.Allowed != want.allow || got.Line != want.line || got.Pattern != want.pattern:
		t.Errorf("Match(%q) = %+v, want %+v", target, got, want)
	}
}

// FuzzMatchDense does the same as FuzzMatch, with rules and a target that
// consist of denseTokens, so that most rules match at least in part. Each byte
// of the input stands for a token.
func FuzzMatchDense(f *testing.F) {
	f.Add([]byte("0123456789abcdef"), []byte("0123456789"))
	rng := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		f.Add(randomBytes(rng, 400), randomBytes(rng, 30))
	}
	f.Fuzz(func(t *testing.T, rules, target []byte) {
		if len(rules) > 1<<10 || len(target) > 1<<7 {
			t.Skip("too slow for the reference")
		}
		compareWithReference(t, Parse(denseRobots(rules)), denseTarget(target))
	})
}

// TestMatch_AgreesWithReference does the same as FuzzMatchDense, with random
// input.
func TestMatch_AgreesWithReference(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(3, 4))
	n := 3000
	if testing.Short() || testmain.RaceEnabled {
		n = 100
	}
	for range n {
		f := Parse(denseRobots(randomBytes(rng, 600)))
		for range 10 {
			compareWithReference(t, f, denseTarget(randomBytes(rng, 40)))
			if t.Failed() {
				t.Fatalf("the robots.txt of this failure is\n%s", f.syntax.Text)
			}
		}
	}
}

// TestMatch_AgreesWithReferenceInLargeGroups compares the matcher with the
// reference in groups of up to 500 rules, whose patterns have much in common.
func TestMatch_AgreesWithReferenceInLargeGroups(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(9, 10))
	words := func(maxCount int) string {
		var b strings.Builder
		for range 1 + rng.IntN(maxCount) {
			b.WriteString(denseTokens[rng.IntN(len(denseTokens)-1)])
		}
		return b.String()
	}
	pick := func(pool []string, limit int) string {
		var b strings.Builder
		for range rng.IntN(limit) {
			b.WriteString(pool[rng.IntN(len(pool))])
		}
		return b.String()
	}
	rounds := 40
	if testing.Short() || testmain.RaceEnabled {
		rounds = 4
	}
	for range rounds {
		var pool []string
		for range 3 + rng.IntN(6) {
			pool = append(pool, words(6))
		}
		var b strings.Builder
		b.WriteString("user-agent: *\n")
		for range 1 + rng.IntN(500) {
			b.WriteString([]string{"allow: /", "disallow: /", "disallow: *"}[rng.IntN(3)])
			b.WriteString(pick(pool, 4) + words(3) + []string{"", "", "$", "*"}[rng.IntN(4)] + "\n")
		}
		f := parse(b.String())
		rules := f.Rules()
		reference := referenceRules(f)
		for range 100 {
			target := "/" + pick(pool, 6) + words(3)
			want, ok := referenceMatch(reference, target)
			got := rules.Match(target)
			if hasLine := got.Line > 0; hasLine != ok || got.Line != want.line {
				t.Fatalf("Match(%q) = %+v, want %+v; robots.txt:\n%s",
					target, got, want, b.String())
			}
			if wantAllowed := want.allow || !ok; rules.Allowed(target) != wantAllowed {
				t.Fatalf("Allowed(%q) = %t, want %t; robots.txt:\n%s",
					target, !wantAllowed, wantAllowed, b.String())
			}
		}
	}
}

// randomBytes returns fewer than limit random bytes.
func randomBytes(rng *rand.Rand, limit int) []byte {
	b := make([]byte, rng.IntN(limit))
	for i := range b {
		b[i] = byte(rng.Uint32())
	}
	return b
}

var denseTokens = []string{
	"a", "b", "ab", "abab", "/", "/", "?", "%2F", "%3f", "*", "$", "%2A", "%24", "%", "2", "F",
	"%61", "%25", "\xe3", "%e3", " ", "#",
}

func denseRobots(choices []byte) []byte {
	var b strings.Builder
	b.WriteString("user-agent: *\n")
	for _, c := range choices {
		switch n := int(c) % (len(denseTokens) + 6); {
		case n < len(denseTokens)-1:
			b.WriteString(denseTokens[n])
		case n%2 == 0:
			b.WriteString("\nallow: /")
		case n%3 == 0:
			b.WriteString("\ndisallow: *")
		default:
			b.WriteString("\ndisallow: /")
		}
	}
	return []byte(b.String())
}

func denseTarget(choices []byte) string {
	var b strings.Builder
	b.WriteString("/")
	for _, c := range choices {
		b.WriteString(denseTokens[int(c)%len(denseTokens)])
	}
	return b.String()
}

// FuzzDialects compares the dialects other than RFC9309 with their slow
// references.
func FuzzDialects(f *testing.F) {
	for _, robots := range fuzzFiles {
		f.Add([]byte(robots), "a", "/d/%7Ea?b=%2F")
	}
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20 {
		f.Add(denseRobots(randomBytes(rng, 200)), "x", denseTarget(randomBytes(rng, 30)))
	}
	f.Fuzz(func(t *testing.T, body []byte, token, target string) {
		if len(body) > 1<<12 || len(target) > 1<<9 {
			t.Skip("too slow for the references")
		}
		got := Google.Parse(body).Rules(token).Allowed(target)
		if want := referenceGoogle(string(body), token, target); got != want {
			t.Errorf("Google: Rules(%q).Allowed(%q) = %t, want %t", token, target, got, want)
		}
		got = Koster1996.Parse(body).Rules(token).Allowed(target)
		if want := referenceKoster(string(body), token, target); got != want {
			t.Errorf("Koster1996: Rules(%q).Allowed(%q) = %t, want %t", token, target, got, want)
		}
	})
}
