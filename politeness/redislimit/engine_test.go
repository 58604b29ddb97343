package redislimit

import (
	"context"
	"testing"

	"github.com/redis/go-redis/v9"
)

// The client sends a call twice. The second sending is answered: the server
// does not know the script. So the second sending did not run, and does not
// count. The first sending gets no answer. Another server may have run it, so
// it counts. The call is then sent once more, with the text of the script.
func TestSendings_NoScript(t *testing.T) {
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	client.AddHook(noScript{})
	s := &server{client, []string{"a", "b"}}
	sent := new(sendings)
	if _, err := s.run(t.Context(), callScript, sent, nil); err != nil {
		t.Fatal(err)
	}
	if n := sent.n.Load(); n != 2 {
		t.Errorf("%d sendings that may have run, want 2", n)
	}
}

// noScript is a hook in place of a server that does not know callScript. The
// client sends each EVALSHA to it twice.
type noScript struct{}

func (noScript) DialHook(next redis.DialHook) redis.DialHook { return next }
func (noScript) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}
func (noScript) ProcessHook(redis.ProcessHook) redis.ProcessHook {
	return func(_ context.Context, cmd redis.Cmder) error {
		send := func() {
			for _, a := range cmd.Args() {
				if s, ok := a.(*sendings); ok {
					s.MarshalBinary()
				}
			}
		}
		send()
		if cmd.Name() == "evalsha" {
			send() // the first connection broke before the answer came
			err := refusalText("NOSCRIPT No matching script.")
			cmd.SetErr(err)
			return err
		}
		cmd.(*redis.Cmd).SetVal([]any{"epoch"})
		return nil
	}
}

// The member is told that no more hints will come, even if its inbox is full.
func TestHear_EndOfHintsIsHeard(t *testing.T) {
	f := &desk{wake: make(chan struct{}, 1)}
	for range 10_000 {
		f.put(func() {})
	}
	f.hear("1 h", func() {})
	f.hear("", func() {})
	if n := len(f.inbox); n != 10_001 {
		t.Errorf("%d", n)
	}
}
