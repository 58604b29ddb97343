package command

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Env is what a command has of the world.
type Env struct {
	Stdin  io.Reader
	Stdout *bufio.Writer // to be flushed before something is written to Stderr
	Stderr io.Writer
	Base   http.RoundTripper // fetches
}

// ReadFile reads a file, or standard input for "-".
func (e Env) ReadFile(name string) ([]byte, error) {
	if name == "-" {
		text, err := io.ReadAll(e.Stdin)
		if err != nil {
			return nil, fmt.Errorf("read standard input: %w", err)
		}
		return text, nil
	}
	return os.ReadFile(name)
}

// Open is ReadFile for a file that may be large.
func (e Env) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(e.Stdin), nil
	}
	return os.Open(name)
}

// ShownName is what a file is called in the output.
func ShownName(arg string) string {
	if arg == "-" {
		return "<stdin>"
	}
	return arg
}
