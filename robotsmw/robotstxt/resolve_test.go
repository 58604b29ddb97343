package robotstxt

import (
	"slices"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw/robotstxt/internal/match"
)

// TestMatchResolved checks which name of a target decides: the target itself or
// one of its other names (see MatchResolved). If the target itself is
// disallowed, or if all its names are allowed, the target itself decides.
// Otherwise, the first disallowed name decides.
func TestMatchResolved(t *testing.T) {
	rules := func(lines string) *Rules { return Parse([]byte("User-agent: *\n" + lines)).Rules("ExampleBot") }
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
		own := "Disallow: /\nAllow: /" + strings.TrimPrefix(match.TrimAuthority(target), "/") + "$\n"
		names, all := strings.Fields(want), own
		for _, name := range names {
			all += "Allow: " + name + "$\n"
			if m, got := rules("Disallow: " + name + "$\n").MatchResolved(target); m.Allowed || m.Line != 2 || got != name {
				t.Errorf("%s: %+v as %q, want %q", target, m, got, name)
			}
		}
		if m, got := rules(all).MatchResolved(target); !m.Allowed || got != "" {
			t.Errorf("%s has another name: %q", target, got)
		}
		if m, got := rules(own).MatchResolved(target); len(names) > 0 && (m.Allowed || got != names[0]) {
			t.Errorf("%s: %+v as %q, want %q", target, m, got, names[0])
		}
	}
	if m, got := rules("Disallow: /x/\n").MatchResolved("/x/../y"); m.Allowed || m.Line != 2 || got != "" {
		t.Errorf("disallowed as it is written: %+v as %q", m, got)
	}
}

// resolvedSlowly does the same as appendResolved, in the steps of RFC 3986
// §5.2.4.
func resolvedSlowly(path string) string {
	in, out := unescapedDots(path), ""
	for in != "" {
		switch {
		case strings.HasPrefix(in, "/./"):
			in = in[2:]
		case in == "/.":
			in = "/"
		case strings.HasPrefix(in, "/../"), in == "/..":
			if in = in[3:]; in == "" {
				in = "/"
			}
			out = out[:max(0, strings.LastIndexByte(out, '/'))]
		default:
			i := strings.IndexByte(in[1:], '/') + 1
			if i == 0 {
				i = len(in)
			}
			out, in = out+in[:i], in[i:]
		}
	}
	return out
}

// unescapedDots unescapes the dots in a path's dot segments.
func unescapedDots(path string) string {
	segments := strings.Split(path, "/")
	for i, s := range segments {
		if s = strings.NewReplacer("%2e", ".", "%2E", ".").Replace(s); s == "." || s == ".." {
			segments[i] = s
		}
	}
	return strings.Join(segments, "/")
}

func FuzzOtherNames(f *testing.F) {
	for _, s := range []string{"/a/b/c/./../../g", "/mid/content=5/../6", "/..", "/.", "/", "//", "/a//../b", "/%2E%2e/%2e", "/..//..", "/%2", "/%2f..", "/.%2e.", "/%2e%2"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, path string) {
		if path == "" || path[0] != '/' || strings.ContainsAny(path, "?#") {
			return
		}
		got := string(appendResolved(nil, path))
		if want := resolvedSlowly(path); got != want {
			t.Errorf("%q resolves to %q, want %q", path, got, want)
		}
		merged := string(appendMerged(nil, path))
		if strings.Contains(merged, "//") {
			t.Errorf("%q merges to %q", path, merged)
		}
		if parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' }); !slices.Equal(parts, strings.FieldsFunc(merged, func(r rune) bool { return r == '/' })) {
			t.Errorf("%q merges to %q, which has other segments", path, merged)
		}
		if (got != path || merged != path) && !mayNeedResolving(path) {
			t.Errorf("%q has the names %q and %q", path, got, merged)
		}
	})
}
