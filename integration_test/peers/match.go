package main

import (
	"fmt"
	"strings"

	courtesy "github.com/goodbots/courtesy/robotsmw/robotstxt"
	"github.com/temoto/robotstxt"
)

type matchWorkload struct {
	workload
	rules  int
	nbytes int // total length of the patterns
}

func matchWorkloads() []matchWorkload {
	var list []workload
	for _, n := range []int{1, 2, 3, 5, 10, 30, 100, 1000, 10_000} {
		list = append(list, crawlWorkload(fmt.Sprint("literal ", n), n, 0))
	}
	for _, n := range []int{1, 3, 10, 100, 1000, 10_000} {
		list = append(list, crawlWorkload(fmt.Sprint("wildcard ", n), 0, n))
	}
	list = append(list, crawlWorkload("typical: 45 literal, 15 wildcard", 45, 15))
	hostile := workload{name: "hostile: /*a*a*a*a*a*b, 2 KB URL", urls: []string{"/" + strings.Repeat("a", 2000)}}
	for _, n := range []int{1, 1000} {
		h := hostile
		h.robots = "User-agent: *\n" + strings.Repeat("Disallow: /*a*a*a*a*a*b\n", n)
		list = append(list, h)
	}
	var workloads []matchWorkload
	for _, w := range list {
		m := matchWorkload{workload: w}
		for group := range courtesy.Parse([]byte(w.robots)).Groups() {
			m.rules += len(group.Rules)
			for _, r := range group.Rules {
				m.nbytes += len(r.Pattern)
			}
		}
		workloads = append(workloads, m)
	}
	return workloads
}

func (m matchWorkload) matchers() (ours, temoto func()) {
	rules := courtesy.Parse([]byte(m.robots)).Rules("ExampleBot")
	data, err := robotstxt.FromString(m.robots)
	if err != nil {
		panic(err) // this does not happen: temoto can parse each workload
	}
	group := data.FindGroup("ExampleBot")
	return func() {
			for _, url := range m.urls {
				rules.Allowed(url)
			}
		}, func() {
			for _, url := range m.urls {
				group.Test(url)
			}
		}
}

func (m matchWorkload) kept() int { return courtesy.Parse([]byte(m.robots)).Rules("ExampleBot").Size() }
