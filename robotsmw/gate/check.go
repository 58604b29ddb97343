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

// check handles /check.
func (h *Handler) check(w http.ResponseWriter, r *http.Request, u *url.URL) {
	ctx, cancel := context.WithTimeout(r.Context(), maxWait)
	defer cancel()
	if r.URL.Query().Get("wait") == "1" {
		h.wait(ctx, w, u)
		return
	}
	d, err := h.robots.Checker().Check(ctx, u)
	v, _ := newVerdict(d, err)
	// Retrying does not help with a URL that is disallowed, so its verdict must
	// not contain a time.
	if v.Allowed && v.Until == nil {
		if next := h.limiter.Next(u); time.Until(next) > 0 {
			v.Until = &next
		}
	}
	v.write(w, http.StatusOK)
}

// wait handles /check with wait=1. It responds when u's host is due.
func (h *Handler) wait(ctx context.Context, w http.ResponseWriter, u *url.URL) {
	admission, err := h.robots.Admit(ctx, u)
	if err != nil {
		h.notAdmitted(u, err).write(w, http.StatusOK)
		return
	}
	h.hold(ctx, w, admission)
}

// notAdmitted returns the verdict for an error of Admit. If robots.txt allows
// the request, the verdict includes the decision.
func (h *Handler) notAdmitted(u *url.URL, err error) verdict {
	var d robotsmw.Decision
	if _, ok := errors.AsType[*robotsmw.DisallowedError](err); !ok {
		// With a canceled context, Check returns an error if robots.txt is not
		// in memory, for example because its fetch has to wait.
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		d, _ = h.robots.Checker().Check(ended, u)
		if d.URL != nil && !d.Allowed { // robots.txt has changed since Admit
			err = &robotsmw.DisallowedError{Decision: d}
		}
	}
	v, _ := newVerdict(d, err)
	return v
}

// hold sends the id of a slot to the client. The slot remains after this
// request. If the client has disconnected meanwhile, it has not received the id
// and cannot call /done, so the slot is released.
func (h *Handler) hold(ctx context.Context, w http.ResponseWriter, admission *robotsmw.Admission) {
	v, _ := newVerdict(admission.Decision, nil)
	v.ID = rand.Text()
	if !h.keep(v.ID, admission) {
		admission.Done(politeness.Outcome{})
		refused("too many slots are held: call /done for finished requests").write(w, http.StatusServiceUnavailable)
	} else if ctx.Err() != nil || v.write(w, http.StatusOK) != nil {
		h.take(v.ID)
		admission.Done(politeness.Outcome{})
	}
}

// done handles /done. It reports the status and the Retry-After to the Limiter.
func (h *Handler) done(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	status, err := strconv.Atoi(cmp.Or(query.Get("status"), "0"))
	isStatus := err == nil && (status == 0 || 100 <= status && status <= 599)
	if query.Get("id") == "" || !isStatus {
		v := refused("/done requires the parameter id; the parameter status must be a number from 100 to 599, or missing if there was no response")
		v.write(w, http.StatusBadRequest)
		return
	}
	admission := h.take(query.Get("id"))
	if admission == nil {
		refused("no slot has this id; its lease may have expired").write(w, http.StatusNotFound)
		return
	}
	admission.Done(politeness.Outcome{
		Status: status,
		Header: http.Header{"Retry-After": query["retry_after"]},
	})
	w.WriteHeader(http.StatusNoContent)
}
