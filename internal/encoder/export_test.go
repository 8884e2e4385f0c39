package encoder

// Log returns the log. It is all that a decoder needs; see [NewLucceDecoder].
func (l *Lucce) Log() []LogEntry { return l.graph.log }

// A LucceDecoder decodes contexts by a log.
type LucceDecoder struct{ graph *versionedGraph }

// NewLucceDecoder replays a log once. Its contexts had ids below limit.
func NewLucceDecoder(p *Program, limit uint64, log []LogEntry) (*LucceDecoder, error) {
	g := newVersionedGraph(p, limit)
	g.grow()
	for _, e := range log {
		if err := g.record(e); err != nil {
			return nil, err
		}
	}
	return &LucceDecoder{g}, nil
}

// Decode returns the calls that led to a context, outermost first.
func (d *LucceDecoder) Decode(c Context) ([]Call, error) { return decodeLucce(d.graph, c) }

// AddValue returns the addition value of an edge.
func (t *EdgeTables) AddValue(c Call) (uint64, bool) {
	av, ok := t.av[c]
	return av, ok
}
