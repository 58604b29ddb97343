package robotstxt

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// A featureCase is a line of conformance/feature_cases.jsonl: what some other parser says about a part of a file.
type featureCase struct {
	Source, Feature string
	Robots          string
	RobotsB64       []byte `json:"robots_b64"`
	Agent, URL      string
	Expected        any
}

// featureDisagreements tells by a part of what identifies a case why we answer otherwise.
var featureDisagreements = []struct{ part, reason string }{
	{"crawl_delay samclarke/robots-parser Robots.js Robots should parse the crawl-delay directive b", "Crawl-delay ends no group: the robots share one, and its greatest delay"},
	{"crawl_delay samclarke/robots-parser Robots.js Robots should fallback to *", "as above"},
	{"crawl_delay samclarke/robots-parser Robots.js Robots should ignore version numbers", "as above"},
	{"crawl_delay VIPnytt/RobotsTxtParser CrawlDelayTest.php testCrawlDelay:33 GoogleBot", "as above"},
	{"crawl_delay crawler-commons SimpleRobotRulesParserTest.testSelectCrawlDelayGroup:990", "as above"},
	{"crawl_delay crawler-commons SimpleRobotRulesParserTest.testCrawlDelay:909 bixo", "as above"},
	{"crawl_delay crawler-commons SimpleRobotRulesParserTest.testHtmlMarkupInRobotsTxt:648", "\"10<BR>\" is not a number"},
	{"matching_line samclarke/robots-parser", "no line is 0, not -1"},
	{"host VIPnytt/RobotsTxtParser HostTest.php", "other fields are given as written, not judged, and without a fallback"},
	{"sitemaps crawler-commons SimpleRobotRulesParserTest.testSitemap:1074", "a line without a field is no sitemap"},
	{"sitemaps crawler-commons SimpleRobotRulesParserTest.testRelativeSitemap:1082", "sitemaps are given as written, not resolved"},
}

// TestSharedFeatures compares what can be compared: what other parsers make of the sitemaps, the delay, the deciding
// line, the path of a URL and the faults of a file.
func TestSharedFeatures(t *testing.T) {
	f, err := os.Open(filepath.Join(sharedDir(t), "conformance", "feature_cases.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	agree, all := map[string]int{}, map[string]int{}
	for dec := json.NewDecoder(f); ; {
		var c featureCase
		if err := dec.Decode(&c); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if c.RobotsB64 != nil {
			c.Robots = string(c.RobotsB64)
		}
		got, want, ok := c.compare()
		if !ok {
			continue
		}
		all[c.Feature]++
		if got == want {
			agree[c.Feature]++
			continue
		}
		key := fmt.Sprintf("%s %s %s", c.Feature, c.Source, c.Agent)
		if !slices.ContainsFunc(featureDisagreements, func(d struct{ part, reason string }) bool { return strings.HasPrefix(key, d.part) }) {
			t.Errorf("%s: got %s, want %s; robots.txt:\n%s", key, got, want, c.Robots)
		}
	}
	t.Logf("%v agree of %v", agree, all)
}

// compare returns what we and what the source says, as text, if the case can be compared.
func (c featureCase) compare() (got, want string, ok bool) {
	file := Parse([]byte(c.Robots))
	token, _, _ := strings.Cut(strings.ReplaceAll(c.Agent, " ", "/"), "/")
	switch c.Feature {
	case "sitemaps":
		if n, ok := c.Expected.(float64); ok {
			return fmt.Sprint(len(file.Sitemaps())), fmt.Sprint(n), true
		}
		return fmt.Sprint(file.Sitemaps()), fmt.Sprint(c.Expected), true
	case "crawl_delay":
		delay, _ := file.Rules(token).CrawlDelay()
		if c.Expected == nil || c.Expected == false {
			c.Expected = 0
		}
		return fmt.Sprint(delay.Seconds()), fmt.Sprint(c.Expected), true
	case "matching_line":
		if _, ok := c.Expected.(float64); !ok {
			return "", "", false
		}
		return fmt.Sprint(file.Rules(token).Match(c.URL).Line), fmt.Sprint(c.Expected), true
	case "path_of_url":
		return string(appendGoogleTarget(nil, c.URL)), fmt.Sprint(c.Expected), true
	case "lint_errors":
		errors := 0
		for _, p := range Lint([]byte(c.Robots)) {
			if p.Severity > Info {
				errors++
			}
		}
		return fmt.Sprint(errors), fmt.Sprint(c.Expected), true
	case "host", "noindex":
		if _, ok := c.Expected.(string); !ok {
			return "", "", false
		}
		value := ""
		for field := range file.Fields(c.Feature) {
			value = field.Value
		}
		return value, fmt.Sprint(c.Expected), true
	}
	return "", "", false
}
