// Searching, and leaving contexts out.
import { $, make } from './dom.js';
import { embedded } from './ask.js';
import { go, outside, page, selections, viewOf } from './state.js';
import { counted, plural, quoted, share, thousands, wanted } from './words.js';

// search shows what text stands for: a context ID, or functions.
export function search(text) {
  text = text.trim();
  if (/^stm[0-9][A-Za-z0-9_-]{20,}$/.test(text)) return go({ view: 'context', id: text });
  const stays = ['flame', 'icicle', 'functions', 'goroutines'].includes(viewOf(page.state));
  return go({ q: text, view: stays ? page.state.view : 'functions' });
}

// showFound says what the search has found in plots, or in a table, and what is left out.
export function showFound(parts, table) {
  const { q } = page.state, chosen = selections.filter(k => page.state[k]);
  const searched = q && (table || parts.length);
  $('found').hidden = !searched && !chosen.length;
  if ($('found').hidden) return;
  const text = !searched ? '' : table ? ofTable(table, q) : parts.map(([name, a]) => name + ofPlot(a, q)).join(' · ');
  const plain = k => () => go({ [k]: '', ...outside });
  const chips = chosen.map(k => make('button', { class: 'chip', title: `no ${k} any more`, onclick: plain(k) },
    `${k} ${page.state[k]} ✕`));
  const any = table ? table.matched.functions : parts.some(([, a]) => a.hits && a.hits.boxes);
  const acts = !searched ? [] : [
    ...(any && parts.length ? [button('‹', 'the one before (N)', () => step(-1)),
      button('›', 'the next one (n)', () => step(1))] : []),
    ...(embedded || !any ? [] : selections.map(k => button(k, about[k], () => go({ [k]: q, q: '', ...outside })))),
    button('✕', 'end the search', () => go({ q: '' })),
  ];
  $('found').replaceChildren(...chips, make('span', { class: 'text' }, text), ...acts);
}

const about = {
  focus: 'only contexts that have one of these functions', ignore: 'no contexts that have one of them',
  hide: 'leave these functions out of contexts: what they have counts at their callers',
};

const button = (text, title, onclick) => make('button', { title, 'aria-label': title, onclick }, text);

function step(by) {
  const plot = page.plots[page.plots.length - 1];
  plot.canvas.focus();
  plot.hit(by);
}

// ofPlot says what is found in a plot: how much of the value that is, and what of it has no box.
function ofPlot({ hits, whole }, q) {
  if (!hits || !hits.boxes) {
    if (hits && hits.unknown) return `no box here ${wanted(q)}; what is too small to draw is not in this file`;
    return `nothing found: no function here ${wanted(q)}`;
  }
  const unseen = hits.inRest ? `, ${thousands(hits.inRest)} of them too small to draw`
    : hits.unknown ? ', and what is not drawn' : '';
  const found = `${quoted(q)}: ${plural(hits.functions, 'function')} in ${plural(hits.boxes, 'box', 'boxes')}${unseen}`;
  return `${found} · total ${counted(hits.total)} ${share(hits.total, whole)}`;
}

function ofTable(a, q) {
  if (!a.matched.functions) return `nothing found: no function ${wanted(q)}`;
  const { functions, self } = a.matched;
  const found = `${quoted(q)}: ${plural(functions, 'function')} of ${thousands(a.all.functions)}`;
  return `${found} · ${counted(self)} ${share(self, a.whole)}`;
}
