package profile

// Align returns two readings of one record on one tree: both have the same functions and nodes, by the same numbers,
// and each has its own values, zeros where it had no node. So values can be compared, or subtracted, one by one. What
// only the earlier reading has, such as the place of a sample that was not described yet, stays. The order is that of
// the later reading. The profiles are not changed.
func Align(earlier, later *Profile) (a, b *Profile, err error) {
	m := newMerger()
	if err := m.add(later); err != nil {
		return nil, nil, err
	}
	own := make(map[string][]uint64)
	for k := range m.p.Columns {
		c := &m.p.Columns[k]
		own[c.Name], c.Values = c.Values, make([]uint64, len(c.Values))
	}
	requests := len(m.p.Requests)
	if err := m.add(earlier); err != nil {
		return nil, nil, err
	}
	a, b = new(Profile), new(Profile)
	*a, *b = *m.p, *m.p
	a.Processes, b.Processes = earlier.Processes, later.Processes
	a.Requests, b.Requests = m.p.Requests[requests:], m.p.Requests[:requests:requests]
	b.Columns = make([]Column, len(a.Columns))
	for k, c := range a.Columns {
		values := own[c.Name]
		b.Columns[k] = Column{c.Metric, append(values, make([]uint64, len(c.Values)-len(values))...)}
	}
	return a, b, nil
}
