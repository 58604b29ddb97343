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

type verdictCount struct {
	name               string
	right, errors, all int
}

type parser struct {
	name    string
	allowed func(robots, agent, url string) (bool, error)
}

var parsers = []parser{
	{"courtesy", func(robots, agent, url string) (bool, error) {
		return courtesy.Parse([]byte(robots)).Rules(agent).Allowed(url), nil
	}},
	{"temoto", func(robots, agent, rawURL string) (bool, error) {
		return temotoAllows(robots, agent, rawURL, func(u *url.URL) string { return u.RequestURI() })
	}},
	{"temoto as colly uses it", func(robots, agent, rawURL string) (bool, error) {
		return temotoAllows(robots, agent, rawURL, func(u *url.URL) string {
			if query := u.Query().Encode(); query != "" {
				return u.EscapedPath() + "?" + query
			}
			return u.EscapedPath()
		})
	}},
}

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

// compareVerdicts asks every parser about the conformance cases in
// COURTESY_SHARED. It returns nil if this variable is not set.
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
	for dec := json.NewDecoder(f); ; {
		var c struct {
			Robots, Agent, URL string
			RobotsB64          []byte `json:"robots_b64"`
			URLB64             []byte `json:"url_b64"`
			Allowed            bool
		}
		if err := dec.Decode(&c); err == io.EOF {
			return counts, nil
		} else if err != nil {
			return nil, err
		}
		if c.RobotsB64 != nil {
			c.Robots = string(c.RobotsB64)
		}
		if c.URLB64 != nil {
			c.URL = string(c.URLB64)
		}
		for i, p := range parsers {
			counts[i].name = p.name
			counts[i].all++
			allowed, err := p.allowed(c.Robots, c.Agent, c.URL)
			switch {
			case err != nil:
				counts[i].errors++
			case allowed == c.Allowed:
				counts[i].right++
			}
		}
	}
}
