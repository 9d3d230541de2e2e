package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/compress/snappy"

	"github.com/millstream/millstream/internal/backfill"
)

// Formats of what is imported.
const (
	formatAuto        = "auto"
	formatJSON        = "json"
	formatOpenMetrics = "openmetrics"
	formatBlocks      = "blocks"
)

// metricParts returns what an input holds in samples, nil when it is JSON lines.
func metricParts(format, name string) ([]backfill.Part, error) {
	if format == formatAuto {
		format = formatJSON
		if info, err := os.Stat(name); name != "-" && err == nil && info.IsDir() {
			format = formatBlocks
		} else if strings.HasSuffix(name, ".om") || strings.HasSuffix(name, ".openmetrics") {
			format = formatOpenMetrics
		}
	}
	switch format {
	case formatJSON:
		return nil, nil
	case formatBlocks:
		return backfill.Blocks(name)
	case formatOpenMetrics:
		p, err := backfill.OpenMetrics(name)
		if err != nil {
			return nil, err
		}
		return []backfill.Part{p}, nil
	default:
		return nil, usagef("--format is %q, not one of %s, %s, %s, %s", format, formatAuto, formatJSON, formatOpenMetrics, formatBlocks)
	}
}

// sampleState is how far the import of samples is. A request whose answer is missing is sent again: the server drops a sample that it has,
// and hides one that it has twice.
type sampleState struct {
	Version  int                  `json:"version"`
	Target   importTarget         `json:"target"`
	Parts    map[string]partState `json:"parts"` // by backfill.Part.ID
	Accepted int64                `json:"accepted"`
	Rejected int64                `json:"rejected"`
}

// partState is how far one part is.
type partState struct {
	Samples int64 `json:"samples"` // from its start that are stored or refused
	Done    bool  `json:"done,omitempty"`
}

// sampleImport is the import of one file or folder of samples.
type sampleImport struct {
	options importOptions
	client  *client
	name    string
	parts   []backfill.Part
	out     io.Writer

	state    sampleState
	store    *stateStore
	progress *progress
	stored   int64 // in this run
	listed   int   // reasons shown so far
	settled  int64 // samples of parts before the current one
}

func (r *sampleImport) run(ctx context.Context) error {
	if err := r.restore(); err != nil {
		return err
	}
	var done, total int64
	for _, p := range r.parts {
		total += p.Samples()
		done += r.state.Parts[p.ID()].Samples
	}
	r.progress = newProgress(r.out, r.name, done, total, false)
	var err error
	for _, p := range r.parts {
		if err == nil {
			err = r.part(ctx, p)
		}
		r.settled += r.state.Parts[p.ID()].Samples
	}
	r.progress.finish()
	r.summary(err)
	return err
}

// restore takes up the state of an earlier run.
func (r *sampleImport) restore() error {
	var err error
	if r.store, err = newStateStore(strings.TrimRight(r.name, string(os.PathSeparator)), r.options.stateDir); err != nil {
		return err
	}
	if r.options.restart {
		return nil
	}
	text, err := os.ReadFile(r.store.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read how far the import is: %w", err)
	}
	var old sampleState
	if err := json.Unmarshal(text, &old); err != nil || old.Version != stateVersion || old.Parts == nil {
		return fmt.Errorf("%s tells of no import that this program can go on with (--restart begins again)", r.store.path)
	}
	if old.Target != r.state.Target {
		return usagef("%s: was imported into %s, org %q, database %q (--restart begins again, --state keeps apart)",
			r.name, old.Target.Addr, old.Target.Org, old.Target.Database)
	}
	r.state = old
	return nil
}

// part sends what is left of a part.
func (r *sampleImport) part(ctx context.Context, p backfill.Part) error {
	at := r.state.Parts[p.ID()]
	if at.Done {
		return nil
	}
	request := newSampleRequest()
	flush := func() error {
		if request.samples == 0 && request.refused == 0 {
			return nil
		}
		if err := r.send(ctx, request); err != nil {
			return err
		}
		at.Samples += request.samples + request.refused
		r.state.Parts[p.ID()] = at
		r.progress.at(r.settled+at.Samples, r.stored)
		request.reset()
		return r.store.write(r.state)
	}
	err := p.Each(ctx, at.Samples, func(s *backfill.Sample) error {
		request.add(s)
		if request.samples >= int64(r.options.batchRows) || request.bytes >= r.options.batchBytes {
			return flush()
		}
		return nil
	}, func(reason string) {
		request.refused++
		r.refuse(1, reason)
	})
	if err != nil {
		return err
	}
	if err := flush(); err != nil {
		return err
	}
	at.Done = true
	r.state.Parts[p.ID()] = at
	return r.store.write(r.state)
}

// send brings the request to the server.
func (r *sampleImport) send(ctx context.Context, q *sampleRequest) error {
	if q.samples == 0 {
		return nil
	}
	body, err := q.marshal()
	if err != nil {
		return err
	}
	header := http.Header{
		"Content-Type":          {"application/x-protobuf;proto=io.prometheus.write.v2.Request"},
		"Content-Encoding":      {"snappy"},
		"X-Millstream-Backfill": {"true"},
	}
	packed := snappy.Encode(nil, body)
	return newRetrier(r.options.retryFor, r.progress.say).do(ctx, func() error {
		_, answer, err := r.client.exchange(ctx, "/api/v1/write", packed, header)
		written, ok := writtenOf(answer)
		var api *apiError
		partly := ok && errors.As(err, &api) && api.Status == http.StatusBadRequest
		switch {
		case err != nil && !partly:
			return err
		case !ok:
			return errors.New("the server does not say how many samples it has stored: it is no Millstream of this version")
		}
		r.stored += written
		r.state.Accepted += written
		if left := q.samples - written; left > 0 && partly {
			r.refuse(left, api.Message)
		}
		return nil
	})
}

// writtenOf reads how many samples of a request are stored.
func writtenOf(h http.Header) (int64, bool) {
	samples, err := strconv.ParseInt(h.Get("X-Prometheus-Remote-Write-Samples-Written"), 10, 64)
	if err != nil {
		return 0, false
	}
	histograms, err := strconv.ParseInt(h.Get("X-Prometheus-Remote-Write-Histograms-Written"), 10, 64)
	return samples + histograms, err == nil
}

// refuse counts samples that are not stored and shows the first reasons.
func (r *sampleImport) refuse(n int64, reason string) {
	const most = 10
	r.state.Rejected += n
	r.listed++
	if r.listed <= most {
		r.progress.say("%s: %s refused: %s", r.name, plural(n, "sample"), printable(reason))
	}
}

func (r *sampleImport) summary(failed error) {
	took := roundedTime(time.Since(r.progress.started))
	switch {
	case failed != nil:
		fmt.Fprintf(r.out, "%s: %s stored so far\n", r.name, plural(r.state.Accepted, "sample"))
	case r.stored == 0 && r.state.Accepted > 0:
		fmt.Fprintf(r.out, "%s: nothing new: its %s are stored already (%s; --restart loads them again)\n", r.name,
			plural(r.state.Accepted, "sample"), r.store.path)
	default:
		text := fmt.Sprintf("%s: %s stored in %v", r.name, plural(r.stored, "sample"), took)
		if before := r.state.Accepted - r.stored; before > 0 {
			text += fmt.Sprintf(", %s before", plural(before, "sample"))
		}
		if r.state.Rejected > 0 {
			text += fmt.Sprintf("; %s refused", plural(r.state.Rejected, "sample"))
		}
		fmt.Fprintln(r.out, text)
	}
}
