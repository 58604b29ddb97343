package robotsmw

import (
	"context"
	"net/http"
)

// PageOptions says how page directives are read.
type PageOptions struct{}

type page struct{}

func (t *Transport) newPage(ctx context.Context) (context.Context, *page) { return ctx, nil }

func (p *page) attach(*http.Response, *http.Request) {}
