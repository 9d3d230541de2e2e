package duck

/*
extern void msGuardText(void *info, void *input, void *output);
extern void msGuardRoom(void *info, void *input, void *output);
extern void msGuardReplace(void *info, void *input, void *output);
extern void msGuardCount(void *info, void *input, void *output);
extern void msGuardFormat(void *info, void *input, void *output);
extern void msGuardPath(void *info, void *input, void *output);
extern void msGuardIndex(void *info, void *input, void *output);
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
//	ms_guard_room(s, n)        n times the bytes of s
//	ms_guard_replace(s, f, t)  s with every f replaced by t
//	ms_guard_count(n, bytes)   n elements of so many bytes
//	ms_guard_format(f)         a format text: short, small widths, few places
//	ms_guard_path(p)           a JSON path without the recursive step

const (
	tooLongText   = "the text or list that a function makes is limited to 1 MiB (100,000 elements)"
	tooLongVector = "the texts or lists that a function makes are limited to 128 MiB for 2048 rows"
	badFormat     = "the format text is longer than 1000 bytes, has more than 32 places, or a width of more than three digits"
	badPath       = "the step .. of a JSON path is not supported"
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
}

func guards() []guard {
	var text, blob, number bindings.Type = bindings.TypeVarchar, bindings.TypeBlob, bindings.TypeBigInt
	types := func(t ...bindings.Type) []bindings.Type { return t }
	return []guard{
		{"ms_guard_text", []overload{{types(text), C.msGuardText}, {types(blob), C.msGuardText}}},
		{"ms_guard_room", []overload{{types(text, number), C.msGuardRoom}, {types(blob, number), C.msGuardRoom}}},
		{"ms_guard_replace", []overload{{types(text, text, text), C.msGuardReplace}}},
		{"ms_guard_count", []overload{{types(number, number), C.msGuardCount}}},
		{"ms_guard_format", []overload{{types(text), C.msGuardFormat}}},
		{"ms_guard_path", []overload{{types(text), C.msGuardPath}, {types(number), C.msGuardIndex}}},
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

// guardCall sums what size gives for every row whose arguments are all valid and hands the first argument on.
func guardCall(info, input, output unsafe.Pointer, refusal string, bind func(c call) (size func(i int) int64)) {
	c := call{info: bindings.FunctionInfo{Ptr: info}, chunk: bindings.DataChunk{Ptr: input}}
	c.n = int(bindings.DataChunkGetSize(c.chunk))
	size, valid, total := bind(c), c.validity(), int64(0)
	for i := range c.n {
		if !valid(i) {
			continue
		}
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

// validity reports for a row whether none of its arguments is NULL.
func (c call) validity() func(i int) bool {
	var masks []unsafe.Pointer
	for col := range int(bindings.DataChunkGetColumnCount(c.chunk)) {
		if mask := bindings.VectorGetValidity(c.vector(col)); mask != nil {
			masks = append(masks, mask)
		}
	}
	return func(i int) bool {
		for _, m := range masks {
			if *(*uint64)(unsafe.Add(m, i/64*8))>>(i%64)&1 == 0 {
				return false
			}
		}
		return true
	}
}

// product is a*b, saturated well above every bound; a is a length.
func product(a uint32, b int64) int64 {
	if b > MaxVectorBytes {
		b = MaxVectorBytes + 1
	}
	return int64(a) * b
}

//export msGuardText
func msGuardText(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		s := values[stringT](c.vector(0), c.n)
		return func(i int) int64 { return int64(s[i].length) }
	})
}

//export msGuardRoom
func msGuardRoom(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		s, n := values[stringT](c.vector(0), c.n), values[int64](c.vector(1), c.n)
		return func(i int) int64 { return product(s[i].length, n[i]) }
	})
}

//export msGuardCount
func msGuardCount(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		n, size := values[int64](c.vector(0), c.n), values[int64](c.vector(1), c.n)
		return func(i int) int64 { return product(uint32(size[i]), n[i]) }
	})
}

//export msGuardReplace
func msGuardReplace(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, tooLongText, func(c call) func(int) int64 {
		s, from, to := values[stringT](c.vector(0), c.n), values[stringT](c.vector(1), c.n), values[stringT](c.vector(2), c.n)
		return func(i int) int64 {
			f := from[i].length
			if f == 0 || to[i].length <= f {
				return 0
			}
			count := bytes.Count(s[i].bytes(), from[i].bytes())
			return int64(s[i].length) + product(uint32(count), int64(to[i].length-f))
		}
	})
}

//export msGuardFormat
func msGuardFormat(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, badFormat, func(c call) func(int) int64 {
		f := values[stringT](c.vector(0), c.n)
		return func(i int) int64 { return refuse(dangerousFormat(f[i].bytes())) }
	})
}

//export msGuardPath
func msGuardPath(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, badPath, func(c call) func(int) int64 {
		p := values[stringT](c.vector(0), c.n)
		return func(i int) int64 { return refuse(bytes.Contains(p[i].bytes(), []byte(".."))) }
	})
}

//export msGuardIndex
func msGuardIndex(info, input, output unsafe.Pointer) {
	guardCall(info, input, output, badPath, func(call) func(int) int64 {
		return func(int) int64 { return 0 } // an array index is as good as any other
	})
}

// refuse is a size that is over the bound, or none.
func refuse(yes bool) int64 {
	if yes {
		return MaxValueBytes + 1
	}
	return 0
}

// wideFormat finds widths and precisions of more than three digits or taken from an argument, in the style of printf and of fmt.
var wideFormat = regexp.MustCompile(`%[^a-zA-Z%]*([0-9]{4}|\*)|\{[^}]*([0-9]{4}|\{)`)

func dangerousFormat(f []byte) bool {
	if len(f) > maxFormatBytes {
		return true
	}
	f = bytes.ReplaceAll(f, []byte("{{"), nil)
	return bytes.Count(f, []byte("%"))+bytes.Count(f, []byte("{")) > 2*maxVariadic || wideFormat.Match(f)
}
