// Package otlpgrpc is the edge of OTLP/gRPC: the Export methods of the logs, trace and metrics services. Messages pass through as
// the bytes that were sent, so that the decoder of internal/wire/otlp reads them without a detour through generated types.
//
// A server is made with ServerOptions and given the services with Register; RegisterCompressors comes before the first server, once
// a process. Errors become statuses here, with a RetryInfo where the same request may pass later; a request of which a part was
// refused is a success with partial_success.
//
// Who calls, the rate of requests and whether the org's share of memory has room are judged before a message is read. Its size is charged
// when it was read and inflated, before it is decoded: grpc-go tells the length of a message to nobody until then, so the bytes that it is
// reading, at most MaxMessageBytes a call, are not yet counted.
//
// The package starts no goroutine. It must not import roles; of the edges it imports ingress alone,
// for where rows go; auth says who is asking.
package otlpgrpc
