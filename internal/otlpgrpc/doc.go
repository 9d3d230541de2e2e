// Package otlpgrpc is the edge of OTLP/gRPC: the Export methods of the logs, trace and metrics services. Messages pass through as
// the bytes that were sent, so that the decoder of internal/wire/otlp reads them without a detour through generated types.
//
// A server is made with ServerOptions and given the services with Register; RegisterCompressors comes before the first server, once
// a process. Errors become statuses here, with a RetryInfo where the same request may pass later; a request of which a part was
// refused is a success with partial_success.
//
// The package starts no goroutine. It must not import roles; of the edges it imports ingress alone,
// for where rows go; auth says who is asking.
package otlpgrpc
