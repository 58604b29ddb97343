package source

import (
	"cmp"
	"context"
	"errors"
	"io/fs"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// Read reads the robots.txt that an argument names.
func Read(ctx context.Context, e command.Env, arg, userAgent string) (*Source, error) {
	if command.IsURL(arg) {
		return fetch(ctx, e, arg, userAgent)
	}
	text, err := e.ReadFile(arg)
	if errors.Is(err, fs.ErrNotExist) {
		if meant := cmp.Or(command.MeantURL(arg), command.MeantSite(arg)); meant != "" {
			return nil, command.Usagef("%q is neither a file nor a URL: did you mean %s?", arg, meant)
		}
	}
	if err != nil {
		return nil, err
	}
	return &Source{Name: command.ShownName(arg), Text: text}, nil
}
