package batch

import (
	"context"
	"fmt"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// plainURLs answers whether one robots.txt allows each URL of a list, for each
// robot.
type plainURLs struct {
	list      string // the file with the URLs
	file      string // the robots.txt, or its URL
	userAgent string // for fetching it
	agents    []string
}

func (p plainURLs) run(ctx context.Context, e command.Env) (command.Status, error) {
	source, err := robots.Read(ctx, e, p.file, p.userAgent)
	if err != nil {
		return 0, err
	}
	in, err := e.Open(p.list)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	rules := make([]*robotstxt.Rules, len(p.agents))
	for i, agent := range p.agents {
		rules[i] = source.File.Rules(agent)
	}
	json := cli.NewEncoder(e.Stdout)
	doubt := source.Doubt()
	status := command.OK
	failures := 0
	err = command.EachURL(command.DisplayName(p.list), in, func(number int, url string) error {
		if err := source.CheckTarget(url); err != nil {
			failures++
			json.Encode(failure{number, err.Error()})
			return ctx.Err()
		}
		for i, agent := range p.agents {
			verdict := source.Judge(rules[i], robots.Escape(url))
			a := answer{URL: url, Agent: agent, Verdict: verdict, Doubt: doubt}
			status = max(status, a.Status(doubt))
			json.Encode(&a)
		}
		return ctx.Err()
	})
	if err != nil {
		return 0, err
	}
	if failures > 0 {
		return 0, fmt.Errorf("%s could not be answered", cli.Count(failures, "line"))
	}
	return status, nil
}
