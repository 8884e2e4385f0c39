// What keys and colours mean.
import { $, make } from './dom.js';
import { compared, foundColours } from './colours.js';
import { goneOf, isDark, isPlot, page, viewOf } from './state.js';

const keys = [
  ['1 … 8', 'views'], ['Tab', 'to the plot, the table, and what is above'],
  ['arrows', 'move in a plot or a table, scroll text'], ['Enter', 'zoom in, open a rest'],
  ['Esc, ⌫', 'zoom out; then back to the view before'],
  ['/', 'search by a part of a name or /regexp/, or paste a context ID'], ['n, N', 'next and last box that was found'],
  ['s, p, o', 'callers and callees as plots, as tables, or source, of what is selected'],
  ['f, i, h', 'focus on, ignore, or hide the function that is selected'], ['F', 'all contexts again'],
  ['y, Y', 'copy the name, or the stack, of what is selected'], ['v', 'next metric'],
  ['g', 'also what only the base has'],
  ['l', 'go on or stop reading a running program'], ['t', 'dark or light'], ['?', 'these keys'],
];

export function listKeys() {
  const rows = keys.map(([k, what]) => make('tr', {},
    make('td', {}, make('kbd', {}, k)), make('td', { class: 'name' }, what)));
  $('keys').append(make('table', {}, ...rows), make('form', { method: 'dialog' }, make('button', {}, 'close')));
}

// swatch shows a colour, or several, and what it means.
function swatch(text, ...list) {
  const patches = list.map(colour => {
    const patch = make('span', { class: colour === 'hatched' ? 'patch hatched' : 'patch' });
    if (colour !== 'hatched') patch.style.background = colour;
    return patch;
  });
  return make('span', { class: 'swatch' }, ...patches, text);
}

// showLegend says what the colours of a view mean.
export function showLegend() {
  const { state, info } = page, dark = isDark(), view = viewOf(state);
  const source = view === 'source', plot = isPlot(view);
  $('legend').hidden = !plot && !source;
  if (source) $('legend').replaceChildren(swatch('bar: compared with the largest line', 'var(--heat)'));
  if (!plot) return;
  const of = (now, was) => compared(now, was, dark)[0];
  const hues = [12, 130, 220].map(hue => dark ? `hsl(${hue} 34% 27%)` : `hsl(${hue} 62% 80%)`);
  const list = info.base
    ? [swatch('fewer', of(1, 2), of(5, 7)), swatch('same', of(1, 1)), swatch('more', of(7, 5), of(2, 1)),
      swatch('new', of(1, 0)), ...(goneOf() ? [swatch('gone', of(0, 1))] : [])]
    : [swatch('a colour for each package', ...hues)];
  list.push(swatch('rest: too small to draw', 'hatched'));
  if (state.q) list.push(swatch('found', foundColours[0]));
  $('legend').replaceChildren(...list);
}
