package frontier

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// ErrDamaged is the error of ReadLines about a line that it cannot read.
var ErrDamaged = errors.New("damaged")

// ReadLines calls take with each line of JSON, and leaves out an incomplete
// last line. It returns how many bytes these lines have. At the first error, of
// a line, of r or of take, it stops and returns the error, too.
func ReadLines[T any](r io.Reader, take func(T) error) (good int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil
		} else if err != nil {
			return good, err
		}
		var line T
		if err := json.Unmarshal(text, &line); err != nil {
			return good, fmt.Errorf("line %d is %w: %w", number, ErrDamaged, err)
		}
		if err := take(line); err != nil {
			return good, err
		}
		good += int64(len(text))
	}
}
