package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/goodbots/courtesy/politeness"
	"github.com/goodbots/courtesy/robotsmw"
)

// check answers /check.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, u *url.URL) {
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	if r.URL.Query().Get("wait") == "1" {
		h.wait(ctx, w, u)
		return
	}
	d, err := h.robots.Checker().Check(ctx, u)
	v, _ := verdictOf(d, err)
	// Retrying does not help with a URL that is disallowed, so its verdict must
	// not contain a time.
	if v.Allowed && v.Until == nil {
		if next := h.limiter.Next(u); time.Until(next) > 0 {
			v.Until = &next
		}
	}
	v.write(w, http.StatusOK)
}

// errOutOfDate says that a request has waited for longer than its decision is
// in force.
var errOutOfDate = errors.New("gate: robots.txt has to be asked for again")

// wait answers /check with wait=1 when u's host may be asked.
func (h *Handler) wait(ctx context.Context, w http.ResponseWriter, u *url.URL) {
	for {
		d, err := h.robots.Checker().Check(ctx, u)
		if err == nil && d.Allowed {
			paced := politeness.WithCrawlDelay(ctx, d.CrawlDelay)
			var grant *politeness.Grant
			grant, err = h.limiter.Acquire(politeness.WithCheck(paced, func(context.Context) error { return h.judgeAgain(d) }), u)
			if err == nil {
				h.hold(ctx, w, d, grant)
				return
			} else if errors.Is(err, errOutOfDate) {
				continue
			}
		}
		v, _ := verdictOf(d, err)
		v.write(w, http.StatusOK)
		return
	}
}

// judgeAgain judges a URL that was allowed by the record at hand, without a
// wait. Of another Crawl-delay the Limiter has to be told.
func (h *Handler) judgeAgain(was robotsmw.Decision) error {
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	if d, err := h.robots.Checker().Check(ended, was.URL); err != nil || d.Allowed && d.CrawlDelay != was.CrawlDelay {
		return errOutOfDate
	} else if !d.Allowed {
		return &robotsmw.DisallowedError{Decision: d}
	}
	return nil
}

// hold hands a slot to the client. The slot outlives the request for it, but
// not a client that went away meanwhile: it cannot know the id.
func (h *Handler) hold(ctx context.Context, w http.ResponseWriter, d robotsmw.Decision, grant *politeness.Grant) {
	v, _ := verdictOf(d, nil)
	v.ID = rand.Text()
	if !h.keep(v.ID, grant) {
		grant.Done(politeness.Outcome{})
		refused("too many slots are held").write(w, http.StatusServiceUnavailable)
	} else if ctx.Err() != nil || v.write(w, http.StatusOK) != nil {
		h.take(v.ID)
		grant.Done(politeness.Outcome{})
	}
}

// done answers /done. A status teaches the Limiter.
func (h *Handler) done(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	status, err := strconv.Atoi(cmp.Or(query.Get("status"), "0"))
	if query.Get("id") == "" || err != nil || status != 0 && (status < 100 || status > 599) {
		refused("/done takes an id, and a status of three digits").write(w, http.StatusBadRequest)
		return
	}
	grant := h.take(query.Get("id"))
	if grant == nil {
		refused("no slot has this id; its lease may be over").write(w, http.StatusNotFound)
		return
	}
	grant.Done(politeness.Outcome{Status: status, Header: http.Header{"Retry-After": query["retry_after"]}})
	w.WriteHeader(http.StatusNoContent)
}
