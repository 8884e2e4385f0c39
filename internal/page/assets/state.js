// What is on screen, as the link has it.

export const views = [
  ['flame', 'Flame'], ['icicle', 'Icicle'], ['sandwich', 'Sandwich'], ['functions', 'Functions'],
  ['source', 'Source'], ['goroutines', 'Goroutines'], ['timeline', 'Timeline'], ['peek', 'Peek'],
];

// page is all that changes while the page is open.
export const page = {
  info: null, // what is known of the record
  state: {}, // what the link says
  plots: [], // that are on screen
  shown: 0, // counts what was asked for: an answer to what came before is not shown any more
  again: false, // what is drawn was on screen before, and was read again
  listed: 0, // rows of the table
  chosen: null, // what can be copied: a name, and perhaps a stack
  drawn: Promise.resolve(), // what is asked for is on screen
  typed: Promise.resolve(), // all keys were followed
  show: null, // draws the page
};

export const readLink = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

export const viewOf = state => state.view || 'flame';

// outside is a plot that is not zoomed.
export const outside = { root: '', skip: '', uroot: '', uskip: '' };

// go changes what is on screen. Zooming and other views can be gone back from. history.state has
// the links of the last views before this one: back returns to them.
export function go(change, replace = false) {
  const next = Object.fromEntries(Object.entries({ ...page.state, ...change }).filter(([, v]) => v));
  const same = viewOf(next) === viewOf(page.state) && next.id === page.state.id, links = history.state || [];
  page.state = next;
  const to = same ? links : [...links.slice(-20), location.hash];
  history[replace ? 'replaceState' : 'pushState'](to, '', '#' + new URLSearchParams(next));
  return page.show();
}

export function back() {
  const links = history.state || [];
  if (!links.length) return undefined;
  history.pushState(links.slice(0, -1), '', links[links.length - 1] || '#');
  page.state = readLink();
  return page.show();
}

// turn shows another view. Only flame and icicle draw the same, so that a zoom stays.
export function turn(view) {
  const same = [view, viewOf(page.state)].every(v => ['flame', 'icicle'].includes(v));
  return go(same ? { view } : { view, ...outside });
}

// toFunction shows a function in a view.
export const toFunction = (view, func) => go({ view, func, ...outside });

export const metricName = () => page.state.metric || (page.info.values[0] || {}).name || '';
export const unitOf = () => page.info.values.find(v => v.name === metricName()) || { unit: 'count', name: 'calls' };

// selections are what leaves contexts out.
export const selections = ['focus', 'ignore', 'hide'];

// selected returns the selection, as arguments of a question.
export const selected = () => Object.fromEntries(selections.map(k => [k, page.state[k]]));

// ofAll are the views of all contexts. There it can be chosen whether what only the base has is drawn; the callers and
// callees of a function always have it: those of one that is gone are nothing else.
export const ofAll = view => ['flame', 'icicle', 'goroutines'].includes(view);
export const goneOf = () => page.info.base && (page.state.gone || !ofAll(viewOf(page.state))) && '1';

// isPlot reports whether a view draws boxes.
export const isPlot = view => ofAll(view) || view === 'sandwich';

export const orderOf = () => page.state.sort || (page.info.base ? 'change' : 'self');

export function isDark() {
  const { theme } = page.state;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}
