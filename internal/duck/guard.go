package duck

/*
extern void msGuardText(void *info, void *input, void *output);
extern void msGuardSum(void *info, void *input, void *output);
extern void msGuardRoom(void *info, void *input, void *output);
extern void msGuardReplace(void *info, void *input, void *output);
extern void msGuardCount(void *info, void *input, void *output);
extern void msGuardFormat(void *info, void *input, void *output);
extern void msGuardPath(void *info, void *input, void *output);
extern void msGuardNothing(void *info, void *input, void *output);
*/
import "C"

import (
	"bytes"
	"regexp"
	"unsafe"

	bindings "github.com/duckdb/duckdb-go-bindings"

	"github.com/millstream/millstream/internal/fault"
)

// The guards are scalar functions that give back their first argument untouched, or fail when what the function around them would make of
// it is too large. They see a whole vector, so they bound its sum too. Called on DuckDB's threads; they keep nothing.
//
//	ms_guard_text(s)           s itself
//	ms_guard_sum(s, …)         all arguments one after the other, NULL being nothing
//	ms_guard_room(s, n)        n times the bytes of s
//	ms_guard_digits(s, n)      the same, for a function that takes numbers too, which have no size
//	ms_guard_replace(s, f, t)  s with every f replaced by t
//	ms_guard_count(n, bytes)   n elements of so many bytes
//	ms_guard_format(f, …)      a format text, short, with small widths and few places, each filled with all arguments
//	ms_guard_path(p)           a JSON path without the recursive step

const (
	tooLongText   = "the text or list that a function makes is limited to 1 MiB (100,000 elements)"
	tooLongVector = "the texts or lists that a function makes are limited to 128 MiB for 2048 rows"
	badFormat     = "the format text is longer than 1000 bytes, has more than 32 places or a width of more than three digits," +
		" or its arguments are too long"
	badPath = "the step .. of a JSON path is not supported"
)

// guard is one function with its overloads.
type guard struct {
	name      string
	overloads []overload
}

// overload is the parameter types, the first of which is the result's too, and the callback.
type overload struct {
	parameters []bindings.Type
	callback   unsafe.Pointer
	variadic   bool // any number of texts follow, and NULLs are arguments like others
}

func guards() []guard {
	var text, blob, number bindings.Type = bindings.TypeVarchar, bindings.TypeBlob, bindings.TypeBigInt
	fixed := func(callback unsafe.Pointer, t ...bindings.Type) overload {
		return overload{parameters: t, callback: callback}
	}
	variadic := func(callback unsafe.Pointer) overload {
		return overload{parameters: []bindings.Type{text}, callback: callback, variadic: true}
	}
	return []guard{
		{"ms_guard_text", []overload{fixed(C.msGuardText, text), fixed(C.msGuardText, blob)}},
		{"ms_guard_sum", []overload{variadic(C.msGuardSum)}},
		{"ms_guard_room", []overload{fixed(C.msGuardRoom, text, number), fixed(C.msGuardRoom, blob, number)}},
		{"ms_guard_digits", []overload{
			fixed(C.msGuardRoom, text, number), fixed(C.msGuardRoom, blob, number), fixed(C.msGuardNothing, number, number),
			fixed(C.msGuardNothing, bindings.TypeUBigInt, number), fixed(C.msGuardNothing, bindings.TypeHugeInt, number),
			fixed(C.msGuardNothing, bindings.TypeUHugeInt, number),
		}},
		{"ms_guard_replace", []overload{fixed(C.msGuardReplace, text, text, text)}},
		{"ms_guard_count", []overload{fixed(C.msGuardCount, number, number)}},
		{"ms_guard_format", []overload{variadic(C.msGuardFormat)}},
		{"ms_guard_path", []overload{fixed(C.msGuardPath, text), fixed(C.msGuardNothing, number)}},
	}
}

// registerGuards makes the guards known to the engine's database.
func (e *engine) registerGuards() error {
	for _, g := range guards() {
		if err := e.registerGuard(g); err != nil {
			return err
		}
	}
	return nil
}

func (e *engine) registerGuard(g guard) error {
	set := bindings.CreateScalarFunctionSet(g.name)
	defer bindings.DestroyScalarFunctionSet(&set)
	for _, o := range g.overloads {
		f := bindings.CreateScalarFunction()
		defer bindings.DestroyScalarFunction(&f)
		bindings.ScalarFunctionSetName(f, g.name)
		for i, id := range o.parameters {
			t := bindings.CreateLogicalType(id)
			bindings.ScalarFunctionAddParameter(f, t)
			if i == 0 {
				bindings.ScalarFunctionSetReturnType(f, t)
			}
			bindings.DestroyLogicalType(&t)
		}
		if o.variadic {
			t := bindings.CreateLogicalType(bindings.TypeVarchar)
			bindings.ScalarFunctionSetVarargs(f, t)
			bindings.ScalarFunctionSetSpecialHandling(f)
			bindings.DestroyLogicalType(&t)
		}
		bindings.ScalarFunctionSetFunction(f, o.callback)
		bindings.AddScalarFunctionToSet(set, f)
	}
	if bindings.RegisterScalarFunctionSet(e.conn, set) == bindings.StateError {
		return fault.New(fault.Internal, "register function %s", g.name)
	}
	return nil
}

// call is one call of a guard: n rows of its arguments.
type call struct {
	info  bindings.FunctionInfo
	chunk bindings.DataChunk
	n     int
}

// guardCall sums what size gives for every row and hands the first argument on. Size is asked for rows with a NULL too.
func guardCall(info, input, output unsafe.Pointer, refusal string, bind func(c call) (size func(i int) int64)) {
	c := call{info: bindings.FunctionInfo{Ptr: info}, chunk: bindings.DataChunk{Ptr: input}}
	c.n = int(bindings.DataChunkGetSize(c.chunk))
	size, total := bind(c), int64(0)
	for i := range c.n {
		v := size(i)
		total += max(v, 0)
		if v > MaxValueBytes {
			bindings.ScalarFunctionSetError(c.info, refusal)
			return
		}
		if total > MaxVectorBytes {
			bindings.ScalarFunctionSetError(c.info, tooLongVector)
			return
		}
	}
	bindings.VectorReferenceVector(bindings.Vector{Ptr: output}, c.vector(0))
}

func (c call) vector(col int) bindings.Vector {
	return bindings.DataChunkGetVector(c.chunk, bindings.IdxT(col))
}

// columns returns the number of arguments.
func (c call) columns() int { return int(bindings.DataChunkGetColumnCount(c.chunk)) }

// validOf reports for a row whether the argument col is not NULL.
func (c call) validOf(col int) func(i int) bool {
	mask := bindings.VectorGetValidity(c.vector(col))
	return func(i int) bool { return mask == nil || *(*uint64)(unsafe.Add(mask, i/64*8))>>(i%64)&1 == 1 }
}

// validAll reports for a row whether none of its arguments is NULL.
func (c call) validAll() func(i int) bool {
	valid := make([]func(i int) bool, c.columns())
	for col := range valid {
		valid[col] = c.validOf(col)
	}
	return func(i int) bool {
		for _, v := range valid {
			if !v(i) {
				return false
			}
		}
		return true
	}
}

// text returns the texts of an argument by row, NULL as nothing.
func (c call) text(col int) func(i int) []byte {
	s, valid := values[stringT](c.vector(col), c.n), c.validOf(col)
	return func(i int) []byte {
		if !valid(i) {
			return nil
		}
		return s[i].bytes()
	}
}

// sum returns the bytes of all texts of a row from argument first on.
func (c call) sum(first int) func(i int) int64 {
	var texts []func(i int) []byte
	for col := first; col < c.columns(); col++ {
		texts = append(texts, c.text(col))
	}
	return func(i int) int64 {
		total := 0
		for _, t := range texts {
			total += len(t(i))
		}
		return int64(total)
	}
}

// product is a*b, saturated well above every bound; a is a length.
func product(a int, b int64) int64 {
	if b > MaxVectorBytes {
		b = MaxVectorBytes + 1
	}
	return int64(a) * b
}

//export msGuardText
func msGuardText(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 { return c.sum(0) })
}

//export msGuardSum
func msGuardSum(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 { return c.sum(0) })
}

//export msGuardRoom
func msGuardRoom(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		s, n, valid := c.text(0), values[int64](c.vector(1), c.n), c.validOf(1)
		return func(i int) int64 {
			if !valid(i) {
				return 0
			}
			return product(len(s(i)), n[i])
		}
	})
}

//export msGuardCount
func msGuardCount(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		n, size, valid := values[int64](c.vector(0), c.n), values[int64](c.vector(1), c.n), c.validAll()
		return func(i int) int64 {
			if !valid(i) {
				return 0
			}
			return product(int(size[i]), n[i])
		}
	})
}

//export msGuardReplace
func msGuardReplace(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		s, from, to := c.text(0), c.text(1), c.text(2)
		return func(i int) int64 {
			f, t := from(i), to(i)
			if len(f) == 0 || len(t) <= len(f) {
				return 0
			}
			return int64(len(s(i))) + product(bytes.Count(s(i), f), int64(len(t)-len(f)))
		}
	})
}

//export msGuardFormat
func msGuardFormat(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, badFormat, func(c call) func(int) int64 {
		f, arguments := c.text(0), c.sum(1)
		return func(i int) int64 {
			if dangerousFormat(f(i)) {
				return MaxValueBytes + 1
			}
			return product(places(f(i)), arguments(i))
		}
	})
}

//export msGuardPath
func msGuardPath(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, badPath, func(c call) func(int) int64 {
		p := c.text(0)
		return func(i int) int64 {
			if bytes.Contains(p(i), []byte("..")) {
				return MaxValueBytes + 1
			}
			return 0
		}
	})
}

//export msGuardNothing
func msGuardNothing(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(call) func(int) int64 {
		return func(int) int64 { return 0 }
	})
}

// wideFormat finds widths and precisions of more than three digits or taken from an argument, in the style of printf and of fmt.
var wideFormat = regexp.MustCompile(`%[^a-zA-Z%]*(\d{4}|\*)|\{[^}]*(\d{4}|\{)`)

func dangerousFormat(f []byte) bool {
	return len(f) > maxFormatBytes || places(f) > 2*maxVariadic || wideFormat.Match(bytes.ReplaceAll(f, []byte("{{"), nil))
}

// places counts at least the places of a format text that arguments fill.
func places(f []byte) int { return bytes.Count(f, []byte("%")) + bytes.Count(f, []byte("{")) }
