package httpapi

import (
	"net/http"

	"github.com/go-chi/chi/v5"
)

// elasticVersion is the release whose bulk and template calls are answered: shippers of the 7 and 8 series accept it.
const elasticVersion = "8.17.0"

// elastic adds the bulk endpoints and what Filebeat, Logstash, Vector and Fluent Bit ask before they send to them. The answers
// say that templates, pipelines and lifecycle policies exist, because a stream needs none.
func (a *api) elastic(r chi.Router) {
	for _, prefix := range []string{"", "/api/v1/intake"} {
		for _, method := range []string{http.MethodPost, http.MethodPut} {
			r.Method(method, prefix+"/_bulk", http.HandlerFunc(a.bulk))
			r.Method(method, prefix+"/{index}/_bulk", http.HandlerFunc(a.bulk))
		}
		root := prefix
		if root == "" {
			root = "/"
		}
		r.Get(root, a.elasticInfo)
		r.Head(root, a.elasticInfo)
		r.Get(prefix+"/_license", a.probe(map[string]any{"license": map[string]any{"status": "active", "type": "basic", "uid": "millstream"}}))
		r.Get(prefix+"/_xpack", a.probe(map[string]any{
			"license":  map[string]any{"status": "active", "type": "basic", "mode": "basic"},
			"features": map[string]any{"ilm": map[string]any{"available": false, "enabled": false}},
		}))
		r.Get(prefix+"/_cluster/health", a.probe(map[string]any{"cluster_name": "millstream", "status": "green", "timed_out": false}))
		r.Get(prefix+"/_nodes/*", a.probe(map[string]any{
			"_nodes": map[string]any{"total": 1, "successful": 1, "failed": 0}, "nodes": map[string]any{},
		}))
		for _, path := range []string{
			"/_template/*", "/_index_template/*", "/_component_template/*", "/_ilm/policy/*", "/_ingest/pipeline/*", "/_data_stream/*",
			"/_alias/*",
		} {
			r.Get(prefix+path, a.probe(map[string]any{}))
			r.Head(prefix+path, a.probe(map[string]any{}))
			r.Put(prefix+path, a.probe(map[string]any{"acknowledged": true}))
		}
		// A stream springs from its first row, so an index or alias that is asked for or made is there.
		r.Handle(prefix+"/{index}", http.HandlerFunc(noSuchPath)) // of all other methods
		r.Head(prefix+"/{index}", a.probe(map[string]any{}))
		r.Put(prefix+"/{index}", a.probe(map[string]any{"acknowledged": true, "shards_acknowledged": true}))
	}
}

// elasticHeader marks an answer as one of the product whose clients check it.
func elasticHeader(w http.ResponseWriter) { w.Header().Set("X-Elastic-Product", "Elasticsearch") }

func (a *api) elasticInfo(w http.ResponseWriter, r *http.Request) {
	a.probe(map[string]any{
		"name": "millstream", "cluster_name": "millstream", "cluster_uuid": "millstream", "tagline": "You Know, for Search",
		"version": map[string]any{
			"number": elasticVersion, "build_flavor": "default", "build_type": "millstream " + a.Version,
			"lucene_version": "9.12.0", "minimum_wire_compatibility_version": "7.17.0", "minimum_index_compatibility_version": "7.0.0",
		},
	})(w, r)
}

// probe answers a fixed object to a caller that is known.
func (a *api) probe(body map[string]any) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if _, err := a.writer(r); err != nil {
			elasticError(w, r, err)
			return
		}
		elasticHeader(w)
		writeJSON(w, http.StatusOK, body)
	}
}
