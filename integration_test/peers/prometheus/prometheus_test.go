package prometheus

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/goodbots/courtesy/robotsmw"
	"github.com/goodbots/courtesy/robotsmw/robotstest"
)

// The five lines in the doc of otelrobots let Prometheus read metrics of a
// crawl.
func TestDoc(t *testing.T) {
	doc, err := os.ReadFile("../../../robotsmw/otelrobots/otelrobots.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("metrics.go")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(source), "// doc {\n")
	code, _, _ = strings.Cut(code, "\t// }\n")
	code = strings.TrimSpace(strings.ReplaceAll("\n"+code, "\n\t", "\n//\t"))
	if !strings.Contains(string(doc), "\n"+code+"\n") {
		t.Errorf("the doc of otelrobots does not show\n%s", code)
	}

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
	if resp, err := client.Get("http://a.example/yes"); err != nil {
		t.Error(err)
	} else {
		resp.Body.Close()
	}
	if _, err := client.Get("http://a.example/no"); err == nil {
		t.Error("/no was fetched")
	}
	answer := httptest.NewRecorder()
	http.DefaultServeMux.ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"robots_decisions", `allowed="false"`} {
		if !strings.Contains(answer.Body.String(), want) {
			t.Errorf("/metrics says nothing of %q:\n%s", want, answer.Body.String())
		}
	}
}
