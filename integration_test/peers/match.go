package main

import (
	"fmt"
	"strings"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

// A matchWorkload is a workload to match, with the size of its rules.
type matchWorkload struct {
	workload
	rules  int
	nbytes int // total length of the patterns
}

// matchWorkloads returns workloads with increasing numbers of rules, a typical
// workload, and hostile ones.
func matchWorkloads() (all []matchWorkload) {
	for _, n := range []int{1, 2, 3, 5, 10, 30, 100, 1000, 10_000} {
		all = append(all, newMatchWorkload(crawlWorkload(fmt.Sprint("literal ", n), n, 0)))
	}
	for _, n := range []int{1, 3, 10, 100, 1000, 10_000} {
		all = append(all, newMatchWorkload(crawlWorkload(fmt.Sprint("wildcard ", n), 0, n)))
	}
	all = append(all, newMatchWorkload(crawlWorkload("typical: 45 literal, 15 wildcard", 45, 15)))
	for _, n := range []int{1, 1000} {
		all = append(all, newMatchWorkload(workload{
			name:   "hostile: /*a*a*a*a*a*b, 2 KB URL",
			robots: "User-agent: *\n" + strings.Repeat("Disallow: /*a*a*a*a*a*b\n", n),
			urls:   []string{"/" + strings.Repeat("a", 2000)},
		}))
	}
	return all
}

func newMatchWorkload(w workload) matchWorkload {
	m := matchWorkload{workload: w}
	for group := range courtesy.Parse([]byte(w.robots)).Groups() {
		m.rules += len(group.Rules)
		for _, r := range group.Rules {
			m.nbytes += len(r.Pattern)
		}
	}
	return m
}

// matchers returns functions with which two parsers match all URLs.
func (m matchWorkload) matchers() (ours, temoto func()) {
	rules := courtesy.Parse([]byte(m.robots)).Rules("ExampleBot")
	ours = func() {
		for _, url := range m.urls {
			rules.Allowed(url)
		}
	}
	data, err := robotstxt.FromString(m.robots)
	if err != nil {
		panic(err) // impossible: temoto can parse each workload
	}
	group := data.FindGroup("ExampleBot")
	temoto = func() {
		for _, url := range m.urls {
			group.Test(url)
		}
	}
	return ours, temoto
}

// kept returns how many bytes Courtesy keeps for the rules.
func (m matchWorkload) kept() int {
	return courtesy.Parse([]byte(m.robots)).Rules("ExampleBot").Size()
}
