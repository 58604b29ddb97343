package schedule

// A Reason is what a request waits for. It takes one byte, because each waiting
// request has one on its stack.
type Reason uint8

const (
	ReasonNone       Reason = iota // the request does not wait
	ReasonDelay                    // Settings.Delay
	ReasonAdaptive                 // the adaptive delay
	ReasonCrawlDelay               // the Crawl-delay
	ReasonBackOff                  // a pause
	ReasonRateLimit                // the host's quota
	ReasonQueue                    // the requests ahead in the queue
	ReasonSlot                     // the end of a request in flight
	ReasonBudget                   // the end of the day
	ReasonFleet                    // the ownership of the host
	ReasonGlobalRate               // a token of the rate of all hosts together
	ReasonWithin                   // another Limiter
	ReasonMaxHosts                 // room for the host's budget
)
