package source

import (
	"context"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Read reads the robots.txt that an argument stands for.
func Read(ctx context.Context, e command.Env, arg, userAgent string) (*Source, error) {
	if command.IsURL(arg) {
		return fetch(ctx, e, arg, userAgent)
	}
	text, err := e.ReadFile(arg)
	if err != nil {
		return nil, err
	}
	return &Source{Name: command.ShownName(arg), Text: text}, nil
}
