package fault

import (
	"net/http"

	"google.golang.org/grpc/codes"
)

// StatusClientClosed is the status logged for a client that left before its answer (nginx's 499).
const StatusClientClosed = 499

// Status is one row of the status table.
type Status struct {
	Code string     // stable code in JSON error bodies
	HTTP int        // HTTP status
	GRPC codes.Code // gRPC status
}

var table = [...]Status{
	Internal:        {"internal", http.StatusInternalServerError, codes.Internal},
	Invalid:         {"invalid", http.StatusBadRequest, codes.InvalidArgument},
	Unauthenticated: {"unauthenticated", http.StatusUnauthorized, codes.Unauthenticated},
	Forbidden:       {"forbidden", http.StatusForbidden, codes.PermissionDenied},
	NotFound:        {"not_found", http.StatusNotFound, codes.NotFound},
	Conflict:        {"conflict", http.StatusConflict, codes.AlreadyExists},
	TooLarge:        {"too_large", http.StatusRequestEntityTooLarge, codes.InvalidArgument},
	Unsupported:     {"unsupported", http.StatusUnsupportedMediaType, codes.InvalidArgument},
	Limited:         {"limited", http.StatusTooManyRequests, codes.ResourceExhausted},
	Unavailable:     {"unavailable", http.StatusServiceUnavailable, codes.Unavailable},
	Canceled:        {"canceled", StatusClientClosed, codes.Canceled},
	Deadline:        {"deadline", http.StatusGatewayTimeout, codes.DeadlineExceeded},
	Corrupt:         {"internal", http.StatusInternalServerError, codes.DataLoss},
}

// StatusOf returns the table's row for err's kind.
func StatusOf(err error) Status { return table[KindOf(err)] }

// String returns the stable code of the kind.
func (k Kind) String() string {
	if int(k) < len(table) {
		return table[k].Code
	}
	return table[Internal].Code
}
