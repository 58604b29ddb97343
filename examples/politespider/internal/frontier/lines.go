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

// ReadLines calls take with each line of JSON, except an incomplete last line.
// It stops at the first error, which may be about a line, or of r or of take.
// It returns this error, and the number of bytes of the lines that take has
// accepted.
func ReadLines[T any](r io.Reader, take func(T) error) (good int64, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for number := 1; ; number++ {
		text, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return good, nil
		}
		if err != nil {
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
