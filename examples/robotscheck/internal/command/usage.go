package command

import "fmt"

// A UsageError is a mistake on the command line. Command.Run prints it with the
// usage.
type UsageError string

func (e UsageError) Error() string { return string(e) }

// Usagef makes a UsageError.
func Usagef(format string, args ...any) error { return UsageError(fmt.Sprintf(format, args...)) }
