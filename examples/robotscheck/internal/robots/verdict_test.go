package robots

import (
	"context"
	"net/url"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

const host = "https://example.com"

// checked returns a function that asks a Checker about a path of example.com.
// ok is false if net/http would not send the path as it is written.
func checked(tb testing.TB, text string) func(target string) (d robotsmw.Decision, ok bool) {
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

const withPrivate = "User-agent: *\nDisallow: /private/\nAllow: /x/../private/open$\nDisallow: /*/gone\nAllow: /\n"

// Judge and the Checker give the same verdict. They also agree about which of
// the target's names decides.
func TestJudge_AgreesWithTheChecker(t *testing.T) {
	rules := robotstxt.Parse([]byte(withPrivate)).Rules("ExampleBot")
	check := checked(t, withPrivate)
	for target, resolved := range map[string]string{
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
		for _, asked := range []string{target, host + target, "HTTPS://example.com" + target} {
			v := Judge(rules, asked)
			d, ok := check(target)
			if !ok || v.Allowed != d.Allowed || v.Line != d.Line || v.Resolved != d.Resolved {
				t.Errorf("%s: %+v, but the Checker says %v", asked, v, d)
			}
			if v.Resolved != resolved {
				t.Errorf("%s: decided as %q, want %q", asked, v.Resolved, resolved)
			}
		}
	}
	for _, asked := range []string{"", "x", "a//b", host, host + "?q=/../", "://", "a?u=http://x/../private/"} {
		if v := Judge(rules, asked); !v.Allowed || v.Resolved != "" {
			t.Errorf("%q: %+v", asked, v)
		}
	}
	if got, want := Judge(rules, "/x/../private/").Why(), "line 2: Disallow: /private/, as /private/"; got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func FuzzJudge(f *testing.F) {
	for _, s := range []string{"/a/b/c/./../../private/", "/..", "/.", "/", "//", "/a//../private/", "/%2E%2e/%2e", "/..//..", "/%2", "/%2f..", "/.%2e.", "/a//b/../gone?x//"} {
		f.Add(s)
	}
	rules := robotstxt.Parse([]byte(withPrivate)).Rules("ExampleBot")
	check := checked(f, withPrivate)
	f.Fuzz(func(t *testing.T, target string) {
		v := Judge(rules, target)
		if d, ok := check(target); ok && (v.Allowed != d.Allowed || v.Line != d.Line || v.Resolved != d.Resolved) {
			t.Errorf("%q: %+v, but the Checker says %v", target, v, d)
		}
	})
}

// The method Why has different words for each reason.
func TestVerdict_Why(t *testing.T) {
	words := make(map[string]robotsmw.Reason)
	for _, reason := range []robotsmw.Reason{
		robotsmw.NoMatch, robotsmw.EmptyGroup, robotsmw.NoGroup, robotsmw.IsRobotsTxt, robotsmw.TooMuchWork, robotsmw.Unavailable, robotsmw.Unreachable,
	} {
		why := Verdict{Reason: reason}.Why()
		if other, known := words[why]; known || why == "" {
			t.Errorf("%v is %q, as is %v", reason, why, other)
		}
		words[why] = reason
	}
	if words["the rules take too much work for one URL"] != robotsmw.TooMuchWork {
		t.Errorf("the words: %v", words)
	}
}
