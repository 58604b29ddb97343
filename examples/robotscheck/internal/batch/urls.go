package batch

import (
	"context"
	"fmt"

	"github.com/goodbots/courtesy/examples/internal/cli"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
	"github.com/goodbots/courtesy/examples/robotscheck/internal/robots"
	"github.com/goodbots/courtesy/robotsmw/robotstxt"
)

// plainURLs answers a list of URLs about one robots.txt, for each robot.
type plainURLs struct {
	list, file, userAgent string
	agents                []string
}

func (p plainURLs) run(ctx context.Context, e command.Env) (command.Status, error) {
	s, err := robots.Read(ctx, e, p.file, p.userAgent)
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
		rules[i] = s.File.Rules(agent)
	}
	json, doubt := cli.NewEncoder(e.Stdout), s.Doubt()
	status, failed := command.OK, 0
	err = command.EachURL(command.DisplayName(p.list), in, func(number int, url string) error {
		if err := s.CheckTarget(url); err != nil {
			failed++
			json.Encode(failure{number, err.Error()})
			return ctx.Err()
		}
		for i, agent := range p.agents {
			a := answer{url, agent, s.Judge(rules[i], robots.Escape(url)), doubt}
			status = max(status, a.Status(doubt))
			json.Encode(&a)
		}
		return ctx.Err()
	})
	switch {
	case err != nil:
		return 0, err
	case failed > 0:
		return 0, fmt.Errorf("%s could not be answered", cli.Count(failed, "line"))
	}
	return status, nil
}
