package command

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// EachURL calls each with the lines of a list of URLs, without white space at
// their ends, and with their numbers, which count from 1. It leaves out empty
// lines. name is that of the list, as ShownName returns it. An error of each
// ends the reading.
func EachURL(name string, in io.Reader, each func(number int, url string) error) error {
	lines := bufio.NewScanner(in)
	for number := 1; lines.Scan(); number++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" {
			continue
		}
		if err := each(number, line); err != nil {
			return err
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}
