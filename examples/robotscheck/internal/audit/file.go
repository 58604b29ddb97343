package audit

import (
	"errors"
	"io"
	"io/fs"

	"github.com/goodbots/courtesy/examples/robotscheck/internal/command"
)

// open opens a file. Other commands take URLs, but audit does not. If the name
// is a URL, perhaps a mistyped one, the error says this.
func open(e command.Env, name string) (io.ReadCloser, error) {
	file, err := e.Open(name)
	if errors.Is(err, fs.ErrNotExist) && (command.IsURL(name) || command.CheckScheme(name) != nil) {
		return nil, command.Usagef("%q is no file, and audit fetches no URL: save what is there in a file, and name that", name)
	}
	return file, err
}
