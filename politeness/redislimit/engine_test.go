package redislimit

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The client sends a call twice, because the connection broke before the
// reply. The script that runs receives the number 2.
func TestSendCounter_Twice(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	client.AddHook(twice{})
	s := &server{client, []string{"a", "b"}}
	reply, err := s.run(t.Context(), nil)
	if err != nil || element[string](reply, 0) != "2" {
		t.Errorf("the script receives the number of sends %v (error %v), want 2", reply, err)
	}
}

// twice is a hook that replaces the server. It acts as if the client had sent
// each command twice, and replies with the number of sends that the second one
// contains.
type twice struct{}

func (twice) DialHook(next redis.DialHook) redis.DialHook { return next }
func (twice) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (twice) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		var said []byte
		for range 2 {
			for _, a := range cmd.Args() {
				if s, ok := a.(*sendCounter); ok {
					said, _ = s.MarshalBinary()
				}
			}
		}
		cmd.(*redis.Cmd).SetVal([]any{string(said)})
		return nil
	}
}
