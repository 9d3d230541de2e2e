package esbulk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
	"github.com/millstream/millstream/internal/wire"
	"github.com/millstream/millstream/internal/wire/jsontext"
)

// Request is what a bulk request says outside of its body. All but Index is required.
type Request struct {
	Org      tenant.ID
	Database string
	Index    string        // of the path, for actions that name none; may be empty
	NewID    func() string // makes an id for a row that brought none
	// Admit, when set, is asked once for all rows of the request before the first batch is emitted; nothing is emitted before the body was
	// read to its end. Its error is Response.Refused and the error of every row. nil: rows are emitted while the body is read.
	Admit func(rows int) error
}

// Decode reads a body and hands its rows to emit, in batches of one stream each. An error of emit is marked on the items of its
// batch, and decoding goes on, except when the client has left or the time is over.
//
// An error means that the body was not read to its end: it is the reader's (of kind Invalid if it had none), TooLarge above
// Options.MaxBodyBytes or MaxItems, or one of Canceled and Deadline from emit. The response then has the items up to there; those
// with status 201 are stored.
func Decode(r io.Reader, req Request, opts wire.Options, emit wire.Emit) (Response, error) {
	opts = opts.WithDefaults()
	d := &decoder{req: req, opts: opts, body: wire.NewBody(r, opts.MaxLineBytes)}
	d.groups = newGroups(req, opts, emit, &d.resp)
	d.body.LimitTotal(opts.MaxBodyBytes)
	err := d.run()
	if err != nil {
		d.drop()
	}
	if d.resp.Result.Accepted == 0 {
		d.resp.Refused = d.groups.refused
	}
	return d.resp, err
}

type decoder struct {
	req    Request
	opts   wire.Options
	body   *wire.Body
	scan   jsontext.Scanner
	groups *groups
	resp   Response
}

func (d *decoder) run() error {
	_, err := d.body.Begin()
	for err == nil {
		var line wire.Line
		if line, err = d.body.NextLine(); err == nil {
			err = d.action(line)
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}
	if err := d.groups.flush(); err != nil {
		return err
	}
	return d.groups.deliver()
}

// drop takes back the promise of rows that were read but not handed over.
func (d *decoder) drop() {
	for _, i := range d.groups.drop() {
		d.resp.Items[i].refuse(http.StatusServiceUnavailable, typeUnavailable, "the request was not read to its end")
	}
}

// action takes an action line and what belongs to it.
func (d *decoder) action(line wire.Line) error {
	if !line.TooLong && len(bytes.TrimSpace(line.Text)) == 0 {
		return nil
	}
	if len(d.resp.Items) == MaxItems {
		return fault.New(fault.TooLarge, "the request has more than %d actions", MaxItems)
	}
	i := len(d.resp.Items)
	if line.TooLong {
		d.resp.Items = append(d.resp.Items, Item{Action: "index", Index: d.req.Index})
		d.refuseLong(i, line)
		return d.skipSource()
	}
	a, err := parseAction(&d.scan, line.Text)
	if err != nil {
		d.resp.Items = append(d.resp.Items, Item{Action: "index", Index: d.req.Index})
		d.refuse(i, typeArgument, wire.At(err, "line %d: malformed action", line.Number))
		return d.skipSource()
	}
	if a.index == "" {
		a.index = d.req.Index
	}
	d.resp.Items = append(d.resp.Items, Item{Action: a.name, Index: a.index, ID: a.id})
	if !a.hasSource() {
		d.refuse(i, typeArgument, wire.Reject(wire.BadValue, "rows are only added, %s is not supported", a.name))
		return nil
	}
	return d.source(i, a)
}

// source takes the document of action i.
func (d *decoder) source(i int, a action) error {
	line, err := d.body.NextLine()
	if errors.Is(err, io.EOF) {
		d.refuse(i, typeMissing, wire.Reject(wire.Malformed, "the body ends before the document"))
		return nil
	}
	if err != nil {
		d.refuse(i, typeUnavailable, wire.Reject(wire.Malformed, "the request was not read to its end"))
		return err
	}
	switch {
	case line.TooLong:
		d.refuseLong(i, line)
		return nil
	case !a.adds():
		d.refuse(i, typeArgument, wire.Reject(wire.BadValue, "rows are only added, %s is not supported", a.name))
		return nil
	case a.index == "":
		d.refuse(i, typeMissing, wire.Reject(wire.BadValue, "index is missing"))
		return nil
	}
	if err := signal.CheckName("index", a.index); err != nil {
		d.refuse(i, typeIndexName, wire.Reject(wire.BadValue, "%s", fault.Message(err)))
		return nil
	}
	rejected, err := d.groups.add(i, a.index, line.Text)
	if rejected != nil {
		d.refuse(i, typeParsing, wire.At(rejected, "line %d", line.Number))
	}
	return err
}

// skipSource drops the line behind an action that could not be read, unless it is an action.
func (d *decoder) skipSource() error {
	line, err := d.body.NextLine()
	if err != nil {
		return err
	}
	if line.TooLong {
		return nil
	}
	if _, err := parseAction(&d.scan, line.Text); err == nil {
		d.body.Unread()
	}
	return nil
}

func (d *decoder) refuse(i int, errorType string, err error) {
	d.resp.Items[i].refuse(http.StatusBadRequest, errorType, err.Error())
	d.resp.Result.Reject(i, err)
}

func (d *decoder) refuseLong(i int, line wire.Line) {
	where := fmt.Sprintf("line %d", line.Number)
	d.resp.Result.RejectLong(i, where, line.Size, d.opts.MaxLineBytes)
	reason := fmt.Sprintf("%s has %d bytes, the limit is %d (max_line_size)", where, line.Size, d.opts.MaxLineBytes)
	d.resp.Items[i].refuse(http.StatusRequestEntityTooLarge, typeTooLarge, reason)
}
