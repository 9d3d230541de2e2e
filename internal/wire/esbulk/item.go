package esbulk

import (
	"net/http"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/wire"
)

// MaxItems is how many actions a request may have.
const MaxItems = 200_000

// Item is what became of one action. It is in Elasticsearch's terms, which every shipper branches on: statuses are per item here.
type Item struct {
	Action string // "create", "index", "update", "delete"; "index" when the action could not be read
	Index  string // may be empty when the action could not be read
	ID     string // as sent, else made by Request.NewID for stored rows; may be empty for refused ones
	Status int    // 201, else the HTTP status of the refusal
	// ErrorType and Reason are empty for stored rows.
	ErrorType string
	Reason    string
}

// Response is the answer to a request.
type Response struct {
	Items  []Item
	Result wire.Result // the same in the terms of all decoders; Errors is by item index
	// Refused is the error of Emit when it is why no row was stored: the request may be sent again as a whole.
	Refused error
}

// TypeOverload is the type of error that makes shippers send again later.
const TypeOverload = "es_rejected_execution_exception"

// Types of errors that Elasticsearch has names for.
const (
	typeParsing      = "mapper_parsing_exception"
	typeArgument     = "illegal_argument_exception"
	typeMissing      = "action_request_validation_exception"
	typeIndexName    = "invalid_index_name_exception"
	typeTooLarge     = "document_too_large_exception"
	typeUnavailable  = "unavailable_shards_exception"
	typeUnauthorized = "security_exception"
	typeNotFound     = "index_not_found_exception"
	typeInternal     = "exception"
)

// typeOf returns the type of an error that Emit gave.
func typeOf(err error) string {
	switch fault.KindOf(err) {
	case fault.Limited:
		return TypeOverload
	case fault.Unavailable, fault.Canceled, fault.Deadline:
		return typeUnavailable
	case fault.Forbidden, fault.Unauthenticated:
		return typeUnauthorized
	case fault.NotFound:
		return typeNotFound
	case fault.TooLarge:
		return typeTooLarge
	case fault.Invalid, fault.Conflict, fault.Unsupported:
		return typeArgument
	default:
		return typeInternal
	}
}

// refuse marks an item as refused before anybody tried to store it.
func (i *Item) refuse(status int, errorType, reason string) {
	i.Status, i.ErrorType, i.Reason = status, errorType, reason
}

// fail marks an item with an error of Emit.
func (i *Item) fail(err error) {
	i.refuse(fault.StatusOf(err).HTTP, typeOf(err), fault.Message(err))
}

func (i *Item) stored() { i.Status = http.StatusCreated }
