package otlp

import (
	"google.golang.org/protobuf/encoding/protowire"
)

const (
	varint  = protowire.VarintType
	fixed64 = protowire.Fixed64Type
	fixed32 = protowire.Fixed32Type
	lengths = protowire.BytesType
)

// Sizes of ids in bytes.
const (
	traceIDSize = 16
	spanIDSize  = 8
)

// The messages of opentelemetry-proto 1.11, as far as they are read. Names are those of OTLP/JSON.
var (
	anyValueMessage = newMessage(
		field{num: anyString, wire: lengths, kind: kindText, name: "stringValue"},
		field{num: anyBool, wire: varint, kind: kindBool, name: "boolValue"},
		field{num: anyInt, wire: varint, kind: kindInt64, name: "intValue"},
		field{num: anyDouble, wire: fixed64, kind: kindDouble, name: "doubleValue"},
		field{num: anyArray, wire: lengths, kind: kindMessage, once: true, name: "arrayValue"},
		field{num: anyKvlist, wire: lengths, kind: kindMessage, once: true, name: "kvlistValue"},
		field{num: anyBytes, wire: lengths, kind: kindBytes, name: "bytesValue"},
		field{num: anyStrindex, wire: varint, kind: kindInt32, name: "stringValueStrindex"},
	)
	arrayMessage    = newMessage(field{num: listValues, wire: lengths, kind: kindAnyValue, once: true, list: true, name: "values"})
	kvlistMessage   = newMessage(field{num: listValues, wire: lengths, kind: kindMessage, once: true, list: true, name: "values"})
	keyValueMessage = newMessage(
		field{num: keyValueKey, wire: lengths, kind: kindText, name: "key"},
		field{num: keyValueValue, wire: lengths, kind: kindAnyValue, once: true, name: "value"},
		field{num: 3, wire: varint, kind: kindIgnored, name: "keyStrindex"},
	)
	resourceMessage = newMessage(
		attributesField(resourceAttributes),
		field{num: resourceDropped, wire: varint, kind: kindUint32, name: "droppedAttributesCount"},
		field{num: resourceEntities, wire: lengths, kind: kindMessage, list: true, name: "entityRefs"},
	)
	entityRefMessage = newMessage(
		field{num: 1, wire: lengths, kind: kindText, name: "schemaUrl"},
		field{num: 2, wire: lengths, kind: kindText, name: "type"},
		field{num: 3, wire: lengths, kind: kindText, list: true, name: "idKeys"},
		field{num: 4, wire: lengths, kind: kindText, list: true, name: "descriptionKeys"},
	)
	scopeMessage = newMessage(
		field{num: scopeName, wire: lengths, kind: kindText, name: "name"},
		field{num: scopeVersion, wire: lengths, kind: kindText, name: "version"},
		attributesField(scopeAttributes),
		field{num: scopeDropped, wire: varint, kind: kindUint32, name: "droppedAttributesCount"},
	)
)

func attributesField(num protowire.Number) field {
	return field{num: num, wire: lengths, kind: kindMessage, once: true, list: true, name: "attributes", of: keyValueMessage}
}

func idField(num protowire.Number, name string, size int) field {
	return field{num: num, wire: lengths, kind: kindID, size: size, name: name}
}

// Fields of Resource and InstrumentationScope.
const (
	resourceAttributes = 1
	resourceDropped    = 2
	resourceEntities   = 3

	scopeName       = 1
	scopeVersion    = 2
	scopeAttributes = 3
	scopeDropped    = 4
)

// Fields of Resource{Logs,Spans,Metrics} and of Scope{Logs,Spans,Metrics}.
const (
	groupOwner     = 1 // resource or scope
	groupItems     = 2 // scope groups, or records
	groupSchemaURL = 3
)

// envelope is the part of a request above its records, which is of one form for all signals.
type envelope struct {
	request  *message
	resource *message // ResourceLogs …
	scope    *message // ScopeLogs …
}

func newEnvelope(resources, scopes, records string) *envelope {
	return &envelope{
		request:  newMessage(field{num: 1, wire: lengths, kind: kindMessage, list: true, name: resources}),
		resource: newGroup("resource", scopes),
		scope:    newGroup("scope", records),
	}
}

func newGroup(owner, items string) *message {
	return newMessage(
		field{num: groupOwner, wire: lengths, kind: kindMessage, name: owner},
		field{num: groupItems, wire: lengths, kind: kindMessage, list: true, name: items},
		field{num: groupSchemaURL, wire: lengths, kind: kindText, name: "schemaUrl"},
	)
}
