package robotstxt

import (
	"cmp"
	"regexp"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
)

// TestMatchResolved checks which form of a target decides. In the table, the
// value contains the resolved forms of the key, in the order in which they are
// matched. For each target there are three kinds of files: those that disallow
// one of the forms, one that allows the target and all forms, and one that
// allows only the target.
func TestMatchResolved(t *testing.T) {
	rules := func(lines string) *Rules {
		return parse("User-agent: *\n" + lines).Rules("ExampleBot")
	}
	for target, want := range map[string]string{
		"/a":                          "",
		"https://a.example/x/../p?q":  "/p?q /p?q",
		"/x//../p":                    "/x/p /p",
		"/x/%2e%2E/p":                 "/p /p",
		"//p":                         "/p /p",
		"/a/.":                        "/a/ /a/",
		"/..":                         "/ /",
		"/a/b/..":                     "/a/ /a/",
		"/a?b=//c/../d":               "",
		"https://a.example?q=//":      "",
		"https://a.example/a/./b/c/.": "/a/b/c/ /a/b/c/",
	} {
		path := "/" + strings.TrimPrefix(match.TrimAuthority(target), "/")
		allowTarget := "Disallow: /\nAllow: " + path + "$\n"
		forms := strings.Fields(want)
		allowAll := allowTarget
		for _, form := range forms {
			allowAll += "Allow: " + form + "$\n"
			m, got := rules("Disallow: " + form + "$\n").MatchResolved(target)
			if m.Allowed || m.Line != 2 || got != form {
				t.Errorf("MatchResolved(%q) = %+v, %q, want it disallowed as %q",
					target, m, got, form)
			}
		}
		if m, got := rules(allowAll).MatchResolved(target); !m.Allowed || got != "" {
			t.Errorf("MatchResolved(%q) = %+v, %q, want it allowed", target, m, got)
		}
		if len(forms) == 0 {
			continue
		}
		if m, got := rules(allowTarget).MatchResolved(target); m.Allowed || got != forms[0] {
			t.Errorf("MatchResolved(%q) = %+v, %q, want it disallowed as %q",
				target, m, got, forms[0])
		}
	}
	m, form := rules("Disallow: /x/\n").MatchResolved("/x/../y")
	if m.Allowed || m.Line != 2 || form != "" {
		t.Errorf("MatchResolved of a disallowed target = %+v, %q, want line 2 and no form", m, form)
	}
}

// resolvedSlowly does the same as appendResolved, in the steps of RFC 3986
// §5.2.4.
func resolvedSlowly(path string) string {
	in := unescapedDots(path)
	out := ""
	for in != "" {
		switch {
		case strings.HasPrefix(in, "/./"):
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"), in == "/..":
			in = cmp.Or(in[3:], "/")
			out = out[:max(0, strings.LastIndexByte(out, '/'))]
		default:
			i := strings.IndexByte(in[1:], '/') + 1
			if i == 0 {
				i = len(in)
			}
			out += in[:i]
			in = in[i:]
		}
	}
	return out
}

// unescapedDots decodes the dots of the dot segments of a path.
func unescapedDots(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		s = strings.NewReplacer("%2e", ".", "%2E", ".").Replace(s)
		if s == "." || s == ".." {
			segments[i] = s
		}
	}
	return strings.Join(segments, "/")
}

// FuzzResolvedForms checks the two resolved forms of a path with slow versions
// of the functions that build them.
func FuzzResolvedForms(f *testing.F) {
	for _, s := range []string{
		"/a/b/c/./../../g", "/mid/content=5/../6", "/..", "/.", "/", "//", "/a//../b",
		"/%2E%2e/%2e", "/..//..", "/%2", "/%2f..", "/.%2e.", "/%2e%2",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if path == "" || path[0] != '/' || strings.ContainsAny(path, "?#") {
			return
		}
		got := string(appendResolved(nil, path))
		if want := resolvedSlowly(path); got != want {
			t.Errorf("appendResolved(%q) = %q, want %q", path, got, want)
		}
		merged := string(appendMerged(nil, path))
		if want := regexp.MustCompile("/+").ReplaceAllString(path, "/"); merged != want {
			t.Errorf("appendMerged(%q) = %q, want %q", path, merged, want)
		}
		hasForms := got != path || merged != path
		if hasForms && !mayNeedResolving(path) {
			t.Errorf("mayNeedResolving(%q) = false, want true, because of %q and %q",
				path, got, merged)
		}
	})
}
