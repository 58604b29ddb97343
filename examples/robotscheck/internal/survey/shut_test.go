package survey

import (
	"testing"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/robot"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// FuzzFront compares the type "front" with the matcher. Both must give the same
// answers.
func FuzzFront(f *testing.F) {
	for _, text := range []string{
		"User-agent: *\nDisallow: /\n\nUser-agent: A\nAllow: /\n\nUser-agent: B\nDisallow: /b\nDisallow: /\n",
		"User-agent: A\nDisallow: /\nUser-agent: A\nAllow: /\nUser-agent: A2\nUser-agent: a/2\nDisallow: /$\n",
		"User-agent: a.b\nDisallow: /%2f\nDisallow: /*\nUser-agent: a\nDisallow: *\nAllow: /x\n",
		"User-agent: a b\nDisallow: //\nUser-agent: *\nUser-agent: 7\nDisallow: /\nUser-agent: -\nDisallow:\n",
		"User-agent: a\nDisallow: /\nAllow: /\nUser-agent: * b\nDisallow: ?\nUser-agent: \xe2\x84\xaa\nDisallow: /.\n",
		"User-agent: a\nUser-agent: b\nCrawl-delay: 1\nUser-agent: c\nDisallow: /\nDisallow: /a%41\nUser-agent: A3.\nDisallow: .\n",
		"User-agent: *b\nDisallow: /\n\nUser-agent: c\nDisallow: /\n\nUser-agent: *\tx\nAllow: /\n",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file := robotstxt.Parse(text)
		var groups []robotstxt.Group
		for g := range file.Groups() {
			groups = append(groups, g)
		}
		front := newFront(file, groups)
		for _, name := range append(robot.Named(file), "*") {
			if got, want := front.isShut(name), !file.Rules(name).Allowed("/"); got != want {
				t.Errorf("%q: %s is shut out: %t, want %t", text, name, got, want)
			}
		}
	})
}
