// Views of a record of context IDs: its epochs, and what an ID stands for.
import { $, make, place } from './dom.js';
import { ask } from './ask.js';
import { go, outside, page, selections } from './state.js';
import { placeOf, plural, thousands } from './words.js';
import { choose } from './copy.js';
import { font } from './colours.js';

const grouped = text => /^\d+$/.test(text) ? thousands(+text) : text;

export async function showTimeline(mine) {
  if (!page.info.epochs) {
    throw new Error('A timeline shows how an encoding of contexts changed. ' +
      'This record has none (build with -engine=dacce).');
  }
  const a = await ask('epochs');
  if (mine !== page.shown) return undefined;
  const canvas = make('canvas', { role: 'img', 'aria-label': 'Largest id by time of epoch' });
  const head = make('tr', {}, make('th', {}, 'epochs'), make('th', {}, 'until, s'), make('th', {}, 'largest id'),
    make('th', { class: 'name' }, ''));
  const table = make('table', {}, make('thead', {}, head), make('tbody', {}, ...a.points.map(epochRow)));
  const box = make('div', { class: 'scroll', tabindex: 0 },
    make('p', { class: 'note' }, a.stats.map(s => `${s.name} ${grouped(s.value)}`).join(' · ')), canvas,
    a.points.length ? table : make('p', { class: 'note' }, 'This encoding never changes: it has no epochs.'));
  choose('');
  place('timeline', box);
  $('crumbs').replaceChildren(`${plural(a.all, 'epoch')}, drawn as ${plural(a.points.length, 'point')}`);
  new ResizeObserver(() => drawPoints(canvas, a.points, Math.max(200, box.clientWidth - 24))).observe(box);
  return box;
}

function epochRow(p) {
  const numbers = p.epochs > 1 ? `${p.first} to ${p.first + p.epochs - 1}` : String(p.first);
  return make('tr', {}, make('td', {}, numbers), make('td', {}, p.seconds.toFixed(3)),
    make('td', {}, thousands(p.maxID)),
    make('td', { class: 'name' }, p.unknown ? `${plural(p.unknown, 'epoch')} lost` : ''));
}

function drawPoints(canvas, points, width) {
  const last = Math.max(1e-9, ...points.map(p => p.seconds)), most = Math.max(1, ...points.map(p => p.maxID));
  const height = 180, ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + 'px';
  const c = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  c.scale(ratio, ratio);
  c.strokeStyle = style.getPropertyValue('--line');
  c.strokeRect(0.5, 0.5, width - 1, height - 1);
  c.fillStyle = style.getPropertyValue('--accent');
  for (const p of points) {
    const h = (height - 30) * Math.log2(1 + p.maxID) / Math.log2(1 + most);
    c.fillRect(4 + (width - 12) * p.seconds / last, height - h, 4, h);
  }
  c.font = font;
  c.fillStyle = style.getPropertyValue('--text');
  c.fillText(`largest id (log), up to ${thousands(most)}; ${last.toFixed(3)} s`, 14, 16);
}

export async function showContext(mine) {
  const { state } = page, a = await ask('context', { id: state.id, metric: state.metric });
  if (mine !== page.shown) return undefined;
  const frames = a.frames.slice().reverse();
  const lines = frames.map((f, i) => make('tr', {}, make('td', {}, String(i)),
    make('td', { class: 'name' }, `${f.func}${f.via ? ` (${f.via})` : ''}`),
    make('td', { class: 'name' }, f.file ? 'called at' + placeOf(f) : '')));
  // What is left out must not hide it.
  const zoom = { view: 'flame', ...outside, ...Object.fromEntries(selections.map(k => [k, ''])), root: a.node };
  const lead = a.depth === a.frames.length ? 'show in the flame graph' : 'show the part of it that has counts';
  const box = make('div', { class: 'scroll', tabindex: 0 }, make('p', { class: 'note' }, state.id + ' ',
    a.node ? make('button', { onclick: () => go(zoom) }, lead) : '· nothing was counted in this context'),
  make('table', {}, make('tbody', {}, ...lines)));
  place('context', box);
  $('crumbs').replaceChildren('A context ID, innermost frame first');
  if (frames.length) choose(frames[0].func, frames.map(f => f.func + placeOf(f)));
  return box;
}
