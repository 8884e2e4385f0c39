'use strict';
// The page of stemma view. It draws what the server, or the file that it is in, has pruned.
// Names are put into text nodes and canvases only, never parsed.

// ---- Asking ----

const $ = id => document.getElementById(id);
const embedded = $('answers') && JSON.parse($('answers').textContent);

// ask returns the answer to a question; in a file, one that the file has.
async function ask(question, args = {}, bounds = {}) {
  const own = Object.entries(args).filter(([, v]) => v).sort(([a], [b]) => a < b ? -1 : 1);
  if (embedded) {
    const { q, sort, from, n, root, skip, ...rest } = Object.fromEntries(own);
    const found = embedded[`${question}?${new URLSearchParams(rest)}`];
    if (!found) throw new Error('not in this file; open the record with stemma view');
    if (question === 'functions') return sifted(found, q, sort, +from || 0, +n || 300);
    return question === 'flame' ? rerooted(found, root, +skip || 0) : found;
  }
  const reply = await fetch(`/ask/${question}?${new URLSearchParams([...own, ...Object.entries(bounds)])}`);
  const answer = await reply.json();
  if (answer.error) throw new Error(answer.error);
  return answer;
}

// sifted does in a file what the server does with the table.
function sifted(all, q, sort = 'self', from, n) {
  const order = {
    name: () => 0, change: r => Math.abs(r.self - (r.base || 0)),
    self: r => r.self, total: r => r.total, contexts: r => r.contexts, base: r => r.base || 0,
  }[sort];
  const add = (sum, r) => ({ functions: sum.functions + 1, self: sum.self + r.self, base: sum.base + (r.base || 0), contexts: sum.contexts + r.contexts });
  const zero = { functions: 0, self: 0, base: 0, contexts: 0 };
  const hits = all.rows.filter(r => r.name.toLowerCase().includes((q || '').toLowerCase()))
    .sort((a, b) => order(b) - order(a) || (sort === 'self' && b.total - a.total) || (a.name < b.name ? -1 : 1));
  const matched = hits.reduce(add, zero), rows = hits.slice(from, from + n), shown = rows.reduce(add, zero);
  const folded = Object.fromEntries(Object.keys(zero).map(k => [k, matched[k] - shown[k] + (q ? 0 : all.folded[k] || 0)]));
  return { ...all, rows, from, matched: q ? matched : all.matched, folded };
}

// rerooted returns the part of an answer that is below one of its boxes.
function rerooted(a, id, skip) {
  const root = id ? a.boxes.findIndex(b => b.id === id) : 0;
  if (root < 0 || (root === 0 && !skip)) return { ...a, missing: root < 0 };
  const at = new Map([[root, 0]]), boxes = [{ ...a.boxes[root], up: -1 }], path = [];
  a.boxes.forEach((b, i) => {
    if (i === root || !at.has(b.up)) return;
    at.set(i, boxes.length);
    boxes.push({ ...b, up: at.get(b.up) });
  });
  for (let i = a.boxes[root].up; i >= 0; i = a.boxes[i].up) path.unshift(a.boxes[i]);
  return { ...a, boxes, path: [...a.path, ...path], span: boxes[0].w };
}

// ---- State: what is on screen, as the link has it ----

const views = [
  ['flame', 'Flame'], ['icicle', 'Icicle'], ['sandwich', 'Sandwich'], ['functions', 'Functions'],
  ['source', 'Source'], ['goroutines', 'Goroutines'], ['timeline', 'Timeline'],
];
let info, state = {}, plots = [], shown = 0, timer = 0;
let drawn = Promise.resolve(), typed = Promise.resolve(); // what is asked for is on screen; all keys were followed

const readLink = () => Object.fromEntries(new URLSearchParams(location.hash.slice(1)));

const viewOf = s => s.view || 'flame';

// go changes what is on screen. Zooming and other views can be gone back from. history.state has
// the links of the last views before this one: back returns to them.
function go(change, replace = false) {
  const next = Object.fromEntries(Object.entries({ ...state, ...change }).filter(([, v]) => v));
  const same = viewOf(next) === viewOf(state) && next.id === state.id, links = history.state || [];
  state = next;
  history[replace ? 'replaceState' : 'pushState'](same ? links : [...links.slice(-20), location.hash], '', '#' + new URLSearchParams(state));
  return show();
}

function back() {
  const links = history.state || [];
  if (!links.length) return;
  history.pushState(links.slice(0, -1), '', links[links.length - 1] || '#');
  state = readLink();
  return show();
}

// turn shows another view. Only flame and icicle draw the same, so that a zoom stays.
function turn(view) {
  const same = [view, viewOf(state)].every(v => ['flame', 'icicle'].includes(v));
  return go(same ? { view } : { view, root: '', skip: '', uroot: '', uskip: '' });
}

const unitOf = () => (info.values.find(v => v.name === valueName()) || { unit: 'count', name: 'calls' });
const valueName = () => state.value || (info.values[0] || {}).name || '';

// ---- Words ----

const thousands = n => Math.round(n).toLocaleString('en-US');
function amount(n) {
  const unit = unitOf().unit, sign = n < 0 ? '−' : '';
  n = Math.abs(n);
  if (unit === 'nanoseconds') return sign + (n >= 1e9 ? (n / 1e9).toFixed(3) + ' s' : (n / 1e6).toFixed(3) + ' ms');
  return sign + thousands(n) + (unit === 'bytes' ? ' B' : '');
}
const noun = () => unitOf().unit === 'count' ? ' ' + unitOf().name : ' of ' + unitOf().name;
const plural = (n, word) => `${thousands(n)} ${word}${n === 1 ? '' : 's'}`;
const share = (n, of) => of ? (100 * n / of).toFixed(2) + '%' : '-';
const base = file => file ? file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1) : '';
const place = s => s && s.file ? ` ${base(s.file)}${s.line ? ':' + s.line : ''}` : '';
const change = (now, was) => `${now >= was ? '+' : '−'}${amount(Math.abs(now - was))}${was ? ` (${now >= was ? '+' : '−'}${(100 * Math.abs(now - was) / was).toFixed(1)}%)` : now ? ' (new)' : ''}`;

// make makes an element. Properties that begin with "on" are listeners; children are nodes or text.
function make(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'class') e.className = v;
    else if (v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children.map(c => c instanceof Node ? c : document.createTextNode(c)));
  return e;
}

// ---- Drawing ----

const rowHeight = 19, font = '12px system-ui, "DejaVu Sans", sans-serif';

function hash(text) {
  let h = 2166136261;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 16777619);
  return h >>> 0;
}

// packageOf is the part of a name that decides its colour.
function packageOf(name) {
  const slash = name.lastIndexOf('/') + 1, dot = name.indexOf('.', slash);
  return dot > 0 ? name.slice(0, dot) : name;
}

// colour returns the colours of a box and of its text.
function colour(box, fn, dark) {
  if (info.base) {
    const now = box.total, was = box.baseTotal || 0;
    if (!was && now) return dark ? ['#6a4fa3', '#fff'] : ['#c9b3f0', '#1d1433']; // new
    if (!now && was) return dark ? ['#3b4450', '#c3ccd6'] : ['#d9dee5', '#3c4654']; // gone
    const part = Math.max(-1, Math.min(1, Math.log2((now || 1) / (was || 1))));
    const strength = Math.round(Math.abs(part) * 100) / 100, hue = part > 0 ? 8 : 214;
    if (!strength) return dark ? ['#303844', '#e3e8ef'] : ['#e9ecf0', '#1d2430'];
    return dark ? [`hsl(${hue} ${20 + 50 * strength}% ${26 + 12 * strength}%)`, '#fff'] : [`hsl(${hue} ${30 + 55 * strength}% ${90 - 22 * strength}%)`, '#1d1414'];
  }
  if (fn.pseudo) return dark ? ['#39424f', '#e3e8ef'] : ['#dfe4ea', '#1d2430'];
  const h = hash(packageOf(fn.name)), hue = h % 360, shade = (h >>> 9) % 8;
  return dark ? [`hsl(${hue} 34% ${27 + shade}%)`, '#f2f5f9'] : [`hsl(${hue} 62% ${77 + shade}%)`, '#18202b'];
}

// A Plot draws an answer. Rows grow downward, or upward from the bottom; only those on screen are
// drawn. A fold is drawn behind the children of its box, hatched.
class Plot {
  constructor(up, zoom, label) {
    this.up = up;
    this.zoom = zoom;
    this.canvas = make('canvas', { tabindex: 0, role: 'application', 'aria-label': label });
    this.space = make('div');
    this.el = make('div', { class: 'plot' }, this.canvas, this.space);
    this.el.addEventListener('scroll', () => this.later());
    this.canvas.addEventListener('mousemove', e => this.hover(e));
    this.canvas.addEventListener('mouseleave', () => { $('tip').hidden = true; });
    this.canvas.addEventListener('click', e => this.click(e));
    this.canvas.addEventListener('keydown', e => this.key(e));
    this.canvas.addEventListener('focus', () => this.say());
    new ResizeObserver(() => this.later()).observe(this.el);
    this.items = [];
    this.rows = [];
    this.high = 0;
  }

  set(answer) {
    const before = this.selected, first = !this.answer;
    this.answer = answer;
    this.layout();
    this.high = this.rows.length * rowHeight + 4;
    if (this.up && this.half) this.el.style.flex = `0 1 ${this.high}px`;
    this.selected = (before && this.items.find(i => i.box.id === before.box.id && !i.fold === !before.fold)) || this.items[0];
    this.resize();
    if (document.activeElement === this.canvas) this.say();
    if (first && this.up) this.el.scrollTop = this.high;
    this.later();
  }

  // layout gives each box and fold its place in [0, 1] and its row.
  layout() {
    const { boxes, span, scaled } = this.answer;
    this.items = boxes.map((box, i) => ({ box, i, kids: [], depth: 0, x: 0, w: 1 }));
    this.rows = [];
    for (const item of this.items) {
      const parent = this.items[item.box.up];
      if (parent) {
        item.parent = parent;
        item.depth = parent.depth + 1;
        item.w = Math.min(span ? item.box.w / span : 0, parent.x + parent.w - parent.next);
        item.x = parent.next;
        parent.next += item.w;
        parent.kids.push(item);
      }
      item.next = item.x;
    }
    for (const item of this.items.slice()) {
      const f = item.box.fold;
      if (!f) continue;
      const rest = item.x + item.w - item.next;
      const w = !scaled && !item.parent ? rest : Math.min(rest, span ? f.w / span : 0);
      const fold = { box: item.box, fold: f, parent: item, kids: [], depth: item.depth + 1, x: item.next, w };
      item.kids.push(fold);
      this.items.push(fold);
    }
    for (const item of this.items) (this.rows[item.depth] ||= []).push(item);
    for (const row of this.rows) row.sort((a, b) => a.x - b.x);
  }

  // resize fits the canvas to its place. What has its size already is left alone: a canvas that
  // gets a size is a new one.
  resize() {
    const width = this.el.clientWidth, height = this.el.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    this.space.style.height = Math.max(0, this.high - height) + 'px';
    const size = `${width} ${height} ${ratio}`;
    if (size === this.size) return;
    this.size = size;
    this.canvas.width = Math.round(width * ratio);
    this.canvas.height = Math.round(height * ratio);
    this.canvas.style.width = width + 'px';
    this.canvas.style.height = height + 'px';
  }

  // later draws before the next frame, once, however much has changed until then.
  later() {
    this.due ||= requestAnimationFrame(() => {
      this.due = 0;
      this.resize();
      this.draw();
    });
  }

  // top returns where a row begins on the canvas.
  top(depth) {
    const high = Math.max(this.el.clientHeight, this.high);
    return (this.up ? high - 2 - (depth + 1) * rowHeight : 2 + depth * rowHeight) - this.el.scrollTop;
  }

  draw() {
    const c = this.canvas.getContext('2d'), ratio = window.devicePixelRatio || 1;
    const width = this.canvas.width / ratio, height = this.canvas.height / ratio;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    if (!this.answer) return;
    const dark = document.documentElement.classList.contains('dark');
    const q = (state.q || '').toLowerCase();
    c.font = font;
    c.textBaseline = 'middle';
    this.rows.forEach((row, depth) => {
      const y = this.top(depth);
      if (y < -rowHeight || y > height) return;
      for (const item of row) this.paint(c, item, y, width, dark, q);
    });
    const s = this.selected;
    if (s && document.activeElement === this.canvas) {
      c.strokeStyle = dark ? '#fff' : '#000';
      c.lineWidth = 2;
      c.strokeRect(s.x * width + 1, this.top(s.depth) + 1, Math.max(2, s.w * width - 2), rowHeight - 3);
    }
  }

  paint(c, item, y, width, dark, q) {
    const x = item.x * width, w = item.w * width;
    if (w < 0.2) return;
    const fn = this.answer.funcs[item.box.fn], h = rowHeight - 1, inner = w > 3 ? w - 1 : w;
    let ink = dark ? '#c9d2dd' : '#4a5563';
    if (item.fold) {
      c.fillStyle = hatch(c, dark);
      c.fillRect(x, y, inner, h);
    } else {
      let fill;
      [fill, ink] = colour(item.box, fn, dark);
      if (q && fn.name.toLowerCase().includes(q)) [fill, ink] = ['#ffd84d', '#201a00'];
      c.fillStyle = fill;
      c.fillRect(x, y, inner, h);
    }
    if (w < 24) return;
    c.fillStyle = ink;
    const text = fitted(c, item.fold ? this.foldText(item.fold) : fn.name, w - 8, !item.fold);
    if (text) c.fillText(text, x + 4, y + h / 2 + 0.5);
  }

  foldText(f) {
    return `${plural(f.contexts, 'context')}, ${amount(f.total)}${noun()}${info.base ? ` (${amount(f.baseTotal || 0)} in the base)` : ''}`;
  }

  // text describes an item in full.
  text(item) {
    const a = this.answer, b = item.box, fn = a.funcs[b.fn], whole = a.whole;
    if (item.fold) return `folded below ${fn.name}: ${this.foldText(item.fold)} · ${share(item.fold.total, whole)} · open with Enter${a.scaled ? '' : ' · not drawn to scale'}`;
    const site = a.sites[b.site], via = (site.via ? ` (${site.via})` : '') + (b.mark ? ` (${b.mark})` : '');
    let text = `${fn.name}${via} · ${amount(b.total)}${noun()} ${share(b.total, whole)} · own ${amount(b.self)} · ${plural(b.contexts, 'context')}`;
    if (info.base) text += ` · ${change(b.total, b.baseTotal || 0)}`;
    if (site.file) text += ` · called at${place(site)}`;
    return text;
  }

  say() {
    if (this.selected) $('status').textContent = this.text(this.selected);
    this.later();
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect(), x = (e.clientX - box.left) / box.width, y = e.clientY - box.top;
    const row = this.rows.find((_, depth) => y >= this.top(depth) && y < this.top(depth) + rowHeight);
    return row && row.find(i => x >= i.x && x < i.x + i.w);
  }

  hover(e) {
    const item = this.at(e), tip = $('tip');
    tip.hidden = !item;
    if (!item) return;
    tip.textContent = this.text(item).replaceAll(' · ', '\n');
    tip.style.left = Math.max(0, Math.min(e.clientX + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
    tip.style.top = Math.max(0, Math.min(e.clientY + 16, innerHeight - tip.offsetHeight - 8)) + 'px';
  }

  click(e) {
    const item = this.at(e);
    this.canvas.focus();
    if (!item) return;
    this.select(item);
    this.open(item);
  }

  // open zooms to a box, or to what a fold stands for; to the root again, one level out.
  open(item) {
    if (item.fold) return this.zoom(item.box.id, item.fold.skip);
    if (item === this.items[0]) return this.out();
    return this.zoom(item.box.id, 0);
  }

  out() {
    const { path, boxes } = this.answer;
    if (this.skip) return this.zoom(boxes[0].id, 0);
    return path.length ? this.zoom(path[path.length - 1].id, 0) : back();
  }

  // hit selects the next box, or with step -1 the one before, that the search finds.
  hit(step) {
    const boxes = this.rows.flat().filter(i => i === this.selected || (!i.fold && this.found(i)));
    const next = boxes[(boxes.indexOf(this.selected) + step + boxes.length) % boxes.length];
    if (next && state.q) this.select(next);
  }

  found(item) { return this.answer.funcs[item.box.fn].name.toLowerCase().includes((state.q || '').toLowerCase()); }

  select(item) {
    this.selected = item;
    const y = this.top(item.depth);
    if (y < 0) this.el.scrollTop += y - 4;
    if (y + rowHeight > this.el.clientHeight) this.el.scrollTop += y + rowHeight - this.el.clientHeight + 4;
    this.say();
  }

  // key follows a key when what those before it ask for is on screen: it means what is there then.
  key(e) {
    if (e.ctrlKey || e.metaKey || e.altKey || !this.act(e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    typed = typed.then(() => drawn).then(() => {
      const plot = this.el.isConnected ? this : plots[plots.length - 1];
      if (plot && plot.selected) plot.act(e.key)();
    });
  }

  // act returns what a key does, nothing if it is none of a plot's.
  act(key) {
    const s = this.selected || {};
    const outward = () => s.parent && this.select(s.parent);
    const inward = () => s.kids[0] && this.select(s.kids[0]);
    const aside = step => {
      const row = this.rows[s.depth];
      const next = row[row.indexOf(s) + step];
      if (next) this.select(next);
    };
    return {
      ArrowUp: this.up ? inward : outward, ArrowDown: this.up ? outward : inward,
      ArrowLeft: () => aside(-1), ArrowRight: () => aside(1), Home: () => this.select(this.items[0]),
      Enter: () => this.open(s), ' ': () => this.open(s), Escape: () => this.out(), Backspace: () => this.out(),
      n: () => this.hit(1), N: () => this.hit(-1),
      s: () => go({ view: 'sandwich', func: this.answer.funcs[s.box.fn].key, root: '', skip: '', uroot: '', uskip: '' }),
      o: () => go({ view: 'source', func: this.answer.funcs[s.box.fn].key }),
    }[key];
  }
}

const hatches = {};
function hatch(c, dark) {
  if (hatches[dark]) return hatches[dark];
  const tile = make('canvas'), t = tile.getContext('2d');
  tile.width = tile.height = 6;
  t.fillStyle = dark ? '#232a35' : '#f0f2f5';
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = dark ? '#465160' : '#c3cad3';
  t.beginPath();
  t.moveTo(0, 6);
  t.lineTo(6, 0);
  t.stroke();
  return hatches[dark] = c.createPattern(tile, 'repeat');
}

// widthOf returns how wide a text is. Most texts of a graph are there many times, and in each frame.
const widths = new Map();
function widthOf(c, text) {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(text, w = c.measureText(text).width);
  }
  return w;
}

// fitted cuts text to a width. Of a name the path of the package goes first, then the
// package, then the receiver.
function fitted(c, text, width, name) {
  const each = 6.6, fits = t => t.length * 4 <= width && widthOf(c, t) <= width;
  text = text.slice(0, 400);
  for (let i = 0; name && i < 3 && !fits(text); i++) {
    const rest = i ? text.replace(/^[^.(]*\.|^\([^)]*\)\./, '') : text.slice(text.lastIndexOf('/') + 1);
    if (!text.startsWith('[')) text = rest || text;
  }
  if (fits(text)) return text;
  const n = Math.floor(width / each) - 1;
  return n > 1 ? text.slice(0, n) + '…' : '';
}

// ---- Views ----

// loadPlot asks for what a plot draws, and draws it unless something else is on screen by then.
async function loadPlot(plot, args, mine) {
  plot.skip = +args.skip || 0;
  const answer = await ask('flame', { value: state.value || valueName(), gone: info.base && state.gone, ...args }, { px: Math.max(200, plot.el.clientWidth), least: 2, limit: 5000 });
  if (mine === shown) plot.set(answer);
  return answer;
}

// reuse returns the plots of the view that is on screen if it is the same, so that a refresh or a
// zoom changes what they draw and nothing else.
function reuse(key, build) {
  if ($('main').dataset.key !== key) {
    $('main').dataset.key = key;
    plots = [];
    $('main').replaceChildren(...build());
  }
  return plots;
}

function crumbs(answer, zoom, skip) {
  const list = answer.path.concat(answer.boxes[0] || []);
  const parts = list.length > 40 ? list.slice(0, 3).concat(null, list.slice(-36)) : list;
  $('crumbs').replaceChildren(...parts.flatMap((b, i) => {
    if (!b) return ['…'];
    const name = answer.funcs[b.fn].name;
    return [i ? '›' : '', make('button', { title: name, onclick: () => zoom(b.id, 0) }, name.slice(name.lastIndexOf('/') + 1))];
  }), skip ? ` without the ${plural(skip, 'widest callee')}` : '', answer.missing ? ' · what the link points to is not in this record' : '',
  info.base ? ` · base ${info.base}` : '', ...(info.warnings.length ? [make('span', { class: 'warn', title: info.warnings.join('\n') }, ` · ${plural(info.warnings.length, 'warning')}: ${info.warnings[0]}`)] : []));
}

async function showFlame(mine) {
  const kind = state.view === 'goroutines' ? 'goroutines' : 'contexts';
  const up = state.view !== 'icicle' && kind === 'contexts';
  const zoom = (root, skip) => go({ root, skip: skip || '' });
  const [plot] = reuse(state.view || 'flame', () => {
    plots = [new Plot(up, zoom, kind === 'contexts' ? 'Calling contexts. Arrow keys move, Enter zooms, Escape goes out.' : 'Goroutines by what started them')];
    return [plots[0].el];
  });
  const answer = await loadPlot(plot, { kind, root: state.root, skip: state.skip }, mine);
  if (mine === shown) crumbs(answer, zoom, +state.skip);
  $('crumbs').scrollLeft = $('crumbs').scrollWidth;
  return plot.canvas;
}

async function showSandwich(mine) {
  const func = state.func ||= await firstFunction();
  const key = 'sandwich ' + func;
  let middle = $('main').querySelector('.middle');
  const [above, below] = reuse(key, () => {
    middle = make('div', { class: 'middle' });
    plots = [new Plot(true, (uroot, uskip) => go({ func, uroot, uskip: uskip || '' }), 'Callers'), new Plot(false, (root, skip) => go({ func, root, skip: skip || '' }), 'Callees')];
    plots[0].half = true;
    return [plots[0].el, middle, plots[1].el];
  });
  const [callers] = await Promise.all([
    loadPlot(above, { kind: 'callers', func, root: state.uroot, skip: state.uskip }, mine),
    loadPlot(below, { kind: 'callees', func, root: state.root, skip: state.skip }, mine),
  ]);
  if (mine !== shown) return;
  const free = $('main').clientHeight - below.rows.length * rowHeight - 40;
  above.el.style.maxHeight = `${Math.max(free, $('main').clientHeight / 2)}px`;
  const whole = (callers.path[0] || callers.boxes[0]), fn = callers.funcs[whole.fn];
  middle.textContent = `↑ callers · ${fn.name} · ${amount(whole.total)}${noun()} ${share(whole.total, callers.whole)}${info.base ? ' · ' + change(whole.total, whole.baseTotal || 0) : ''} · callees ↓`;
  $('crumbs').replaceChildren('Choose another function in the table, or search for one.');
  return below.canvas;
}

async function firstFunction() {
  const a = await ask('functions', { value: valueName(), q: state.q, sort: 'total', n: '2' });
  const row = a.rows.find(r => !r.pseudo) || a.rows[0];
  if (!row) throw new Error('no function' + (state.q ? ` with “${state.q}” in its name` : ' was called'));
  return row.key;
}

const number = (n, of) => [make('td', {}, amount(n)), make('td', {}, share(n, of))];
const changed = (now, was) => make('td', { class: now > was ? 'up' : now < was ? 'down' : '' }, change(now, was));

async function showFunctions(mine) {
  const args = { value: valueName(), q: state.q, sort: state.sort || 'self', n: '100' };
  let a = await ask('functions', args);
  if (mine !== shown) return;
  $('main').dataset.key = '';
  const body = make('tbody');
  const width = Math.max(9, 3 + amount(Math.max(a.all.self, a.all.base || 0)).length); // nothing is more than all
  const column = (key, text, cls) => make('th', { class: cls || 'amount', ...(args.sort === key ? { 'aria-sort': key === 'name' ? 'ascending' : 'descending' } : {}) },
    make('button', { onclick: () => go({ sort: key }) }, text));
  const head = make('tr', {}, column('self', unitOf().name), make('th', { class: 'share' }, '%'), column('total', 'total'), make('th', { class: 'share' }, '%'),
    ...(info.base ? [column('base', 'base'), column('change', 'change', 'change')] : []), column('contexts', 'contexts'), column('name', 'function', 'name'));
  for (const th of head.cells) { // an attribute of style would be against the policy of the page
    if (th.className === 'amount') th.style.width = `${width}ch`;
    if (th.className === 'change') th.style.width = `${width + 9}ch`;
  }
  const fill = a => {
    for (const r of a.rows) {
      body.append(make('tr', {}, ...number(r.self, a.all.self), ...number(r.total, a.all.self),
        ...(info.base ? [make('td', {}, amount(r.base || 0)), changed(r.self, r.base || 0)] : []),
        make('td', {}, thousands(r.contexts)),
        make('td', { class: 'name' }, make('button', { 'data-key': r.key, title: r.file || '', onclick: () => go({ view: 'sandwich', func: r.key, root: '', skip: '', uroot: '', uskip: '' }) }, r.name))));
    }
    const f = rest(a);
    if (f.functions <= 0) return;
    const more = embedded && a.from + a.rows.length >= embedded[`functions?${new URLSearchParams({ value: args.value })}`].rows.length ? 'not in this file' : 'show more';
    const row = make('tr', { class: 'fold' }, ...number(f.self, a.all.self), make('td', { colspan: info.base ? 5 : 3 }),
      make('td', { class: 'name' }, make('button', { onclick: async () => {
        const next = await ask('functions', { ...args, from: String(a.from + a.rows.length), n: '200' }), at = row.previousElementSibling;
        row.remove();
        fill(next);
        (at.nextElementSibling || at).querySelector('button').focus();
      } },
        `${plural(f.functions, 'more function')}, ${amount(f.self)}${noun()}: ${more}`)));
    body.append(row);
  };
  let before = { functions: 0, self: 0 };
  const rest = a => { // what is folded without the rows that stand there already
    const f = { functions: a.folded.functions - before.functions, self: a.folded.self - before.self };
    for (const r of a.rows) { before.functions++; before.self += r.self; }
    return f;
  };
  fill(a);
  $('main').replaceChildren(make('div', { class: 'scroll' }, make('table', { class: 'long' }, make('thead', {}, head), body)));
  $('crumbs').replaceChildren(`${plural(a.matched.functions, 'function')}${state.q ? ` with “${state.q}”` : ''} · ${amount(a.matched.self)}${noun()}`);
  return body.querySelector('button');
}

async function showSource(mine) {
  const a = await ask('source', { value: valueName(), func: state.func ||= await firstFunction() });
  if (mine !== shown) return;
  $('main').dataset.key = '';
  const most = Math.max(1, ...a.lines.map(l => l.total || l.self || 0));
  const rows = a.lines.map(l => {
    const row = make('tr', { class: l.self || l.total ? 'hot' : '' }, make('td', {}, l.self ? amount(l.self) : ''), make('td', {}, l.total ? amount(l.total) : ''),
      ...(info.base ? [l.base || l.self ? changed(l.self || 0, l.base || 0) : make('td')] : []), make('td', {}, String(l.line)), make('td', { class: 'code' }, l.text));
    row.style.setProperty('--part', `${100 * (l.total || l.self || 0) / most}%`);
    return row;
  });
  if (a.folded.lines) rows.push(make('tr', { class: 'fold' }, make('td', {}, amount(a.folded.self)), make('td'), ...(info.base ? [make('td')] : []), make('td'),
    make('td', { class: 'code' }, `on ${plural(a.folded.lines, 'other line')}, in other files or of unknown place`)));
  const f = a.function, sampled = unitOf().unit === 'nanoseconds';
  const box = make('div', { class: 'scroll', tabindex: 0 }, make('p', { class: 'note' }, `${f.name} ${f.file || ''}${f.line ? ':' + f.line : ''} · ${amount(f.self)}${noun()}, ${amount(f.total)} with what it calls`,
    a.why ? ` · no text: ${a.why}` : ''), make('table', {}, make('thead', {}, make('tr', {}, make('th', {}, sampled ? 'in the line' : 'of callees'), make('th', {}, 'with those below'),
    ...(info.base ? [make('th', {}, 'change')] : []), make('th', {}, 'line'), make('th', { class: 'name' }, ''))), make('tbody', {}, ...rows)));
  $('main').replaceChildren(box);
  $('crumbs').replaceChildren(make('button', { onclick: () => go({ view: 'sandwich', func: f.key }) }, f.name));
  return box;
}

async function showTimeline(mine) {
  if (!info.epochs) throw new Error('a timeline shows how an encoding of contexts changed; this record has none (build with -engine=dacce)');
  const a = await ask('epochs');
  if (mine !== shown) return;
  $('main').dataset.key = '';
  const last = Math.max(1e-9, ...a.points.map(p => p.seconds)), most = Math.max(1, ...a.points.map(p => p.maxID));
  const canvas = make('canvas', { role: 'img', 'aria-label': 'Largest id by time of epoch' });
  const table = make('table', {}, make('thead', {}, make('tr', {}, make('th', {}, 'epochs'), make('th', {}, 'until, s'), make('th', {}, 'largest id'), make('th', { class: 'name' }, ''))),
    make('tbody', {}, ...a.points.map(p => make('tr', {}, make('td', {}, p.epochs > 1 ? `${p.first} to ${p.first + p.epochs - 1}` : String(p.first)), make('td', {}, p.seconds.toFixed(3)),
      make('td', {}, thousands(p.maxID)), make('td', { class: 'name' }, p.unknown ? `${plural(p.unknown, 'epoch')} lost` : '')))));
  const box = make('div', { class: 'scroll', tabindex: 0 }, make('p', { class: 'note' }, a.stats.map(s => `${s.name} ${s.value}`).join(' · ')), canvas,
    a.points.length ? table : make('p', { class: 'note' }, 'This encoding never changes: it has no epochs.'));
  $('main').replaceChildren(box);
  $('crumbs').replaceChildren(`${plural(a.all, 'epoch')}, drawn as ${plural(a.points.length, 'point')}`);
  const width = Math.max(200, box.clientWidth - 24), height = 180, ratio = window.devicePixelRatio || 1;
  canvas.width = width * ratio;
  canvas.height = height * ratio;
  canvas.style.width = width + 'px';
  const c = canvas.getContext('2d'), style = getComputedStyle(document.documentElement);
  c.scale(ratio, ratio);
  c.strokeStyle = style.getPropertyValue('--line');
  c.strokeRect(0.5, 0.5, width - 1, height - 1);
  c.fillStyle = style.getPropertyValue('--accent');
  for (const p of a.points) {
    const h = (height - 10) * Math.log2(1 + p.maxID) / Math.log2(1 + most);
    c.fillRect(4 + (width - 12) * p.seconds / last, height - h, 4, h);
  }
  c.fillText(`largest id (log), up to ${thousands(most)}; ${last.toFixed(3)} s`, 14, 14);
  return box;
}

// ---- Search ----

function search(text) {
  text = text.trim();
  if (!/^stm[0-9][A-Za-z0-9_-]{20,}$/.test(text)) return go({ q: text, view: ['flame', 'icicle', 'functions', 'goroutines'].includes(viewOf(state)) ? state.view : 'functions' });
  return go({ view: 'context', id: text });
}

async function showContext(mine) {
  const a = await ask('context', { id: state.id, value: state.value });
  if (mine !== shown) return;
  const lines = a.frames.slice().reverse().map((f, i) => make('tr', {}, make('td', {}, String(i)),
    make('td', { class: 'name' }, `${f.func}${f.via ? ` (${f.via})` : ''}`), make('td', { class: 'name' }, f.file ? 'called at' + place(f) : '')));
  const box = make('div', { class: 'scroll', tabindex: 0 }, make('p', { class: 'note' }, state.id + ' ',
    a.node ? make('button', { onclick: () => go({ view: 'flame', root: a.node, skip: '' }) }, a.depth === a.frames.length ? 'show in the flame graph' : 'show the part of it that has values') : '· no value was recorded in this context'),
  make('table', {}, make('tbody', {}, ...lines)));
  $('main').dataset.key = '';
  $('main').replaceChildren(box);
  $('crumbs').replaceChildren('A context ID, innermost frame first');
  return box;
}

// ---- The page ----

function show(focus) { return drawn = draw(focus); }

async function draw(focus) {
  const mine = ++shown;
  for (const b of $('tabs').children) b.toggleAttribute('aria-current', false);
  const tab = [...$('tabs').children].find(b => b.dataset.view === (state.view || 'flame'));
  if (tab) tab.setAttribute('aria-current', 'page');
  $('value').value = valueName();
  if (document.activeElement !== $('search')) $('search').value = state.q || '';
  $('gone').setAttribute('aria-pressed', String(!!state.gone));
  document.documentElement.classList.toggle('dark', dark());
  const view = { sandwich: showSandwich, functions: showFunctions, source: showSource, timeline: showTimeline, context: showContext }[state.view] || showFlame;
  try {
    const el = info.values.length || ['timeline', 'context'].includes(state.view) ? await view(mine) : await Promise.reject(new Error('this record has no values: build with -events=alloc,block,go to see events by context, or paste a context ID'));
    for (const p of plots) p.later();
    if (el && focus !== false && mine === shown && !['INPUT', 'SELECT'].includes(document.activeElement.tagName) && !$('main').contains(document.activeElement)) el.focus({ preventScroll: true });
    requestAnimationFrame(() => { window.painted ||= performance.now(); }); // behind the plots' own
  } catch (err) {
    if (mine !== shown) return;
    $('main').dataset.key = '';
    $('main').replaceChildren(make('div', { class: 'scroll' }, make('p', { class: 'note' }, err.message)));
  }
}

const dark = () => state.theme ? state.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;

const keys = [
  ['1 … 7', 'views'], ['Tab', 'to the plot, the table, and what is above'], ['arrows', 'move in a plot or a table, scroll text'], ['Enter', 'zoom in, open a fold'], ['Esc, ⌫', 'zoom out; then back to the view before'],
  ['/', 'search by function, or paste a context ID'], ['n, N', 'next and last box that was found'], ['s, o', 'callers and callees, or source, of what is selected'], ['v', 'next value'], ['g', 'what only the base has, too'], ['l', 'go on or stop reading a running program'], ['t', 'dark or light'], ['?', 'these keys'],
];
const toggles = {
  t: () => go({ theme: dark() ? 'light' : 'dark' }, true),
  g: () => info.base && go({ gone: state.gone ? '' : '1' }),
  l: () => info.live && follow(!timer),
  v: () => go({ value: info.values[(info.values.findIndex(v => v.name === valueName()) + 1) % info.values.length].name }),
  '/': () => { $('search').focus(); $('search').select(); },
  '?': () => $('keys').showModal(),
  Escape: back,
  Backspace: back,
};

function pressed(e) {
  if (e.ctrlKey || e.metaKey || e.altKey || $('keys').open) return; // Escape closes what lists the keys
  if (['INPUT', 'SELECT'].includes(e.target.tagName)) {
    if (e.key === 'Escape') { e.target.blur(); show(); }
    return;
  }
  const func = (e.target.dataset && e.target.dataset.key) || state.func;
  const act = toggles[e.key] || (views[e.key - 1] && (() => turn(views[e.key - 1][0]))) ||
    (func && { s: () => go({ view: 'sandwich', func, root: '', skip: '', uroot: '', uskip: '' }), o: () => go({ view: 'source', func }) }[e.key]);
  if (act) {
    e.preventDefault();
    act();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key], row = e.target.closest('tr');
  const next = step && row && (step > 0 ? row.nextElementSibling : row.previousElementSibling);
  if (!next) {
    const plot = plots[plots.length - 1]; // one that is not drawn yet has no focus
    if (e.target === document.body && plot && plot.el.isConnected) plot.key(e);
    return;
  }
  e.preventDefault();
  const button = next.querySelector('button');
  if (button) button.focus();
}

// follow begins or ends to look for what a running program has recorded since.
function follow(on) {
  clearTimeout(timer);
  timer = 0;
  $('live').setAttribute('aria-pressed', String(on));
  const look = async () => {
    const before = info.gen;
    try {
      info = await ask('info');
      if (info.gen !== before) await show(false);
      if (timer) timer = info.live ? setTimeout(look, 1500) : 0;
    } catch (err) {
      $('status').textContent = `the server does not answer: ${err.message}`;
      if (timer) timer = setTimeout(look, 3000);
    }
    if (!timer) $('live').setAttribute('aria-pressed', 'false');
  };
  if (on) timer = setTimeout(look, 1500);
}

async function start() {
  info = await ask('info');
  state = readLink();
  document.title = `${info.title} · stemma`;
  $('title').textContent = info.title;
  $('title').title = info.records.concat(info.programs, info.warnings).join('\n');
  $('value').append(...info.values.map(v => make('option', { value: v.name }, v.name)));
  $('tabs').append(...views.filter(([v]) => v !== 'timeline' || info.epochs).map(([view, label], i) =>
    make('button', { 'data-view': view, title: `key ${i + 1}`, onclick: () => turn(view) }, label)));
  $('gone').hidden = !info.base;
  $('live').hidden = !info.live;
  $('keys').append(make('table', {}, ...keys.map(([k, what]) => make('tr', {}, make('td', {}, make('kbd', {}, k)), make('td', { class: 'name' }, what)))),
    make('form', { method: 'dialog' }, make('button', {}, 'close')));
  $('value').addEventListener('change', e => go({ value: e.target.value }));
  $('search').addEventListener('keydown', e => {
    if (e.key !== 'Enter') return;
    e.target.blur(); // the view gets the focus
    search(e.target.value);
  });
  for (const [id, key] of [['gone', 'g'], ['live', 'l'], ['theme', 't'], ['help', '?']]) $(id).addEventListener('click', toggles[key]);
  document.addEventListener('keydown', pressed);
  addEventListener('popstate', () => { state = readLink(); show(); });
  $('status').textContent = info.programs[0] || '';
  await show();
  if (info.live) follow(true);
}

start().catch(err => { $('main').replaceChildren(make('p', { class: 'note' }, err.message)); });
