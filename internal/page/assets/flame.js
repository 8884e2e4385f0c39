// The views that are plots.
import { $, make } from './dom.js';
import { ask } from './ask.js';
import { go, goneOf, orderOf, page, selected, metricName } from './state.js';
import { changed, counted, plural, share, variesText, wanted } from './words.js';
import { Plot } from './plot.js';
import { showFound } from './search.js';

// load asks for what a plot draws, and draws it unless something else is on screen by then.
async function load(plot, args, mine) {
  const { state, again } = page;
  plot.skip = +args.skip || 0;
  const own = { metric: metricName(), gone: goneOf(), q: state.q, ...selected(), ...args };
  const answer = await ask('flame', own, { px: Math.max(200, plot.el.clientWidth), least: 2, limit: 5000 }, again);
  if (mine === page.shown) plot.set(answer);
  return answer;
}

// before is what was on screen where a plot waits for its answer.
let before = null;

// bringBack shows again what was on screen, as no answer comes.
export function bringBack() {
  if (!before) return;
  const { key, nodes, plots, top } = before, main = $('main');
  before = null;
  page.plots = plots;
  main.dataset.key = key;
  main.replaceChildren(...nodes);
  if (main.querySelector('.scroll')) main.querySelector('.scroll').scrollTop = top;
}

// answered forgets what was on screen before.
export function answered() { before = null; }

// reuse returns the plots of the view that is on screen if it is the same, so that a refresh or a
// zoom changes what they draw and nothing else.
function reuse(key, build) {
  const main = $('main'), scroll = main.querySelector('.scroll');
  if (main.dataset.key !== key) {
    const top = scroll ? scroll.scrollTop : 0;
    before ||= { key: main.dataset.key || '', nodes: [...main.childNodes], plots: page.plots, top };
    main.dataset.key = key;
    page.plots = [];
    main.replaceChildren(...build());
  }
  return page.plots;
}

// crumbs shows what a plot is zoomed to.
function crumbs(answer, zoom, skip) {
  const { info } = page, list = answer.path.concat(answer.boxes[0] || []);
  const parts = list.length > 40 ? list.slice(0, 3).concat(null, list.slice(-36)) : list;
  const names = parts.flatMap((b, i) => {
    if (!b) return ['…'];
    const name = answer.funcs[b.fn].name;
    return [i ? '›' : '', make('button', { title: name, onclick: () => zoom(b.id, 0) },
      name.slice(name.lastIndexOf('/') + 1))];
  });
  $('crumbs').replaceChildren(...names, skip ? ` without the ${plural(skip, 'widest callee')}` : '',
    answer.missing ? ' · what the link points to is not in this record' : '',
    info.base ? make('span', { class: 'base' }, `base ${info.base}${variesText()}`) : '');
  showWarnings(); // it leaves the path less room
  $('crumbs').scrollLeft = $('crumbs').scrollWidth;
  const last = $('crumbs').querySelector('button:last-of-type');
  if (last) last.scrollIntoView({ block: 'nearest', inline: 'nearest' });
}

function showWarnings() {
  const { warnings: list } = page.info;
  $('warnings').hidden = !list.length;
  $('warnings').title = list.join('\n');
  $('warnings').textContent = list.length ? `${plural(list.length, 'warning')}: ${list[0]}` : '';
}

export async function showFlame(mine) {
  const { state } = page, goroutines = state.view === 'goroutines';
  const zoom = (root, skip) => go({ root, skip: skip || '' });
  const [plot] = reuse(state.view || 'flame', () => {
    const label = goroutines ? 'Goroutines by what started them'
      : 'Calling contexts. Arrow keys move, Enter zooms, Escape goes out.';
    page.plots = [new Plot({ up: state.view !== 'icicle' && !goroutines, numbers: goroutines, label }, zoom)];
    return [page.plots[0].el];
  });
  const args = { kind: goroutines ? 'goroutines' : 'contexts', root: state.root, skip: state.skip };
  const answer = await load(plot, args, mine);
  if (mine !== page.shown) return undefined;
  crumbs(answer, zoom, +state.skip);
  showFound([['', answer]]);
  return plot.canvas;
}

export async function showSandwich(mine) {
  const { state } = page, func = state.func ||= await firstFunction();
  let middle = $('main').querySelector('.middle');
  const [above, below] = reuse('sandwich ' + func, () => {
    middle = make('div', { class: 'middle' });
    page.plots = [
      new Plot({ up: true, inward: true, half: true, label: 'Callers' },
        (uroot, uskip) => go({ func, uroot, uskip: uskip || '' })),
      new Plot({ half: true, label: 'Callees' }, (root, skip) => go({ func, root, skip: skip || '' })),
    ];
    return [page.plots[0].el, middle, page.plots[1].el];
  });
  const [callers, callees] = await Promise.all([
    load(above, { kind: 'callers', func, root: state.uroot, skip: state.uskip }, mine),
    load(below, { kind: 'callees', func, root: state.root, skip: state.skip }, mine),
  ]);
  if (mine !== page.shown) return undefined;
  const whole = callers.path[0] || callers.boxes[0], fn = callers.funcs[whole.fn];
  const more = page.info.base ? ' · ' + changed(whole.total, whole.baseTotal || 0) : '';
  const total = `total ${counted(whole.total)} ${share(whole.total, callers.whole)}${more}`;
  middle.textContent = `↑ callers · ${fn.name} · ${total} · callees ↓`;
  $('crumbs').replaceChildren('Choose another function in the table, or search for one.');
  showFound([['callers: ', callers], ['callees: ', callees]]);
  return below.canvas;
}

// firstFunction returns the key of the function that comes first among those that the search finds.
export async function firstFunction() {
  const { q } = page.state, sort = page.info.base ? orderOf() : 'total';
  const a = await ask('functions', { metric: metricName(), q, sort, n: '2', ...selected() });
  const row = a.rows.find(r => !r.pseudo) || a.rows[0];
  if (!row) throw new Error(q ? `Nothing found: no function ${wanted(q)}.` : 'No function was called.');
  return row.key;
}
