// The table of functions, and that of the callers and callees of one.
import { $, make, place } from './dom.js';
import { ask } from './ask.js';
import { go, goneOf, orderOf, page, selected, toFunction, unitOf, metricName } from './state.js';
import { amount, changed, counted, plural, share, thousands, variesText, wanted } from './words.js';
import { firstFunction } from './flame.js';
import { showFound } from './search.js';
import { choose } from './copy.js';

const amountCell = n => make('td', { class: 'amount' }, amount(n));
const numbers = (n, of) => [amountCell(n), make('td', { class: 'share' }, share(n, of))];

export function changeCell(now, was, more = '') {
  return make('td', { class: `change ${now > was ? 'up' : now < was ? 'down' : ''} ${more}` }, changed(now, was));
}

const nameCell = child => make('td', { class: 'name' }, child);

// nameButton leads to a function.
function nameButton(r, view) {
  const onclick = () => toFunction(view, r.key);
  return make('button', { 'data-key': r.key, 'data-name': r.name, title: r.file || '', onclick }, r.name);
}

// sized gives the columns of a table the widths that its numbers need, in characters; where that leaves a name no
// room, the name gets a line of its own, and the numbers stand below it. An attribute of style would be against
// the policy of the page.
function sized(table, most, apart) {
  const width = Math.max(9, 3 + amount(most).length), name = 280;
  table.style.setProperty('--amount', `${width}ch`);
  table.style.setProperty('--change', `${width + 9}ch`);
  table.style.setProperty('--apart', apart(width - 2));
  // How wide a character is depends on the font, so what is left for a name is measured, once the table is there. Until
  // then it is as the one before.
  table.classList.toggle('apart', !!$('main').querySelector('table.apart'));
  let placed = false;
  const observer = new ResizeObserver(() => {
    placed = placed || table.isConnected;
    if (!table.isConnected) {
      if (placed) observer.disconnect(); // another table is there now
      return;
    }
    table.classList.remove('apart');
    table.classList.toggle('apart', table.tHead.querySelector('.name').offsetWidth < name);
  });
  observer.observe($('main'));
  return table;
}

// How the numbers stand below a name, in shares of the width.
const apartTable = width => page.info.base ? `${width}fr 9fr ${width}fr 10fr` : `${width}fr 9fr ${width}fr 9fr 9fr`;
const apartPeek = width => `${width}fr 9fr ${page.info.base ? `${width + 9}fr ` : ''}9fr`;

const firstRows = 100;

export async function showFunctions(mine) {
  const { state, info, again } = page;
  const args = { metric: metricName(), q: state.q, sort: orderOf(), ...selected() };
  const n = String(again ? Math.max(page.listed, firstRows) : firstRows);
  const a = await ask('functions', { ...args, n }, {}, again);
  if (mine !== page.shown) return undefined;
  const column = (key, text, cls) => make('th', { class: cls, ...sortedBy(args.sort, key) },
    make('button', { 'data-key': 'by ' + key, onclick: () => go({ sort: key }) }, text));
  const head = make('tr', {}, column('self', unitOf().name, 'amount'), make('th', { class: 'share' }, '%'),
    column('total', 'total', 'amount'), make('th', { class: 'share' }, '%'),
    ...(info.base ? [column('base', 'base', 'amount'), column('change', 'change', 'change wide')] : []),
    column('contexts', 'contexts', 'count'), column('name', 'function', 'name'));
  const rows = new Rows(args, a), table = make('table', { class: 'long' }, make('thead', {}, head), rows.body);
  // Nothing is more than all.
  sized(table, Math.max(a.whole, a.wholeBase || 0), apartTable);
  if (!again) choose(''); // a row that gets the focus is chosen
  place('functions ' + new URLSearchParams(args), make('div', { class: 'scroll' }, table));
  const order = args.sort === 'self' ? unitOf().name : args.sort;
  $('crumbs').replaceChildren(
    `${plural(a.counted || a.all.functions, 'function')} · ${counted(a.all.self)} · sorted by ${order}${variesText()}`);
  showFound([], a);
  return rows.body.querySelector('button');
}

function sortedBy(sort, key) {
  return sort === key ? { 'aria-sort': key === 'name' ? 'ascending' : 'descending' } : {};
}

const nothing = q => q ? `Nothing found: no function ${wanted(q)}.` : 'No function was called.';

// Rows are the rows of the table, to which others can be added.
class Rows {
  constructor(args, answer) {
    Object.assign(this, { args, body: make('tbody'), functions: 0, self: 0 });
    page.listed = 0;
    this.add(answer);
    if (answer.matched.functions) return;
    this.body.append(make('tr', {}, make('td', { class: 'name', colspan: page.info.base ? 8 : 6 }, nothing(args.q))));
  }

  add(a) {
    const { base } = page.info;
    for (const r of a.rows) {
      this.functions++;
      this.self += r.self;
      this.body.append(make('tr', {}, ...numbers(r.self, a.whole), ...numbers(r.total, a.whole),
        ...(base ? [amountCell(r.base || 0), changeCell(r.self, r.base || 0, 'wide')] : []),
        make('td', { class: 'count' }, thousands(r.contexts)), nameCell(nameButton(r, 'sandwich'))));
    }
    page.listed = this.functions;
    const rest = a.matched.functions - this.functions;
    if (rest > 0) this.body.append(this.restRow(a, rest));
  }

  // restRow is the row that stands for those that are not there.
  restRow(a, rest) {
    const own = a.matched.self - this.self;
    const more = a.inFile && a.from + a.rows.length >= a.inFile ? 'not in this file' : 'show more';
    const text = `${plural(rest, 'more function')}, ${counted(own)}: ${more}`, blank = page.info.base ? 5 : 3;
    const row = make('tr', { class: 'rest' }, ...numbers(own, a.whole), make('td', { class: 'blank', colspan: blank }),
      nameCell(make('button', { 'data-key': 'more', onclick: () => this.more(row) }, text)));
    return row;
  }

  async more(row) {
    const next = await ask('functions', { ...this.args, from: String(this.functions), n: '200' });
    const at = row.previousElementSibling;
    row.remove();
    this.add(next);
    (at.nextElementSibling || at).querySelector('button').focus();
  }
}

// neighbours adds up the boxes next to the root of a plot by function.
function neighbours(a) {
  const list = new Map();
  for (const b of a.boxes) {
    if (b.up !== 0) continue;
    const fn = a.funcs[b.fn], n = list.get(fn.key) || { ...fn, total: 0, baseTotal: 0, contexts: 0 };
    n.total += b.total;
    n.baseTotal += b.baseTotal || 0;
    n.contexts += b.contexts;
    list.set(fn.key, n);
  }
  const changes = n => page.info.base ? Math.abs(n.total - n.baseTotal) : 0; // as in the table of functions
  return [...list.values()].sort((a, b) => changes(b) - changes(a) || b.total - a.total);
}

// showPeek shows the direct callers and callees of a function with their numbers.
export async function showPeek(mine) {
  const { state, info, again } = page, func = state.func ||= await firstFunction();
  const args = { metric: metricName(), func, gone: goneOf(), ...selected() };
  const bounds = { px: 20000, least: 0, limit: 5000 };
  const load = kind => ask('flame', { ...args, kind }, bounds, again);
  const [up, down] = await Promise.all([load('callers'), load('callees')]);
  if (mine !== page.shown) return undefined;
  const whole = up.boxes[0], fn = up.funcs[whole.fn];
  const row = (r, child, cls) => make('tr', { class: cls }, ...numbers(r.total, whole.total),
    ...(info.base ? [changeCell(r.total, r.baseTotal || 0)] : []),
    make('td', { class: 'count' }, thousands(r.contexts)), nameCell(child));
  const side = (title, a) => {
    const list = neighbours(a), rest = a.boxes[0].rest;
    return [make('tr', { class: 'part' }, make('th', { class: 'name', colspan: info.base ? 5 : 4 }, title)),
      ...list.map(r => row(r, r.pseudo ? r.name : nameButton(r, 'peek'), '')),
      ...(rest ? [row(rest, `more, ${plural(rest.contexts, 'context')}`, 'rest')] : [])];
  };
  const head = make('tr', {}, make('th', { class: 'amount' }, 'total'), make('th', { class: 'share' }, '%'),
    ...(info.base ? [make('th', { class: 'change' }, 'change')] : []), make('th', { class: 'count' }, 'contexts'),
    make('th', { class: 'name' }, 'function'));
  const table = make('table', { class: 'long' }, make('thead', {}, head), make('tbody', {},
    ...side('callers', up),
    row(whole, make('strong', {}, fn.name), 'self'), ...side('callees, with what they call', down)));
  const box = make('div', { class: 'scroll', tabindex: 0 },
    sized(table, Math.max(up.whole, up.wholeBase || 0), apartPeek));
  choose(fn.name);
  place('peek ' + func, box); // a row that has the focus is chosen
  const onclick = () => toFunction('sandwich', func);
  $('crumbs').replaceChildren(make('button', { 'data-name': fn.name, onclick }, fn.name),
    ` total ${counted(whole.total)} ${share(whole.total, up.whole)}`);
  showFound([]);
  return box;
}
