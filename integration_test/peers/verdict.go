package main

import (
	"encoding/json"
	"io"
	"net/url"
	"os"
	"path/filepath"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

// A verdictCount counts the verdicts of a parser.
type verdictCount struct {
	name               string
	right, errors, all int
}

// A parser decides whether a robots.txt allows a robot to fetch a URL.
type parser struct {
	name    string
	allowed func(robots, agent, url string) (bool, error)
}

var parsers = []parser{
	{"courtesy", func(robots, agent, url string) (bool, error) {
		return courtesy.Parse([]byte(robots)).Rules(agent).Allowed(url), nil
	}},
	{"temoto", func(robots, agent, rawURL string) (bool, error) {
		return temotoAllows(robots, agent, rawURL, (*url.URL).RequestURI)
	}},
	{"temoto as colly uses it", func(robots, agent, rawURL string) (bool, error) {
		return temotoAllows(robots, agent, rawURL, collyTarget)
	}},
}

// temotoAllows returns the verdict of temoto. target returns the part of a URL
// that is matched.
func temotoAllows(robots, agent, rawURL string, target func(*url.URL) string) (bool, error) {
	data, err := robotstxt.FromString(robots)
	if err != nil {
		return false, err
	}
	u, err := url.Parse(rawURL)
	if err != nil {
		return false, err
	}
	return data.FindGroup(agent).Test(target(u)), nil
}

// collyTarget returns the part of a URL that colly matches.
func collyTarget(u *url.URL) string {
	if query := u.Query().Encode(); query != "" {
		return u.EscapedPath() + "?" + query
	}
	return u.EscapedPath()
}

// A conformanceCase is a line of the file with the cases. A text that is not
// UTF-8 is in base64.
type conformanceCase struct {
	Robots, Agent, URL string
	RobotsB64          []byte `json:"robots_b64"`
	URLB64             []byte `json:"url_b64"`
	Allowed            bool
}

// compareVerdicts compares the verdicts of each parser with the conformance
// cases in COURTESY_SHARED. It returns nil if this variable is not set.
func compareVerdicts() ([]verdictCount, error) {
	if shared() == "" {
		return nil, nil
	}
	f, err := os.Open(filepath.Join(shared(), "conformance", "cases.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	counts := make([]verdictCount, len(parsers))
	for i, p := range parsers {
		counts[i].name = p.name
	}
	for dec := json.NewDecoder(f); ; {
		var c conformanceCase
		if err := dec.Decode(&c); err == io.EOF {
			return counts, nil
		} else if err != nil {
			return nil, err
		}
		for i, p := range parsers {
			counts[i].add(p, c)
		}
	}
}

// add counts the verdict of a parser on a case.
func (v *verdictCount) add(p parser, c conformanceCase) {
	if c.RobotsB64 != nil {
		c.Robots = string(c.RobotsB64)
	}
	if c.URLB64 != nil {
		c.URL = string(c.URLB64)
	}
	v.all++
	allowed, err := p.allowed(c.Robots, c.Agent, c.URL)
	switch {
	case err != nil:
		v.errors++
	case allowed == c.Allowed:
		v.right++
	}
}
