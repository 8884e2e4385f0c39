// The page of stemma view. It draws what the server, or the file that it is in, has pruned.
import { $, hideTip, make } from './dom.js';
import { ask, Gone } from './ask.js';
import { back, go, isDark, ofAll, outside, page, readLink, turn, viewOf } from './state.js';
import { isPlot, metricName, selections, toFunction, views } from './state.js';
import { exactly } from './names.js';
import { choose, copy } from './copy.js';
import { answered, bringBack, showFlame, showSandwich } from './flame.js';
import { showFunctions, showPeek } from './table.js';
import { showSource } from './source.js';
import { showContext, showTimeline } from './ids.js';
import { search, showFound } from './search.js';
import { listKeys, showLegend } from './help.js';
import { follow, following } from './follow.js';

const drawers = {
  sandwich: showSandwich, functions: showFunctions, source: showSource, timeline: showTimeline, context: showContext,
  peek: showPeek,
};

// show draws what the state asks for. It gives the view the focus, unless it draws the same again.
function show(focus) { return page.drawn = draw(focus !== false); }

// onScreen is the state that is on screen.
let onScreen = null;

async function draw(focus) {
  const mine = ++page.shown, { state, info } = page;
  const notes = [$('found'), $('warnings')].filter(el => !el.hidden);
  page.again = !focus;
  hideTip();
  frame();
  try {
    if (!info.values.length && !['timeline', 'context'].includes(state.view)) {
      throw new Error('This record has no metrics: build with -events=alloc,block,go to see events by context, ' +
        'or paste a context ID.');
    }
    const el = await (drawers[state.view] || showFlame)(mine);
    if (mine === page.shown) {
      answered();
      onScreen = state;
    }
    for (const p of page.plots) p.later();
    // A plot says what is selected in it; other views leave nothing there of a plot before them.
    if (el && focus && !isPlot(viewOf(state))) $('status').textContent = info.programs[0] || '';
    if (el && focus && mine === page.shown && free()) el.focus({ preventScroll: true });
  } catch (err) {
    if (mine !== page.shown) return;
    if (err instanceof Gone) { // what was on screen stays; the banner says why
      bringBack();
      frameOf(onScreen || state, notes);
      return;
    }
    answered();
    onScreen = state;
    $('main').dataset.key = '';
    const note = make('p', { class: 'note', role: 'alert' }, err.message);
    $('main').replaceChildren(make('div', { class: 'scroll', tabindex: 0 }, note));
    $('crumbs').replaceChildren(); // what was zoomed to or chosen before is not on screen
    $('legend').hidden = true;
    choose('');
    $('status').textContent = '';
    showFound([]);
  } finally {
    requestAnimationFrame(() => { window.painted ||= performance.now(); }); // behind the plots' own
  }
}

// frame draws what is around the view.
function frame() {
  const { state } = page;
  for (const b of $('tabs').children) {
    b.toggleAttribute('aria-current', false);
    if (b.dataset.view === (state.view || 'flame')) b.setAttribute('aria-current', 'page');
  }
  $('metric').value = metricName();
  if (document.activeElement !== $('search')) $('search').value = state.q || '';
  $('gone').hidden = !page.info.base || !ofAll(viewOf(state));
  $('gone').setAttribute('aria-pressed', String(!!state.gone));
  document.documentElement.classList.toggle('dark', isDark());
  if (!page.again) $('found').hidden = $('warnings').hidden = true;
  showLegend();
}

// frameOf draws what was around the view that is on screen again, as the one that was asked for does not come. The link
// has what was asked for, for another try. What is dark or light needs no answer.
function frameOf(state, notes) {
  const asked = page.state;
  page.state = { ...state, theme: asked.theme };
  frame();
  page.state = asked;
  for (const el of notes) el.hidden = false;
}

// free reports whether nobody uses what has the focus.
const free = () => !['INPUT', 'SELECT'].includes(document.activeElement.tagName) &&
  !$('main').contains(document.activeElement);

const toggles = {
  t: () => go({ theme: isDark() ? 'light' : 'dark' }, true),
  g: () => !$('gone').hidden && go({ gone: page.state.gone ? '' : '1' }),
  l: () => page.info.running && follow(!following()),
  v: nextValue,
  '/': () => { $('search').focus(); $('search').select(); },
  '?': () => $('keys').showModal(),
  F: () => selections.some(k => page.state[k]) && go({ focus: '', ignore: '', hide: '', ...outside }),
  y: () => copying('name'),
  Y: () => copying('stack'),
  Escape: back,
  Backspace: back,
};

// copying copies what is selected when the keys before this one were followed.
const copying = what => page.typed.then(() => page.drawn).then(() => copy(what));

function nextValue() {
  const { values } = page.info;
  return go({ metric: values[(values.findIndex(v => v.name === metricName()) + 1) % values.length].name });
}

// ofFunction returns what a key does with the function of a row, or with the one that the view is about.
function ofFunction(key, data) {
  const func = data.name ? data.key : page.state.func, name = data.name;
  const choosing = what => name && (() => go({ [what]: exactly(name), ...outside }));
  return {
    s: func && (() => toFunction('sandwich', func)), o: func && (() => toFunction('source', func)),
    p: func && (() => toFunction('peek', func)),
    f: choosing('focus'), i: choosing('ignore'), h: choosing('hide'),
  }[key];
}

function pressed(e) {
  hideTip();
  if (e.ctrlKey || e.metaKey || e.altKey || $('keys').open) return; // Escape closes what lists the keys
  if (['INPUT', 'SELECT'].includes(e.target.tagName)) {
    if (e.key === 'Escape') { e.target.blur(); show(); }
    return;
  }
  const view = views[e.key - 1];
  const act = toggles[e.key] || (view && (() => turn(view[0]))) || ofFunction(e.key, e.target.dataset || {});
  if (act) {
    e.preventDefault();
    act();
    return;
  }
  const step = { ArrowDown: 1, ArrowUp: -1 }[e.key], row = e.target.closest('tr');
  if (step && row) return toRow(e, row, step);
  const plot = page.plots[page.plots.length - 1]; // one that is not drawn yet has no focus
  if (e.target === document.body && plot && plot.el.isConnected) plot.key(e);
}

// toRow moves the focus to the next row, or the one before, that has a button.
function toRow(e, row, step) {
  let next = row, button = null;
  do next = step > 0 ? next.nextElementSibling : next.previousElementSibling;
  while (next && !(button = next.querySelector('button')));
  if (!button) return;
  e.preventDefault();
  button.focus();
}

function title() {
  const { info } = page;
  document.title = `${info.title} · stemma`;
  $('title').textContent = info.title;
  $('title').title = info.records.concat(info.programs, info.warnings).join('\n');
  $('metric').append(...info.values.map(v => make('option', { value: v.name }, v.name)));
  $('metric').hidden = !info.values.length;
  $('tabs').append(...views.flatMap(([view, label], i) => view === 'timeline' && !info.epochs ? []
    : [make('button', { 'data-view': view, title: `key ${i + 1}`, onclick: () => turn(view) }, label)]));
  $('follow').hidden = !info.running;
  $('status').textContent = info.programs[0] || '';
}

function listen() {
  $('metric').addEventListener('change', e => go({ metric: e.target.value }));
  $('search').addEventListener('keydown', e => {
    if (e.key !== 'Enter') return;
    e.target.blur(); // the view gets the focus
    search(e.target.value);
  });
  const buttons = { gone: 'g', follow: 'l', theme: 't', help: '?', copyname: 'y', copystack: 'Y' };
  for (const [id, key] of Object.entries(buttons)) {
    $(id).addEventListener('click', toggles[key]);
  }
  $('again').addEventListener('click', () => show());
  document.addEventListener('keydown', pressed);
  document.addEventListener('focusin', e => {
    if (e.target.dataset && e.target.dataset.name) choose(e.target.dataset.name);
  });
  addEventListener('popstate', () => { page.state = readLink(); show(); });
}

async function start() {
  page.show = show;
  page.info = await ask('info');
  page.state = readLink();
  title();
  listKeys();
  listen();
  await show();
  if (page.info.running) follow(true);
}

start().catch(err => { $('main').replaceChildren(make('p', { class: 'note' }, err.message)); });
