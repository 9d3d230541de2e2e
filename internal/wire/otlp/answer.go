package otlp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	spb "google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/wire"
)

// reasonsInMessage is how many refused records the message of a partial success tells about.
const reasonsInMessage = 5

// Success returns the body that answers a request whose good records are stored: an empty message, or one with partial_success
// when some were rejected (all of them, too: a client must not send them again).
func Success(enc Encoding, s signal.Signal, res wire.Result) []byte {
	if res.Rejected == 0 {
		if enc == JSON {
			return []byte("{}")
		}
		return nil
	}
	message := partialMessage(s, res)
	if enc == JSON {
		body := []byte(`{"partialSuccess":{"`)
		body = append(body, rejectedField(s)...)
		body = append(body, `":"`...)
		body = strconv.AppendInt(body, int64(res.Rejected), 10)
		body = append(body, `","errorMessage":`...)
		body = signal.AppendJSONString(body, []byte(message))
		return append(body, "}}"...)
	}
	var partial []byte
	partial = protowire.AppendTag(partial, 1, protowire.VarintType)
	partial = protowire.AppendVarint(partial, uint64(res.Rejected))
	partial = protowire.AppendTag(partial, 2, protowire.BytesType)
	partial = protowire.AppendString(partial, strings.ToValidUTF8(message, "\uFFFD"))
	body := protowire.AppendTag(nil, 1, protowire.BytesType)
	return protowire.AppendBytes(body, partial)
}

func rejectedField(s signal.Signal) string {
	switch s {
	case signal.Traces:
		return "rejectedSpans"
	case signal.Metrics:
		return "rejectedDataPoints"
	default:
		return "rejectedLogRecords"
	}
}

func recordName(s signal.Signal) string {
	switch s {
	case signal.Traces:
		return "span"
	case signal.Metrics:
		return "data point"
	default:
		return "log record"
	}
}

// partialMessage tells how many records were refused, and the reasons of the first of them with their places in the request. The reasons
// of the store, which knows no places, come first: a limit that is reached concerns all that is sent from now on.
func partialMessage(s signal.Signal, res wire.Result) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d %ss refused", res.Rejected, res.Rejected+res.Accepted, recordName(s))
	separator, told := ": ", 0
	for _, l := range res.Later {
		fmt.Fprintf(&b, "%s%d like: %s", separator, l.Rows, l.Reason)
		separator, told = "; ", told+l.Rows
	}
	listed := res.Errors[:min(len(res.Errors), reasonsInMessage)]
	for _, e := range listed {
		fmt.Fprintf(&b, "%s%s %d: %s", separator, recordName(s), e.Index, e.Reason)
		separator = "; "
	}
	if more := res.Rejected - told - len(listed); more > 0 && separator == "; " {
		fmt.Fprintf(&b, "; and %d more", more)
	}
	return b.String()
}

// Status returns err as the message that both transports answer with: the gRPC code of its kind, a text that is safe to show, and a
// RetryInfo when the same request may pass later. err is not nil.
func Status(err error) *spb.Status {
	st := &spb.Status{
		Code:    int32(fault.StatusOf(err).GRPC),
		Message: strings.ToValidUTF8(fault.Message(err), "\uFFFD"),
	}
	if wait := fault.RetryAfter(err); wait > 0 {
		if detail, err := anypb.New(&errdetails.RetryInfo{RetryDelay: durationpb.New(wait)}); err == nil {
			st.Details = append(st.Details, detail)
		}
	}
	return st
}

// Failure returns the body that answers a refused request: Status in the request's encoding. Its HTTP status is
// fault.StatusOf(err).HTTP.
func Failure(enc Encoding, err error) []byte {
	st := Status(err)
	if enc != JSON {
		body, err := proto.Marshal(st)
		if err != nil {
			return nil // a Status without details cannot fail, and RetryInfo can neither
		}
		return body
	}
	body, err := protojson.Marshal(st)
	if err != nil {
		return []byte("{}") // likewise
	}
	var plain bytes.Buffer // protojson varies its white space
	if err := json.Compact(&plain, body); err != nil {
		return body
	}
	return plain.Bytes()
}
