package robotsmw_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// Many servers treat //private/ and /x/%2e%2e/private/ like /private/.
// Therefore, if robots.txt disallows /private/, the other two are disallowed as
// well.
func ExampleDecision_resolved() {
	var web robotstest.Internet
	web.Handle("example.com", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "User-agent: *\nDisallow: /private/\n")
	}))
	checker, err := robotsmw.NewChecker(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &web})
	if err != nil {
		panic(err)
	}
	for _, path := range []string{"/private/a", "//private/a", "/x/%2e%2e/private/a?b", "/x/../public/a"} {
		u, _ := url.Parse("https://example.com" + path)
		d, err := checker.Check(context.Background(), u)
		if err != nil {
			panic(err)
		}
		fmt.Printf("%-22s allowed %-5v %q\n", path, d.Allowed, d.Resolved)
	}
	// Output:
	// /private/a             allowed false ""
	// //private/a            allowed false "/private/a"
	// /x/%2e%2e/private/a?b  allowed false "/private/a?b"
	// /x/../public/a         allowed true  ""
}
