package prometheus

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The documentation of otelrobots contains the lines of withMetrics.
func TestDoc(t *testing.T) {
	doc := readFile(t, "../../../robotsmw/otelrobots/otelrobots.go")
	source := readFile(t, "metrics.go")
	_, code, _ := strings.Cut(source, "// doc {\n")
	code, _, _ = strings.Cut(code, "\t// }\n")
	code = strings.TrimSpace(strings.ReplaceAll("\n"+code, "\n\t", "\n//\t"))
	if !strings.Contains(doc, "\n"+code+"\n") {
		t.Errorf("the documentation of otelrobots does not contain\n%s", code)
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// With these lines, Prometheus can read the metrics of a crawl.
func TestWithMetrics(t *testing.T) {
	var internet robotstest.Internet
	internet.Handle("a.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/robots.txt" {
			io.WriteString(w, "User-agent: *\nDisallow: /no")
		}
	}))
	opts, err := withMetrics(robotsmw.Options{UserAgent: "ExampleBot/1.0", Base: &internet})
	if err != nil {
		t.Fatal(err)
	}
	client, err := robotsmw.NewClient(opts)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Get("http://a.example/yes")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if _, err := client.Get("http://a.example/no"); !errors.Is(err, robotsmw.ErrDisallowed) {
		t.Errorf("Get of the disallowed page /no returned the error %v, want %v", err, robotsmw.ErrDisallowed)
	}
	rec := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"robots_decisions", `allowed="false"`} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("/metrics does not contain %q:\n%s", want, rec.Body.String())
		}
	}
}
