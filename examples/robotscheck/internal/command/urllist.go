package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// EachURL calls f for each line of a list of URLs that is not empty, with the
// line's number, counted from 1. It trims white space. name is the DisplayName
// of the list. If f returns an error, EachURL stops and returns it.
func EachURL(name string, in io.Reader, f func(number int, url string) error) error {
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if err := f(number, line); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
