// Package pyroscope asks a Pyroscope for what 'stemma collect' has pushed to it.
package pyroscope

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	pprof "github.com/google/pprof/profile"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/patience"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/server"
	"github.com/stemma-go/stemma/cmd/stemma-fleet/internal/sink"
	"github.com/stemma-go/stemma/internal/command/outside"
	"github.com/stemma-go/stemma/internal/humanize"
	"github.com/stemma-go/stemma/profile"
)

// A Query is for what some services have counted in some time.
type Query struct {
	Service  string // "" if there is none in the query
	Selector string // which series
	From     time.Time
	Until    time.Time

	server *server.Server
	text   string    // the URL
	asked  time.Time // now
}

// form is what [Parse] takes.
const form = `pyroscope://HOST:PORT?service=NAME&from=24h, with until=TIME, or with query={LABEL="VALUE"} for service=NAME`

// usual is how long ago a query begins that does not say when.
const usual = time.Hour

// lookback is how old may be what Pyroscope answers, unless it is told otherwise. It leaves out what is older.
const lookback = 7 * 24 * time.Hour

// Parse returns the query that a URL is.
func Parse(text string, now time.Time) (*Query, error) {
	address, question, _ := strings.Cut(text, "?")
	scheme, rest, ok := strings.Cut(address, "://")
	scheme, known := map[string]string{"pyroscope": "http", "pyroscope+https": "https"}[scheme]
	if !ok || !known {
		return nil, fmt.Errorf("want %s", form)
	}
	if key, _, _ := strings.Cut(question, "="); strings.Contains(key, "@") { // what is before it is of a password
		return nil, fmt.Errorf("in a password %%3F stands for ?: want %s", form)
	}
	q := &Query{From: now.Add(-usual), Until: now, text: text, asked: now}
	var err error
	if q.server, _, err = server.NewPyroscope(scheme + "://" + rest); err != nil {
		return nil, fmt.Errorf("%w: want %s", err, form)
	}
	q.server.Patience = patience.Usual
	// A plus stands for itself, as in {zone=~"eu.+"}. Forms of browsers have it for a space.
	values, err := url.ParseQuery(strings.ReplaceAll(question, "+", "%2B"))
	if err != nil {
		return nil, fmt.Errorf("%w: want %s", err, form)
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		value := values.Get(key)
		switch key {
		case "service":
			q.Service = value
		case "query":
			q.Selector = value
		case "from":
			q.From, err = moment(value, now)
		case "until":
			q.Until, err = moment(value, now)
		default:
			err = fmt.Errorf("want %s", form)
		}
		if err == nil && len(values[key]) > 1 {
			err = fmt.Errorf("there is another one, %s; a query with =~ selects several", values[key][1])
		}
		if err != nil {
			return nil, fmt.Errorf("%s=%s: %w", key, value, err)
		}
	}
	if (q.Service == "") == (q.Selector == "") {
		return nil, fmt.Errorf("want one of service and query: %s", form)
	}
	if !q.Until.After(q.From) {
		return nil, fmt.Errorf("until %s is not after from %s", stamp(q.Until), stamp(q.From))
	}
	if q.Selector == "" {
		q.Selector = fmt.Sprintf("{service_name=%q}", q.Service)
	}
	return q, nil
}

// moment returns a time as other flags take it, or as Grafana writes it: now, now-24h.
func moment(text string, now time.Time) (time.Time, error) {
	if text == "now" {
		return now, nil
	}
	t, err := outside.Moment(strings.TrimPrefix(text, "now-"), now)
	if err == nil && t.IsZero() {
		err = errors.New("no time")
	}
	return t, err
}

// stamp returns a time as messages have it.
func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// String names the query, without credentials.
func (q *Query) String() string {
	return fmt.Sprintf("%s, %s from %s to %s", q.server.Name, q.Selector, stamp(q.From), stamp(q.Until))
}

// Identity tells the query from others, also from the same URL of another tenant. It may have credentials in it.
func (q *Query) Identity() string { return q.text + " " + q.server.Account() }

// maxAnswer is how much of an answer is read.
const maxAnswer = 2 << 30

// Fetch returns the sum of what the series of a query have counted, as one profile.
func (q *Query) Fetch(ctx context.Context) (*profile.Profile, error) {
	from, kinds, err := q.series(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", q, err)
	}
	metrics := make([]profile.Metric, len(kinds))
	for i, kind := range kinds {
		metrics[i] = kind.metric
	}
	b := newBuilder(*from, metrics)
	answers := make([]*pprof.Profile, len(kinds))
	for i, kind := range kinds {
		if answers[i], err = q.merged(ctx, kind.id); err == nil {
			err = b.learn(answers[i], kind.metric)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", q, kind.id, err)
		}
	}
	if !slices.ContainsFunc(answers, func(p *pprof.Profile) bool { return len(p.Sample) > 0 }) {
		return nil, fmt.Errorf("%s: nothing of stemma at that time, but not far from it", q)
	}
	for i, kind := range kinds {
		b.add(answers[i], kind.metric)
		answers[i] = nil
	}
	return b.profile(), nil
}

// A kind is a type of profile, and the metric that it is here.
type kind struct {
	id     string // NAME:METRIC:UNIT:PERIOD:UNIT
	metric profile.Metric
}

// kindOf returns the type of profile with a name. ok is false for one that stemma has not pushed.
func kindOf(id string) (k kind, ok bool) {
	parts := strings.Split(id, ":")
	if len(parts) != 5 || parts[0] != "stemma" && parts[0] != "stemma_sampled" {
		return kind{}, false
	}
	name, sampled := sink.PyroscopeMetric(parts[1]), parts[0] == "stemma_sampled"
	k = kind{id, profile.OwnMetric(name, parts[2])}
	k.metric.Sampled = sampled
	for _, m := range profile.Metrics {
		if m.Name == name && m.Sampled == sampled {
			k.metric = m
		}
	}
	k.metric.Weighted = false // the server has sums, and not what they were made of
	k.metric.PerCounter = perCounter(k.metric)
	return k, true
}

// series asks which types of profiles there are, and of what. Pyroscope answers for whole blocks, which have an hour or
// more: not all of that need be of the time of the query.
func (q *Query) series(ctx context.Context) (*profile.Process, []kind, error) {
	labels := []string{"__profile_type__", "service_name", "go_version", "engine", "run"}
	sets, err := q.sets(ctx, q.Selector, labels)
	if err != nil {
		return nil, nil, err
	}
	values := make(map[string]map[string]bool)
	for _, name := range labels {
		values[name] = make(map[string]bool)
	}
	for _, set := range sets {
		if _, ok := kindOf(set["__profile_type__"]); ok {
			for name, value := range set {
				if values[name] != nil {
					values[name][value] = true
				}
			}
		}
	}
	var kinds []kind
	from := &profile.Process{Args: []string{strings.Join(slices.Sorted(maps.Keys(values["service_name"])), "+")},
		Start: q.From, GoVersion: only(values["go_version"]), Engine: only(values["engine"])}
	from.Notes = append(from.Notes, fmt.Sprintf("the sum of at most %s in %s; what the records lack is not known there",
		humanize.Plural(len(values["run"]), "run"), q))
	if q.From.Before(q.asked.Add(-lookback)) {
		from.Notes = append(from.Notes, "what was counted more than a week ago may be missing: Pyroscope leaves it "+
			"out, unless it has another -querier.max-query-lookback")
	}
	for _, id := range slices.Sorted(maps.Keys(values["__profile_type__"])) { // stemma before stemma_sampled
		k, _ := kindOf(id)
		if i := slices.IndexFunc(kinds, func(had kind) bool { return had.metric.Name == k.metric.Name }); i >= 0 {
			from.Notes = append(from.Notes, fmt.Sprintf("%s is left out: %s is here", id, kinds[i].id))
			continue
		}
		kinds = append(kinds, k)
	}
	if len(kinds) == 0 {
		return nil, nil, q.nothing(ctx)
	}
	return from, kinds, nil
}

// only returns the one value of a set, "" if it has several.
func only(set map[string]bool) string {
	if len(set) != 1 {
		return ""
	}
	return slices.Collect(maps.Keys(set))[0]
}

// nothing returns the error of a query without an answer, which names the services that there are.
func (q *Query) nothing(ctx context.Context) error {
	sets, err := q.sets(ctx, `{__name__=~"stemma.*"}`, []string{"service_name"})
	if err != nil {
		return err
	}
	var names []string
	for _, set := range sets {
		names = append(names, set["service_name"])
	}
	slices.Sort(names)
	names = slices.Compact(names)
	if len(names) == 0 {
		return errors.New("nothing of stemma at that time; 'stemma collect -to pyroscope=URL' pushes it there")
	}
	const most = 20
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("nothing of stemma; at that time there is something of %s%s",
		profile.Printable(strings.Join(names, ", ")), more)
}

// sets returns the labels of the series that a selector selects, those with some names.
func (q *Query) sets(ctx context.Context, selector string, names []string) ([]map[string]string, error) {
	body, err := json.Marshal(map[string]any{"matchers": []string{selector}, "labelNames": names,
		"start": milli(q.From), "end": milli(q.Until)})
	if err != nil {
		return nil, err
	}
	text, err := q.post(ctx, "Series", "application/json", body)
	if err != nil {
		return nil, err
	}
	var answer struct {
		LabelsSet []struct {
			Labels []struct{ Name, Value string }
		}
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		return nil, fmt.Errorf("no answer of Pyroscope: %w", err)
	}
	var sets []map[string]string
	for _, one := range answer.LabelsSet {
		set := make(map[string]string)
		for _, l := range one.Labels {
			set[l.Name] = l.Value
		}
		sets = append(sets, set)
	}
	return sets, nil
}

func milli(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// merged returns the sum of a type of profile.
func (q *Query) merged(ctx context.Context, id string) (*pprof.Profile, error) {
	var body []byte
	for i, text := range []string{id, q.Selector} {
		body = protowire.AppendString(protowire.AppendTag(body, protowire.Number(i+1), protowire.BytesType), text)
	}
	for i, t := range []time.Time{q.From, q.Until} {
		body = protowire.AppendVarint(protowire.AppendTag(body, protowire.Number(i+3), protowire.VarintType),
			uint64(t.UnixMilli()))
	}
	text, err := q.post(ctx, "SelectMergeProfile", "application/proto", body)
	if err != nil {
		return nil, err
	}
	return decoded(text)
}

// decoded returns the profile of an answer, which is empty if there is nothing.
func decoded(text []byte) (*pprof.Profile, error) {
	if len(text) == 0 {
		return new(pprof.Profile), nil
	}
	p, err := pprof.ParseUncompressed(text)
	if err == nil {
		err = p.CheckValid()
	}
	if err != nil {
		return nil, fmt.Errorf("no profile: %w", err)
	}
	return p, nil
}

// post asks a question. An answer that is too long to be read is an error.
func (q *Query) post(ctx context.Context, question, kind string, body []byte) ([]byte, error) {
	text, err := q.server.Post(ctx, "/querier.v1.QuerierService/"+question, kind, bytes.NewReader(body), maxAnswer)
	switch {
	case err == nil && len(text) == maxAnswer:
		err = fmt.Errorf("%s: an answer of more than %d MB; ask for less time, or fewer series", question,
			maxAnswer>>20)
	case refuses(err):
		err = fmt.Errorf("%s: %w; credentials are in the URL, or in PYROSCOPE_BASIC_AUTH_USER and "+
			"PYROSCOPE_BASIC_AUTH_PASSWORD, and a tenant in PYROSCOPE_TENANT_ID", question, err)
	case errors.Is(err, patience.ErrSilent):
		err = fmt.Errorf("%s: %w; see whether the server is well, or ask for less time, or fewer series", question, err)
	}
	return text, err
}

// refuses reports whether an error is that of a server that does not answer these users or tenants.
func refuses(err error) bool {
	answer := new(server.Error)
	return errors.As(err, &answer) && (answer.Code == http.StatusUnauthorized || answer.Code == http.StatusForbidden)
}
