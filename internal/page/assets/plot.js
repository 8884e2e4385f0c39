// A plot: boxes on a canvas.
import { hideTip, make, showTip } from './dom.js';
import { back, go, isDark, outside, page, toFunction } from './state.js';
import { baseText, changed, counted, placeOf, plural, share } from './words.js';
import { colours, restInk, font, foundColours, hatch } from './colours.js';
import { exactly, fitted, widthOf } from './names.js';
import { choose } from './copy.js';

const rowHeight = 19;

// A Plot draws an answer. Rows grow downward, or upward from the bottom; only those on screen are
// drawn. A rest is drawn behind the children of its box, hatched.
export class Plot {
  constructor({ up = false, inward = false, numbers = false, half = false, label }, zoom) {
    Object.assign(this, { up, inward, numbers, half, zoom });
    this.canvas = make('canvas', { tabindex: 0, role: 'application', 'aria-label': label });
    this.space = make('div');
    this.el = make('div', { class: 'plot' }, this.canvas, this.space);
    this.el.addEventListener('scroll', () => this.scrolled());
    this.canvas.addEventListener('mousemove', e => this.hover(e));
    this.canvas.addEventListener('mouseleave', hideTip);
    this.canvas.addEventListener('click', e => this.click(e));
    this.canvas.addEventListener('keydown', e => this.key(e));
    this.canvas.addEventListener('focus', () => this.say());
    new ResizeObserver(() => this.later()).observe(this.el);
    this.items = [];
    this.rows = [];
    this.high = 0;
    this.below = 0; // what is scrolled away below
  }

  under() { return this.el.scrollHeight - this.el.clientHeight - this.el.scrollTop; }

  scrolled() {
    hideTip();
    if (this.el.clientHeight === this.fitted) this.below = this.under(); // else it is about to be fitted again
    this.later();
  }

  // set draws another answer. Of one that was on screen before, read again, what is scrolled to stays.
  set(answer) {
    const before = this.selected, first = !this.answer;
    const above = this.el.scrollTop;
    this.answer = answer;
    hideTip();
    this.layout();
    this.high = this.rows.length * rowHeight + 4;
    // Of two plots the lower one has room for its rows, up to half of all, and what the upper one leaves.
    if (this.half) this.el.style.flex = this.up ? `0 1 ${this.high}px` : `1 0 min(${this.high}px, 45%)`;
    const same = i => i.box.id === before.box.id && !i.rest === !before.rest;
    this.selected = (before && this.items.find(same)) || this.items[0];
    if (!page.again || first) this.below = 0;
    this.resize();
    if (!this.up) this.el.scrollTop = page.again && !first ? above : 0;
    if (page.again) this.sayAgain();
    else if (this.speaks()) this.say();
    this.later();
  }

  // layout gives each box and rest its place in [0, 1] and its row.
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
      const f = item.box.rest;
      if (!f) continue;
      const left = item.x + item.w - item.next;
      const w = !scaled && !item.parent ? left : Math.min(left, span ? f.w / span : 0);
      const rest = { box: item.box, rest: f, parent: item, kids: [], depth: item.depth + 1, x: item.next, w };
      item.kids.push(rest);
      this.items.push(rest);
    }
    for (const item of this.items) (this.rows[item.depth] ||= []).push(item);
    for (const row of this.rows) row.sort((a, b) => a.x - b.x);
  }

  // resize fits the canvas to its place. What has its size already is left alone: a canvas that
  // gets a size is a new one. What grows upward stays where it is seen from below.
  resize() {
    const width = this.el.clientWidth, height = this.el.clientHeight, ratio = window.devicePixelRatio || 1;
    if (!width || !height) return;
    this.fitted = height;
    this.space.style.height = Math.max(0, this.high - height) + 'px';
    const size = `${width} ${height} ${ratio}`;
    if (size !== this.size) {
      this.size = size;
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
      this.canvas.style.width = width + 'px';
      this.canvas.style.height = height + 'px';
    }
    if (this.up) this.el.scrollTop = this.el.scrollHeight - this.el.clientHeight - this.below;
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
    const dark = isDark();
    c.font = font;
    c.textBaseline = 'middle';
    this.rows.forEach((row, depth) => {
      const y = this.top(depth);
      if (y < -rowHeight || y > height) return;
      for (const item of row) this.paint(c, item, y, width, dark);
    });
    const s = this.selected;
    if (s && document.activeElement === this.canvas) {
      c.strokeStyle = dark ? '#fff' : '#000';
      c.lineWidth = 2;
      c.strokeRect(s.x * width + 1, this.top(s.depth) + 1, Math.max(2, s.w * width - 2), rowHeight - 3);
    }
  }

  paint(c, item, y, width, dark) {
    const x = item.x * width, w = item.w * width;
    if (w < 0.2) return;
    const fn = this.answer.funcs[item.box.fn], h = rowHeight - 1, inner = w > 3 ? w - 1 : w;
    let ink = restInk(dark), fill = '';
    if (item.rest) {
      fill = hatch(c, dark, !!item.rest.hits);
    } else {
      [fill, ink] = fn.hit ? foundColours : colours(item.box, fn, dark);
    }
    c.fillStyle = fill;
    c.fillRect(x, y, inner, h);
    if (w < 24) return;
    c.fillStyle = ink;
    const [text, more] = item.rest ? [fitted(c, this.restText(item.rest), w - 8)] : this.label(c, item.box, fn, w);
    if (text) c.fillText(text, x + 4, y + h / 2 + 0.5);
    if (more) c.fillText(more, x + w - 6 - widthOf(c, more), y + h / 2 + 0.5);
  }

  // label returns what a box of a width says: a name and, in a plot of numbers, one beside it. A name that leaves no
  // room for that is cut further, as long as it says something.
  label(c, box, fn, w) {
    const text = fitted(c, fn.name, w - 8, true);
    if (!text || !this.numbers) return [text];
    const list = this.numbersOf(box), room = w - 22 - widthOf(c, text), more = list.find(t => widthOf(c, t) <= room);
    if (more) return [text, more];
    const least = list.reduce((s, t) => widthOf(c, t) < widthOf(c, s) ? t : s);
    const cut = fitted(c, fn.name, w - 22 - widthOf(c, least), true);
    return cut.length < 6 ? [text] : [cut, least];
  }

  // numbersOf is what a box says beside its name where there is room, from the longest to the shortest.
  numbersOf(b) {
    const own = counted(b.self), part = share(b.self, this.answer.whole);
    const list = [`${own} · ${part}`, own, part];
    return b.started ? [`${plural(b.started, 'goroutine')} · ${own} · ${part}`, ...list] : list;
  }

  restText(f) {
    const hits = f.hits ? `${thousandsFound(f.hits)}: ` : '';
    return `${hits}${plural(f.contexts, 'context')}, ${counted(f.total)}${baseText(f.baseTotal)}`;
  }

  // text describes an item in full.
  text(item) {
    const a = this.answer, b = item.box, fn = a.funcs[b.fn], whole = a.whole;
    if (item.rest) {
      const scale = a.scaled ? '' : ' · not drawn to scale';
      const part = share(item.rest.total, whole);
      return `the rest below ${fn.name}: ${this.restText(item.rest)} · ${part} · open with Enter${scale}`;
    }
    const site = a.sites[b.site], via = (site.via ? ` (${site.via})` : '') + (b.mark ? ` (${b.mark})` : '');
    let text = `${fn.name}${via} · total ${counted(b.total)} ${share(b.total, whole)} · own ${counted(b.self)}`;
    if (b.started) text += ` · ${plural(b.started, 'goroutine')} started`;
    text += ` · ${plural(b.contexts, 'context')}`;
    if (page.info.base) text += ` · ${changed(b.total, b.baseTotal || 0)}`;
    if (site.file) text += ` · called at${placeOf(site)}`;
    return text;
  }

  // stack returns the functions from an item on outward, with the place where each was called.
  stack(item) {
    const a = this.answer, own = [];
    for (let i = item; i; i = i.parent) if (!i.rest) own.push(i.box);
    // In a plot of callers the function is the root, and each box has the place from which it calls the one inside.
    const list = this.inward ? a.path.concat(own.reverse()) : own.concat(a.path.slice().reverse());
    const site = i => this.inward ? list[i + 1] && a.sites[list[i + 1].site] : a.sites[list[i].site];
    return list.map((b, i) => a.funcs[b.fn].name + (placeOf(site(i)) || ''));
  }

  say() {
    const s = this.selected;
    if (s) {
      document.getElementById('status').textContent = this.said = this.text(s);
      choose(this.answer.funcs[s.box.fn].name, this.stack(s));
    }
    this.later();
  }

  // speaks reports whether the last line is about this plot: of two, about that which has the focus, or else the lower.
  speaks() {
    const focused = page.plots.find(p => p.canvas === document.activeElement);
    return this === (focused || page.plots[page.plots.length - 1]);
  }

  // sayAgain brings what the footer says of a box up to date. It is not read aloud each time.
  sayAgain() {
    const status = document.getElementById('status');
    if (!this.said || status.textContent !== this.said) return;
    status.ariaLive = 'off';
    this.say();
    setTimeout(() => { status.ariaLive = 'polite'; }, 1000);
  }

  at(e) {
    const box = this.canvas.getBoundingClientRect(), x = (e.clientX - box.left) / box.width, y = e.clientY - box.top;
    const row = this.rows.find((_, depth) => y >= this.top(depth) && y < this.top(depth) + rowHeight);
    return row && row.find(i => x >= i.x && x < i.x + i.w);
  }

  hover(e) {
    const item = this.at(e);
    if (item) showTip(this.text(item).replaceAll(' · ', '\n'), e.clientX, e.clientY);
    else hideTip();
  }

  click(e) {
    const item = this.at(e);
    hideTip();
    this.canvas.focus();
    if (!item) return;
    this.select(item);
    this.open(item);
  }

  // open zooms to a box, or to what a rest stands for; to the root again, one level out.
  open(item) {
    if (item.rest) return this.zoom(item.box.id, item.rest.skip);
    if (item === this.items[0]) return this.out();
    return this.zoom(item.box.id, 0);
  }

  out() {
    const { path, boxes } = this.answer;
    if (this.skip) return this.zoom(boxes[0].id, 0);
    return path.length ? this.zoom(path[path.length - 1].id, 0) : back();
  }

  // hit selects the next box, or with step -1 the one before, that the search finds; a rest, if it does in it.
  hit(step) {
    if (!page.state.q) return;
    const found = i => i.rest ? i.rest.hits : this.answer.funcs[i.box.fn].hit;
    const list = this.rows.flat().filter(i => i === this.selected || found(i));
    const next = list[(list.indexOf(this.selected) + step + list.length) % list.length];
    if (next) this.select(next);
  }

  select(item) {
    this.selected = item;
    hideTip();
    const y = this.top(item.depth);
    if (y < 0) this.el.scrollTop += y - 4;
    if (y + rowHeight > this.el.clientHeight) this.el.scrollTop += y + rowHeight - this.el.clientHeight + 4;
    this.say();
  }

  // key follows a key when what those before it ask for is on screen: it means what is on screen at that moment.
  key(e) {
    hideTip();
    if (e.ctrlKey || e.metaKey || e.altKey || !this.act(e.key)) return;
    e.preventDefault();
    e.stopPropagation();
    page.typed = page.typed.then(() => page.drawn).then(() => {
      const plot = this.el.isConnected ? this : page.plots[page.plots.length - 1];
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
    const fn = () => this.answer.funcs[s.box.fn];
    const choosing = what => () => fn().pseudo || go({ [what]: exactly(fn().name), ...outside });
    return {
      ArrowUp: this.up ? inward : outward, ArrowDown: this.up ? outward : inward,
      ArrowLeft: () => aside(-1), ArrowRight: () => aside(1), Home: () => this.select(this.items[0]),
      Enter: () => this.open(s), ' ': () => this.open(s), Escape: () => this.out(), Backspace: () => this.out(),
      n: () => this.hit(1), N: () => this.hit(-1),
      s: () => toFunction('sandwich', fn().key), o: () => toFunction('source', fn().key),
      p: () => toFunction('peek', fn().key),
      f: choosing('focus'), i: choosing('ignore'), h: choosing('hide'),
    }[key];
  }
}

const thousandsFound = n => `${plural(n, 'box', 'boxes')} found in`;

