package command

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Env is a command's access to the outside world.
type Env struct {
	Stdin  io.Reader
	Stdout *bufio.Writer // flush it before writing to Stderr
	Stderr io.Writer
	Base   http.RoundTripper // sends all requests
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

// Open opens a file, or returns standard input for "-".
func (e Env) Open(name string) (io.ReadCloser, error) {
	if name == "-" {
		return io.NopCloser(e.Stdin), nil
	}
	return os.Open(name)
}

// ShownName returns the name that the output shows for a file: "<stdin>" for
// "-", and otherwise the argument itself.
func ShownName(arg string) string {
	if arg == "-" {
		return "<stdin>"
	}
	return arg
}
