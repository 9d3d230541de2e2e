package jsontext_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/millstream/millstream/internal/wire/jsontext"
)

// scan reads text as one value.
func scan(text []byte) (jsontext.Value, error) {
	var s jsontext.Scanner
	var v jsontext.Value
	s.Reset(text)
	err := s.Value(&v, 0)
	if err == nil {
		err = s.End()
	}
	return v, err
}

func TestNumbers(t *testing.T) {
	t.Parallel()
	check := func(token string, kind jsontext.Kind, want any) {
		t.Helper()
		v, err := scan([]byte(token))
		require.NoError(t, err, token)
		require.Equal(t, kind, v.Kind, token)
		require.Equal(t, token, string(v.Text))
		switch want := want.(type) {
		case int64:
			require.Equal(t, want, v.Int, token)
		case float64:
			require.Equal(t, math.Float64bits(want), math.Float64bits(v.Float), token)
		}
	}
	check("0", jsontext.Int64, int64(0))
	check("-0", jsontext.Int64, int64(0))
	check("9223372036854775807", jsontext.Int64, int64(math.MaxInt64))
	check("-9223372036854775808", jsontext.Int64, int64(math.MinInt64))
	check("9223372036854775808", jsontext.Number, nil)
	check("-9223372036854775809", jsontext.Number, nil)
	check("18446744073709551616", jsontext.Number, nil)
	check("99999999999999999999999999", jsontext.Number, nil)
	check("3.0", jsontext.Float64, 3.0)
	check("-0.0", jsontext.Float64, math.Copysign(0, -1))
	check("0.7", jsontext.Float64, 0.7)
	check("1e3", jsontext.Float64, 1000.0)
	check("1E+03", jsontext.Float64, 1000.0)
	check("9007199254740993.0", jsontext.Float64, 9007199254740992.0)
	check("123456789.123456789123456789", jsontext.Float64, 123456789.123456789123456789)
	check("1e400", jsontext.Number, nil)
	check("-1e400", jsontext.Number, nil)
	check("1e-400", jsontext.Number, nil)
	check("0e-400", jsontext.Float64, 0.0)
	check("5e-324", jsontext.Float64, 5e-324)
	for _, bad := range []string{"-", "01", "-01", "+1", ".5", "1.", "1.e3", "1e", "1e+", "0x1", "1_0", "--1", "Infinity", "1.2.3", "nan"} {
		_, err := scan([]byte(bad))
		require.Error(t, err, bad)
	}
}

func TestFloatsAreTheNearest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		token := strconv.FormatFloat(math.Abs(rapid.Float64().Draw(t, "f")), 'f', rapid.IntRange(1, 25).Draw(t, "decimals"), 64)
		want, err := strconv.ParseFloat(token, 64)
		require.NoError(t, err)
		v, err := scan([]byte(token))
		require.NoError(t, err)
		if v.Kind == jsontext.Float64 {
			require.Equal(t, math.Float64bits(want), math.Float64bits(v.Float), token)
		}
	})
}

func TestCompactText(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		" [ 1 , 2.50 , 1e400 , \"a b\" , { \"k\" : [ ] , \"l\" : { } } , null , true , false ] ": "" +
			`[1,2.50,1e400,"a b",{"k":[],"l":{}},null,true,false]`,
		`["\ud800","\udc00\ud83d\ude00","\u0041\ufffd\n"]`: "" +
			`["\ufffd","\ufffd\ud83d\ude00","\u0041\ufffd\n"]`,
		`{"\ud800":"\\ud800"}`: `{"\ufffd":"\\ud800"}`,
	} {
		v, err := scan([]byte(text))
		require.NoError(t, err)
		require.Equal(t, jsontext.JSON, v.Kind)
		require.Equal(t, want, string(v.Text))
	}
}

func TestDepth(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return []byte(strings.Repeat("[", n) + strings.Repeat("]", n)) }
	_, err := scan(nested(jsontext.MaxDepth))
	require.NoError(t, err)
	_, err = scan(nested(jsontext.MaxDepth + 1))
	require.ErrorContains(t, err, "nested too deep at byte 64")
	_, err = scan(nested(1 << 20))
	require.Error(t, err)
}

// FuzzValue holds the scanner against encoding/json: the same texts are accepted, with the same values.
func FuzzValue(f *testing.F) {
	for _, s := range []string{
		`{"a":{"b":[1,2.5e3,"\ud83d\ude00\u00e9\n"]},"c":null}`, `"\ud800\ud800\udc00\udc00x"`,
		`[1e400,-0,0.1,18446744073709551615]`, "\"\xff\x80\"", `{"a":1,}`,
		"\"\x01\"", `"\/\b\f\"\\"`, ` true `, `{"":{}}`, `[[[[]]]]`, `"abcdefg\u12"`, "\x00", `1 2`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := scan(text)
		if err != nil && strings.Contains(err.Error(), "nested too deep") {
			return
		}
		require.Equal(t, json.Valid(text), err == nil, "%q: %v", text, err)
		if err != nil {
			return
		}
		var want any
		d := json.NewDecoder(bytes.NewReader(text))
		d.UseNumber()
		require.NoError(t, d.Decode(&want))
		switch v.Kind {
		case jsontext.Null:
			require.Nil(t, want)
		case jsontext.Bool:
			require.Equal(t, want, v.Int == 1)
		case jsontext.String:
			require.Equal(t, want, string([]rune(string(v.Text)))) // invalid UTF-8 is the builder's
		case jsontext.Int64:
			n, err := strconv.ParseInt(string(v.Text), 10, 64)
			require.NoError(t, err)
			require.Equal(t, n, v.Int)
		case jsontext.Float64:
			n, err := strconv.ParseFloat(string(v.Text), 64)
			require.NoError(t, err)
			require.Equal(t, math.Float64bits(n), math.Float64bits(v.Float))
		case jsontext.Number:
			require.Equal(t, want, json.Number(v.Text))
		case jsontext.JSON:
			var got any
			d := json.NewDecoder(bytes.NewReader(v.Text))
			d.UseNumber()
			require.NoError(t, d.Decode(&got))
			require.Equal(t, want, got)
			var compact bytes.Buffer
			require.NoError(t, json.Compact(&compact, v.Text))
			require.Equal(t, compact.String(), string(v.Text))
		}
	})
}
