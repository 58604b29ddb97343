package politeness

import "context"

type checkKey struct{}

// WithCheck returns a context for requests that may turn out to be unwanted
// while they wait. The Limiter calls check with the request's context each time
// the request may start. An error from check is returned by
// [Limiter.Acquire], wrapped. The request has then used up no slot, interval,
// token or budget, and the next request of its host may start at once.
//
// If ctx has a check already, the earlier one is called first. check is called
// with no lock held, and must not wait: the requests behind it wait too. A nil
// check does nothing.
func WithCheck(ctx context.Context, check func(context.Context) error) context.Context {
	if check == nil {
		return ctx
	}
	if earlier := checkOf(ctx); earlier != nil {
		later := check
		check = func(ctx context.Context) error {
			if err := earlier(ctx); err != nil {
				return err
			}
			return later(ctx)
		}
	}
	return context.WithValue(ctx, checkKey{}, check)
}

func checkOf(ctx context.Context) func(context.Context) error {
	check, _ := ctx.Value(checkKey{}).(func(context.Context) error)
	return check
}
