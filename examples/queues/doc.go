// Package queues tests three commands that crawl politely from a queue:
//
//	nats   NATS JetStream
//	asynq  asynq, in Redis
//	river  River, in PostgreSQL
//
// A queue does not limit the rate of requests: it hands out a page as soon as a
// worker is free. The Limiter of Courtesy determines when the page's host is
// due, and the worker in internal/worker puts the page back until then. The
// documentation of each command ("go doc ./nats") describes how to start the
// command and what to copy from it.
package queues
