package sandbox

import (
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/org/cdkd-action/internal/sandbox/cloudcontrol"
)

const controlPath = "/_sandbox/"

// control answers the requests by which another process steers the sandbox:
//
//	GET    /_sandbox/log                                      the requests so far
//	DELETE /_sandbox/log                                      forgets those done
//	GET    /_sandbox/await?n=&service=&action=&mentions=&state=   waits for n of them
//	POST   /_sandbox/faults                                   adds a Fault (JSON)
//	DELETE /_sandbox/faults[?id=]                             ends one or all
//	POST   /_sandbox/release[?id=]                            lets go what is held
//	POST   /_sandbox/latency?service=&action=&d=100ms         sets a latency
//	POST   /_sandbox/progress?d=2s                            Cloud Control's delay
//	POST   /_sandbox/fail                                     makes a handler of Cloud Control fail (JSON)
//	GET    /_sandbox/resources                                what Cloud Control made
//
// Requests to it are not in the log.
func (s *Sandbox) control(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	switch what := r.Method + " " + strings.TrimPrefix(r.URL.Path, controlPath); what {
	case "GET log":
		writeJSON(w, s.Log())
	case "DELETE log":
		s.ClearLog()
		writeJSON(w, struct{}{})
	case "GET await":
		s.controlAwait(w, r)
	case "POST faults":
		var f Fault
		if readJSON(w, r, &f) {
			writeJSON(w, map[string]string{"ID": s.AddFault(f)})
		}
	case "POST fail":
		var f cloudcontrol.Failure
		if readJSON(w, r, &f) {
			s.CloudControl.Fail(f)
			writeJSON(w, struct{}{})
		}
	case "DELETE faults":
		writeJSON(w, map[string]bool{"Found": s.RemoveFault(q.Get("id"))})
	case "POST release":
		writeJSON(w, map[string]bool{"Found": s.Release(q.Get("id"))})
	case "POST latency", "POST progress":
		d, err := time.ParseDuration(q.Get("d"))
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if strings.HasSuffix(what, "latency") {
			s.SetLatency(q.Get("service"), q.Get("action"), d)
		} else {
			s.CloudControl.SetDelay(d)
		}
		writeJSON(w, struct{}{})
	case "GET resources":
		writeJSON(w, s.CloudControl.Resources())
	default:
		http.Error(w, "the sandbox has no "+what, http.StatusNotFound)
	}
}

func (s *Sandbox) controlAwait(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	n, err := strconv.Atoi(q.Get("n"))
	if err != nil {
		http.Error(w, "n must be a number of requests", http.StatusBadRequest)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	defer context.AfterFunc(s.life, cancel)()
	found, err := s.Await(ctx, n, func(req Request) bool {
		return (q.Get("service") == "" || q.Get("service") == req.Service) &&
			(q.Get("action") == "" || q.Get("action") == req.Action) &&
			(q.Get("mentions") == "" || strings.Contains(req.Resource, q.Get("mentions"))) &&
			(q.Get("state") == "" || q.Get("state") == string(req.State))
	})
	if err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	writeJSON(w, found)
}

// readJSON reads a body, strictly: a fault with a typing error would never strike.
func readJSON(w http.ResponseWriter, r *http.Request, v any) bool {
	dec := json.NewDecoder(r.Body)
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return false
	}
	return true
}

func writeJSON(w http.ResponseWriter, v any) {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(append(text, '\n'))
}
