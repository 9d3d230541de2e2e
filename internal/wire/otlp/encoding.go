package otlp

import (
	"mime"

	"github.com/millstream/millstream/internal/fault"
)

// Encoding is how a request's body is written, and its answer.
type Encoding uint8

// The encodings of OTLP/HTTP. OTLP/gRPC is Protobuf.
const (
	Protobuf Encoding = iota
	JSON
)

// ContentType returns the media type of e.
func (e Encoding) ContentType() string {
	if e == JSON {
		return "application/json"
	}
	return "application/x-protobuf"
}

// ParseContentType returns the encoding that a Content-Type header names; parameters are ignored. Another type is
// fault.Unsupported.
func ParseContentType(header string) (Encoding, error) {
	media, _, err := mime.ParseMediaType(header)
	if err != nil {
		return 0, fault.New(fault.Unsupported, "content type %.64q is not read here (application/x-protobuf and application/json are)", header)
	}
	switch media {
	case "application/x-protobuf", "application/protobuf":
		return Protobuf, nil
	case "application/json":
		return JSON, nil
	default:
		return 0, fault.New(fault.Unsupported, "content type %.64q is not read here (application/x-protobuf and application/json are)", media)
	}
}
