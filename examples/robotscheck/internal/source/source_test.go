package source

import (
	"testing"
	"testing/synctest"

	"go.uber.org/goleak"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/webtest"
	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// For each URL, Judge agrees with the Checker of a crawler.
func TestFetchSource_AgreesWithTheChecker(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, host := range []string{"site", "missing", "down", "moved", "named", "gone"} {
			for _, target := range []string{"/", "/private/a", "/robots.txt", "/a?b"} {
				raw := "https://" + host + ".example" + target
				s, err := fetch(t.Context(), command.Env{Base: webtest.Internet()}, raw, "ExampleBot/1.0")
				if err != nil {
					t.Fatal(err)
				}
				transport, err := robotsmw.NewTransport(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: webtest.Internet()})
				if err != nil {
					t.Fatal(err)
				}
				u, err := command.ParseURL(raw)
				if err != nil {
					t.Fatal(err)
				}
				d, err := transport.Checker().Check(t.Context(), u)
				if err != nil {
					t.Fatal(err)
				}
				v := s.Judge(robotstxt.RFC9309, "ExampleBot", raw)
				if target == "/robots.txt" && d.Reason == robotsmw.IsRobotsTxt {
					continue // the Checker decides this without fetching the file
				}
				if v.Allowed != d.Allowed || v.Reason != d.Reason || v.Line != d.Line {
					t.Errorf("%s: %+v, but the checker says %v", raw, v, d)
				}
			}
		}
	})
}
