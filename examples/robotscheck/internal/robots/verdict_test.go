package robots

import (
	"context"
	"net/url"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

const host = "https://example.com"

// newCheck returns a function that returns the decision of a Checker on a path
// of example.com. ok is false if net/http would not send the path unchanged.
func newCheck(tb testing.TB, text string) (check func(target string) (d robotsmw.Decision, ok bool)) {
	tb.Helper()
	checker, err := robotsmw.NewChecker(robotsmw.Options{
		UserAgent: "ExampleBot/1.0 (+https://example.com/bot)",
		Override:  map[string]string{host: text},
	})
	if err != nil {
		tb.Fatal(err)
	}
	return func(target string) (robotsmw.Decision, bool) {
		u, err := url.Parse(host + target)
		if err != nil || u.RequestURI() != target {
			return robotsmw.Decision{}, false
		}
		d, err := checker.Check(context.Background(), u) // with Override, Check fetches nothing
		return d, err == nil
	}
}

func isSame(v Verdict, d robotsmw.Decision) bool {
	return v.Allowed == d.Allowed && v.Line == d.Line && v.Resolved == d.Resolved
}

const withPrivate = "User-agent: *\nDisallow: /private/\nAllow: /x/../private/open$\n" +
	"Disallow: /*/gone\nAllow: /\n"

// Judge and the Checker return the same verdict, also on the path that servers
// may treat the target as.
func TestJudge_AgreesWithTheChecker(t *testing.T) {
	rules := robotstxt.Parse([]byte(withPrivate)).Rules("ExampleBot")
	check := newCheck(t, withPrivate)
	for path, resolved := range map[string]string{
		"/public/":               "",
		"/private/":              "",
		"/x/../private/":         "/private/",
		"//private/":             "/private/",
		"/x/%2e%2E/private/a?b":  "/private/a?b",
		"/x//../private/":        "/private/",
		"/./private/?q=/../":     "/private/?q=/../",
		"/x/../private/open":     "/private/open",
		"/a/b/..":                "",
		"/a//gone":               "",
		"/..":                    "",
		"/x/%2fprivate/":         "",
		"/public/?u=//private/.": "",
	} {
		for _, target := range []string{path, host + path, "HTTPS://example.com" + path} {
			v := Judge(rules, target)
			d, ok := check(path)
			if !ok || !isSame(v, d) {
				t.Errorf("Judge(%q) = %+v, want the decision of the Checker, %v", target, v, d)
			}
			if v.Resolved != resolved {
				t.Errorf("Judge(%q) has Resolved %q, want %q", target, v.Resolved, resolved)
			}
		}
	}
	for _, target := range []string{
		"", "x", "a//b", host, host + "?q=/../", "://", "a?u=http://x/../private/",
	} {
		if v := Judge(rules, target); !v.Allowed || v.Resolved != "" {
			t.Errorf("Judge(%q) returned %+v, want allowed without Resolved", target, v)
		}
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{
		"/a/b/c/./../../private/", "/..", "/.", "/", "//", "/a//../private/", "/%2E%2e/%2e",
		"/..//..", "/%2", "/%2f..", "/.%2e.", "/a//b/../gone?x//",
	} {
		f.Add(s)
	}
	rules := robotstxt.Parse([]byte(withPrivate)).Rules("ExampleBot")
	check := newCheck(f, withPrivate)
	f.Fuzz(func(t *testing.T, target string) {
		v := Judge(rules, target)
		if d, ok := check(target); ok && !isSame(v, d) {
			t.Errorf("Judge(%q) = %+v, want the decision of the Checker, %v", target, v, d)
		}
	})
}

func TestVerdict_Why(t *testing.T) {
	rules := robotstxt.Parse([]byte(withPrivate)).Rules("ExampleBot")
	const want = "line 2: Disallow: /private/, as /private/"
	if got := Judge(rules, "/x/../private/").Why(); got != want {
		t.Errorf("Why of a resolved path is %q, want %q", got, want)
	}
}

// Each reason has a text of its own.
func TestVerdict_Why_EachReason(t *testing.T) {
	reasons := make(map[string]robotsmw.Reason) // by text
	for _, reason := range []robotsmw.Reason{
		robotsmw.NoMatch,
		robotsmw.EmptyGroup,
		robotsmw.NoGroup,
		robotsmw.IsRobotsTxt,
		robotsmw.TooMuchWork,
		robotsmw.Unavailable,
		robotsmw.Unreachable,
	} {
		text := Verdict{Reason: reason}.Why()
		if text == "" {
			t.Errorf("reason %v has no text", reason)
		}
		if other, ok := reasons[text]; ok {
			t.Errorf("reasons %v and %v have the same text %q", other, reason, text)
		}
		reasons[text] = reason
	}
	if got := reasons["the rules take too much work for one URL"]; got != robotsmw.TooMuchWork {
		t.Errorf("reason of the text on too much work is %v, want %v", got, robotsmw.TooMuchWork)
	}
}
