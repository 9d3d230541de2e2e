package answer_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/fault"
)

// source replays records and then ends with an error.
type source struct {
	schema  *arrow.Schema
	records []arrow.RecordBatch
	end     error
}

func (s *source) Schema() *arrow.Schema { return s.schema }

func (s *source) Next(context.Context) (arrow.RecordBatch, error) {
	if len(s.records) == 0 {
		return nil, s.end
	}
	r := s.records[0]
	s.records = s.records[1:]
	return r, nil
}

func field(name, engineType string, t arrow.DataType) arrow.Field {
	return arrow.Field{Name: name, Type: t, Nullable: true, Metadata: arrow.NewMetadata([]string{answer.TypeKey}, []string{engineType})}
}

// sample has a row of ordinary values, one of awkward ones and one of nulls.
func sample() *source {
	fields := []arrow.Field{
		field("big", "BIGINT", arrow.PrimitiveTypes.Int64),
		field("huge", "HUGEINT", &arrow.Decimal128Type{Precision: 38}),
		field("price", "DECIMAL(9,2)", &arrow.Decimal128Type{Precision: 9, Scale: 2}),
		field("f", "DOUBLE", arrow.PrimitiveTypes.Float64),
		field("at", "TIMESTAMP WITH TIME ZONE", &arrow.TimestampType{Unit: arrow.Microsecond, TimeZone: "UTC"}),
		field("text, \"quoted\"", "VARCHAR", arrow.BinaryTypes.String),
		field("blob", "BLOB", arrow.BinaryTypes.Binary),
		field("list", "BIGINT[]", arrow.ListOf(arrow.PrimitiveTypes.Int64)),
	}
	s := &source{schema: arrow.NewSchema(fields, nil), end: io.EOF}
	b := array.NewRecordBuilder(memory.DefaultAllocator, s.schema)
	defer b.Release()
	add := func(big int64, huge string, price int64, f float64, at int64, text, blob string, list ...int64) {
		b.Field(0).(*array.Int64Builder).Append(big)
		n, err := decimal128.FromString(huge, 38, 0)
		if err != nil {
			panic(err)
		}
		b.Field(1).(*array.Decimal128Builder).Append(n)
		b.Field(2).(*array.Decimal128Builder).Append(decimal128.FromI64(price))
		b.Field(3).(*array.Float64Builder).Append(f)
		b.Field(4).(*array.TimestampBuilder).Append(arrow.Timestamp(at))
		b.Field(5).(*array.StringBuilder).Append(text)
		b.Field(6).(*array.BinaryBuilder).Append([]byte(blob))
		l := b.Field(7).(*array.ListBuilder)
		l.Append(true)
		l.ValueBuilder().(*array.Int64Builder).AppendValues(list, nil)
	}
	add(math.MaxInt64, "170141183460469231731687303715884105", 1999, 0.5, 1_500_000, "plain", "ab", 1, 2)
	add(-1, "-5", -1, math.NaN(), 0, "<b>\"x\",\n\u0001", "", 9007199254740993)
	for i := range fields {
		b.Field(i).AppendNull()
	}
	s.records = []arrow.RecordBatch{b.NewRecordBatch()}
	return s
}

func write(t *testing.T, s *source, f answer.Format) (string, *answer.Meta, error) {
	t.Helper()
	var out bytes.Buffer
	var trailer *answer.Meta
	w := answer.Writer{
		W: &out, Format: f,
		Meta:    func() answer.Meta { return answer.Meta{Stats: answer.Stats{Segments: 3}} },
		Trailer: func(m answer.Meta) { trailer = &m },
		Problem: func(err error) answer.Problem {
			return answer.Problem{Code: fault.StatusOf(err).Code, Message: fault.Message(err)}
		},
	}
	first, err := s.Next(t.Context())
	require.NoError(t, err)
	err = w.Write(t.Context(), s, first)
	return out.String(), trailer, err
}

func TestJSON(t *testing.T) {
	t.Parallel()
	out, _, err := write(t, sample(), answer.JSON)
	require.NoError(t, err)
	require.True(t, json.Valid([]byte(out)), out)
	require.Contains(t, out, `[9223372036854775807,170141183460469231731687303715884105,"19.99",0.5,"1970-01-01T00:00:01.5Z","plain",`+
		`"YWI=",[1,2]]`)
	require.Contains(t, out, `[-1,-5,"-0.01","NaN","1970-01-01T00:00:00Z","<b>\"x\",\n\u0001","",[9007199254740993]]`)
	require.Contains(t, out, `[null,null,null,null,null,null,null,null]`)
	require.Contains(t, out, `{"name":"huge","type":"HUGEINT"}`)
	require.Contains(t, out, `"segments":3`)
	require.Contains(t, out, `"rows":3`)
	require.Contains(t, out, `"warnings":[]`)
}

func TestNDJSON(t *testing.T) {
	t.Parallel()
	out, _, err := write(t, sample(), answer.NDJSON)
	require.NoError(t, err)
	lines := bytes.Split(bytes.TrimSpace([]byte(out)), []byte("\n"))
	require.Len(t, lines, 4)
	for _, l := range lines {
		require.True(t, json.Valid(l), "%s", l)
	}
	require.Contains(t, string(lines[0]), `"text, \"quoted\"":"plain"`)
	require.Contains(t, string(lines[3]), `{"_meta":{"stats":`)
}

func TestCSV(t *testing.T) {
	t.Parallel()
	out, meta, err := write(t, sample(), answer.CSV)
	require.NoError(t, err)
	require.Equal(t, "big,huge,price,f,at,\"text, \"\"quoted\"\"\",blob,list\r\n"+
		"9223372036854775807,170141183460469231731687303715884105,19.99,0.5,1970-01-01T00:00:01.5Z,plain,YWI=,\"[1,2]\"\r\n"+
		"-1,-5,-0.01,NaN,1970-01-01T00:00:00Z,\"<b>\"\"x\"\",\n\u0001\",\"\",[9007199254740993]\r\n"+
		",,,,,,,\r\n", out)
	require.EqualValues(t, 3, meta.Stats.Rows)
}

func TestArrow(t *testing.T) {
	t.Parallel()
	out, meta, err := write(t, sample(), answer.Arrow)
	require.NoError(t, err)
	require.NotNil(t, meta)
	r, err := ipc.NewReader(bytes.NewReader([]byte(out)))
	require.NoError(t, err)
	defer r.Release()
	require.True(t, r.Next())
	require.EqualValues(t, 3, r.RecordBatch().NumRows())
	require.False(t, r.Next())
	require.NoError(t, r.Err())
}

// TestEarlyEnd checks that every format tells a result that failed after its first rows.
func TestEarlyEnd(t *testing.T) {
	t.Parallel()
	for _, f := range []answer.Format{answer.JSON, answer.NDJSON, answer.CSV, answer.Arrow} {
		s := sample()
		s.end = fault.New(fault.Deadline, "the time limit of the query passed")
		out, meta, err := write(t, s, f)
		require.ErrorIs(t, err, s.end)
		require.Equal(t, "deadline", meta.Error.Code)
		if f == answer.JSON || f == answer.NDJSON {
			require.Contains(t, out, `"error":{"error":"deadline","message":"the time limit of the query passed"}`)
		}
		if f == answer.JSON {
			require.True(t, json.Valid([]byte(out)), out)
		}
		if f == answer.Arrow {
			r, err := ipc.NewReader(bytes.NewReader([]byte(out)))
			require.NoError(t, err)
			require.True(t, r.Next())
			require.False(t, r.Next())
			r.Release()
		}
	}
}

func TestParseAccept(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]answer.Format{
		"": answer.JSON, "*/*": answer.JSON, "text/html, application/x-ndjson;q=0.9": answer.NDJSON, "text/csv": answer.CSV,
		"application/vnd.apache.arrow.stream": answer.Arrow, "application/json; charset=utf-8": answer.JSON,
	} {
		got, err := answer.ParseAccept(header)
		require.NoError(t, err)
		require.Equal(t, want, got, header)
	}
	_, err := answer.ParseAccept("image/png")
	require.True(t, fault.Is(err, fault.Invalid))
}
