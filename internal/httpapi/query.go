package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/millstream/millstream/internal/answer"
	"github.com/millstream/millstream/internal/auth"
	"github.com/millstream/millstream/internal/fault"
	"github.com/millstream/millstream/internal/promapi"
	"github.com/millstream/millstream/internal/signal"
	"github.com/millstream/millstream/internal/tenant"
)

// maxStatementBytes bounds the body of a query request.
const maxStatementBytes = 1 << 20

// metaTrailer carries the meta object of formats that have no place for it.
const metaTrailer = "X-Millstream-Meta"

func (a *api) query(r chi.Router) {
	r.Post("/api/v1/query", a.runQuery)
	r.Get("/api/v1/query", a.runQuery)
}

// queryBody is the request's JSON form. Times are RFC 3339, numbers of s, ms, µs or ns, or now, now-1h, now+5m.
type queryBody struct {
	Language  string          `json:"language"`
	Statement string          `json:"statement"`
	Database  string          `json:"database"`
	Start     json.RawMessage `json:"start"`
	End       json.RawMessage `json:"end"`
	Step      json.RawMessage `json:"step"`
	Limit     int             `json:"limit"`
}

func (a *api) runQuery(w http.ResponseWriter, r *http.Request) {
	q, format, err := a.parseQuery(r)
	if err != nil {
		writeError(w, r, err)
		return
	}
	result, err := a.ask(r.Context(), q)
	if err != nil {
		writeError(w, r, err)
		return
	}
	defer result.Close() //nolint:errcheck // its errors were those of Next
	first, err := result.Next(r.Context())
	if err != nil && !errors.Is(err, io.EOF) {
		writeError(w, r, err)
		return
	}
	h := w.Header()
	h.Set("Content-Type", format.ContentType())
	h.Set("X-Content-Type-Options", "nosniff")
	aw := answer.Writer{
		W: w, Format: format, Meta: result.Meta, Flush: func() { _ = http.NewResponseController(w).Flush() },
		Problem: func(err error) answer.Problem { return problem(r, err) },
	}
	if format == answer.CSV || format == answer.Arrow {
		h.Set("Trailer", metaTrailer)
		aw.Trailer = func(m answer.Meta) {
			if text, err := json.Marshal(m); err == nil {
				h.Set(metaTrailer, string(text))
			}
		}
	}
	if err := aw.Write(r.Context(), result, first); err != nil {
		noteError(r.Context(), err)
	}
}

// ask answers a question in its language.
func (a *api) ask(ctx context.Context, q answer.Question) (answer.Result, error) {
	if q.Language == promapi.Language {
		return promapi.Ask(ctx, a.PromQL, q)
	}
	return a.Querier.Ask(ctx, q)
}

// reader authenticates a request that reads, of one org or of several.
func (a *api) reader(r *http.Request) (auth.Principal, error) { return a.who(r, auth.Read) }

// single authenticates a request that reads of one org.
func (a *api) single(r *http.Request) (auth.Principal, error) {
	p, err := a.reader(r)
	if err == nil && len(p.Orgs) > 1 {
		err = fault.New(fault.Invalid, "%s names %d orgs; this is about one", auth.OrgHeader, len(p.Orgs))
	}
	return p, err
}

// several returns the orgs of a request that reads more than one, else nothing.
func several(p auth.Principal) []tenant.ID {
	if len(p.Orgs) > 1 {
		return p.Orgs
	}
	return nil
}

func (a *api) parseQuery(r *http.Request) (q answer.Question, format answer.Format, err error) {
	p, err := a.queryReader(r)
	if err != nil {
		return q, format, err
	}
	q.Org, q.Orgs, q.Actor, q.ActorPath = p.Org(), several(p), p.Actor, answer.ParseActorPath(r.Header)
	q.Change, q.Admin = p.Rights.Has(auth.Write), p.Rights.Has(auth.Admin)
	if format, err = answer.ParseAccept(r.Header.Get("Accept")); err != nil {
		return q, format, err
	}
	body, err := readQuery(r)
	if err != nil {
		return q, format, err
	}
	if body.Database == "" {
		body.Database = r.Header.Get(databaseHeader)
	}
	if f := r.URL.Query().Get("format"); f != "" {
		if format, err = parseFormat(f); err != nil {
			return q, format, err
		}
	}
	err = body.fill(&q)
	return q, format, err
}

// readQuery reads the request in the form that it has: parameters of a GET, a JSON object, plain SQL, or a form. A body that begins
// with a brace is JSON whatever its type says, since curl calls everything a form.
func readQuery(r *http.Request) (queryBody, error) {
	if r.Method != http.MethodPost {
		return formQuery(r.URL.Query())
	}
	data, err := io.ReadAll(io.LimitReader(r.Body, maxStatementBytes+1))
	if err != nil {
		return queryBody{}, fault.Wrap(fault.Invalid, err, "read the request")
	}
	if len(data) > maxStatementBytes {
		return queryBody{}, fault.New(fault.TooLarge, "the request is larger than %d bytes", maxStatementBytes)
	}
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case strings.HasPrefix(strings.TrimSpace(string(data)), "{"):
		return decodeQuery(r.URL.Query(), data)
	case media == "application/sql", media == "text/plain":
		body, err := formQuery(r.URL.Query())
		body.Statement = string(data)
		return body, err
	case media == "application/x-www-form-urlencoded":
		form, err := url.ParseQuery(string(data))
		if err != nil {
			return queryBody{}, fault.Wrap(fault.Invalid, err, "read the form")
		}
		for name, values := range r.URL.Query() {
			form[name] = append(form[name], values...)
		}
		return formQuery(form)
	default:
		return decodeQuery(r.URL.Query(), data)
	}
}

func decodeQuery(parameters url.Values, data []byte) (queryBody, error) {
	var body queryBody
	if err := checkParameters(parameters, "format", "database"); err != nil {
		return body, err
	}
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&body); err != nil {
		return body, fault.Wrap(fault.Invalid, err, "the request is no query object: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	if body.Database == "" {
		body.Database = parameters.Get("database")
	}
	return body, nil
}

// formQuery reads the parameters of a GET or of a form.
func formQuery(v url.Values) (queryBody, error) {
	var body queryBody
	err := checkParameters(v, "language", "statement", "query", "sql", "database", "db", "start", "end", "step", "limit", "format")
	if err != nil {
		return body, err
	}
	first := func(names ...string) string {
		for _, n := range names {
			if s := v.Get(n); s != "" {
				return s
			}
		}
		return ""
	}
	body = queryBody{
		Language: v.Get("language"), Statement: first("statement", "query", "sql"), Database: first("database", "db"),
		Start: rawText(v.Get("start")), End: rawText(v.Get("end")), Step: rawText(v.Get("step")),
	}
	if s := v.Get("limit"); s != "" {
		n, err := strconv.Atoi(s)
		if err != nil {
			return body, fault.New(fault.Invalid, "limit: %.32q is no whole number", s)
		}
		body.Limit = n
	}
	return body, nil
}

func rawText(s string) json.RawMessage {
	if s == "" {
		return nil
	}
	return signal.AppendJSONString(nil, []byte(s))
}

// checkParameters refuses parameters that nobody reads.
func checkParameters(v url.Values, known ...string) error {
	for name := range v {
		if !slices.Contains(known, name) {
			return fault.New(fault.Invalid, "unknown parameter %.64q (known: %s)", name, strings.Join(known, ", "))
		}
	}
	return nil
}

func parseFormat(name string) (answer.Format, error) {
	switch name {
	case "json":
		return answer.JSON, nil
	case "ndjson":
		return answer.NDJSON, nil
	case "csv":
		return answer.CSV, nil
	case "arrow":
		return answer.Arrow, nil
	default:
		return answer.JSON, fault.New(fault.Invalid, "format %.32q is not json, ndjson, csv or arrow", name)
	}
}

// fill checks the body and puts it into q.
func (b *queryBody) fill(q *answer.Question) error {
	switch b.Language {
	case "", "sql":
		if len(b.Step) > 0 && string(b.Step) != "null" {
			return fault.New(fault.Invalid, "step does not apply to sql")
		}
	case promapi.Language:
		var err error
		if q.Step, err = promapi.StepText(b.Step); err != nil {
			return err
		}
		q.Language = b.Language
	default:
		return fault.New(fault.Invalid, "language %.32q is not built here (sql and promql are)", b.Language)
	}
	if strings.TrimSpace(b.Statement) == "" {
		return fault.New(fault.Invalid, "statement is empty")
	}
	if b.Limit < 0 {
		return fault.New(fault.Invalid, "limit is negative")
	}
	q.Statement, q.Limit, q.Database = b.Statement, b.Limit, b.Database
	if q.Database == "" {
		q.Database = signal.DefaultDatabase
	}
	if err := signal.CheckName("database", q.Database); err != nil {
		return err
	}
	now := time.Now()
	var err error
	if q.Start, err = parseQueryTime("start", b.Start, now); err != nil {
		return err
	}
	if q.End, err = parseQueryTime("end", b.End, now); err != nil {
		return err
	}
	if !q.Start.IsZero() && !q.End.IsZero() && q.End.Before(q.Start) {
		return fault.New(fault.Invalid, "end lies before start")
	}
	return nil
}

// parseQueryTime reads a time of a query; absent is the zero time.
func parseQueryTime(name string, raw json.RawMessage, now time.Time) (time.Time, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return time.Time{}, nil
	}
	text := string(raw)
	if raw[0] == '"' {
		if err := json.Unmarshal(raw, &text); err != nil {
			return time.Time{}, fault.Wrap(fault.Invalid, err, "%s", name)
		}
	}
	if rest, ok := strings.CutPrefix(text, "now"); ok {
		d, err := parseOffset(strings.TrimSpace(rest))
		if err != nil {
			return time.Time{}, fault.Wrap(fault.Invalid, err, "%s: %.64q is no time relative to now (now-1h is)", name, text)
		}
		return now.Add(d), nil
	}
	nanos, err := signal.ParseTime([]byte(text))
	if err != nil {
		return time.Time{}, fault.Wrap(fault.Invalid, err, "%s: %s", name, fault.Message(err))
	}
	return time.Unix(0, nanos).UTC(), nil
}

// parseOffset reads "", "-1h30m", "+2d", "-1w": Go's units, days and weeks.
func parseOffset(s string) (time.Duration, error) {
	if s == "" {
		return 0, nil
	}
	unit := time.Duration(0)
	switch s[len(s)-1] {
	case 'd':
		unit = 24 * time.Hour
	case 'w':
		unit = 7 * 24 * time.Hour
	default:
		if s[0] != '-' && s[0] != '+' {
			return 0, errors.New("no sign")
		}
		return time.ParseDuration(s)
	}
	n, err := strconv.Atoi(s[:len(s)-1])
	return time.Duration(n) * unit, err
}
