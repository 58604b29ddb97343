// Package queues tests three commands that crawl politely from a queue:
//
//	nats   NATS JetStream
//	asynq  asynq, in Redis
//	river  River, in PostgreSQL
//
// A queue knows no pace: it hands out a page as soon as a worker is free.
// Courtesy knows when the page's host is due, and the worker in internal/worker
// puts the page back until then. "go doc ./nats" says how to start that command
// and what to copy from it.
package queues
