// A function's source with what its lines have.
import { $, make, place } from './dom.js';
import { ask } from './ask.js';
import { page, selected, toFunction, unitOf, metricName } from './state.js';
import { amount, changed, counted, plural } from './words.js';
import { choose } from './copy.js';
import { firstFunction } from './flame.js';
import { changeCell } from './table.js';
import { showFound } from './search.js';

const ifAny = n => make('td', {}, n ? amount(n) : '');

function lineRow(l, most) {
  const { base } = page.info, hot = l.self || l.total;
  const row = make('tr', { class: hot ? 'hot' : '' }, ifAny(l.self), ifAny(l.total),
    ...(base ? [l.baseTotal || l.total ? changeCell(l.total || 0, l.baseTotal || 0) : make('td')] : []),
    make('td', { class: 'line' }, String(l.line)), make('td', { class: 'code' }, l.text));
  row.style.setProperty('--part', `${100 * (l.total || l.self || 0) / most}%`);
  return row;
}

export async function showSource(mine) {
  const { state, info, again } = page, func = state.func ||= await firstFunction();
  const a = await ask('source', { metric: metricName(), func, ...selected() }, {}, again);
  if (mine !== page.shown) return undefined;
  const most = Math.max(1, ...a.lines.map(l => l.total || l.self || 0));
  const rows = a.lines.map(l => lineRow(l, most));
  if (a.rest.lines) {
    rows.push(make('tr', { class: 'rest' }, make('td', {}, amount(a.rest.self)), make('td'),
      ...(info.base ? [make('td')] : []), make('td'),
      make('td', { class: 'code' }, `on ${plural(a.rest.lines, 'other line')}, in other files or of unknown place`)));
  }
  const f = a.function, sampled = unitOf().unit === 'nanoseconds';
  const at = `${f.file || ''}${f.line ? ':' + f.line : ''}`;
  const head = make('tr', {}, make('th', {}, sampled ? 'in the line' : 'of callees'),
    make('th', {}, 'with those below'),
    ...(info.base ? [make('th', {}, 'change')] : []), make('th', { class: 'line' }, 'line'),
    make('th', { class: 'code' }));
  const note = make('p', { class: 'note' }, `${f.name} ${at} · own ${counted(f.self)}, total ${counted(f.total)}`,
    info.base ? ` · ${changed(f.total, f.baseTotal || 0)}` : '',
    a.why ? ` · no text: ${a.why}` : '');
  const table = make('table', { class: 'source' }, make('thead', {}, head), make('tbody', {}, ...rows));
  const box = make('div', { class: 'scroll', tabindex: 0 }, note, table);
  place('source ' + func, box);
  $('crumbs').replaceChildren(make('button', { onclick: () => toFunction('sandwich', f.key) }, f.name));
  showFound([]);
  choose(f.name);
  return box;
}
