// Asking: the server, or the file that the page is in.
import { $ } from './dom.js';
import { busy } from './busy.js';

// Is this page in a file, with answers to what it may ask?
export const embedded = Boolean($('answers'));
let answers; // of the file, when they are asked for

// unpack returns the answers of the file by their questions.
async function unpack() {
  if (!globalThis.DecompressionStream) throw new Error('this browser is too old for this file: it cannot decompress');
  const packed = Uint8Array.from(atob($('answers').textContent), c => c.charCodeAt(0));
  return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream('gzip'))).json();
}

// A Gone is the error of a server that cannot be reached.
export class Gone extends Error {}

// ask returns the answer to a question; in a file, one that the file has.
export async function ask(question, args = {}, bounds = {}, quiet = false) {
  const own = Object.entries(args).filter(([, v]) => v).sort(([a], [b]) => a < b ? -1 : 1);
  if (embedded) return inFile(await (answers ||= unpack()), question, Object.fromEntries(own));
  const over = quiet ? () => {} : busy();
  try {
    const answer = await reply(`/ask/${question}?${new URLSearchParams([...own, ...Object.entries(bounds)])}`);
    if (answer.error) throw new Error(answer.error);
    return answer;
  } finally {
    over();
  }
}

// reply returns what the server says, and shows whether it is there.
async function reply(path) {
  let response;
  try {
    response = await fetch(path);
  } catch {
    $('banner').hidden = false;
    throw new Gone('stemma view does not answer');
  }
  $('banner').hidden = true;
  const text = await response.text();
  try {
    return JSON.parse(text);
  } catch {
    return { error: `the server says: ${text.slice(0, 300)}` };
  }
}

// inFile answers from the file. It zooms, sorts and searches without a server.
function inFile(all, question, { q, sort, from, n, root, skip, ...rest }) {
  const found = all[`${question}?${new URLSearchParams(rest)}`];
  if (!found) throw new Error('not in this file; open the record with stemma view');
  if (question === 'functions') return sifted(found, q, sort, +from || 0, +n || 300);
  return question === 'flame' ? searched(rerooted(found, root, +skip || 0), q) : found;
}

// matcher returns what finds names by text: a part of the name in any case, or a regular expression between slashes.
function matcher(text) {
  if (!text) return () => true;
  if (text.length > 2 && text.startsWith('/') && text.endsWith('/')) {
    const re = new RegExp(text.slice(1, -1));
    return name => re.test(name);
  }
  return name => name.toLowerCase().includes(text.toLowerCase());
}

// sifted does in a file what the server does with the table.
function sifted(all, q, sort = 'self', from, n) {
  const order = {
    name: () => 0, change: r => Math.abs(r.self - (r.base || 0)),
    self: r => r.self, total: r => r.total, contexts: r => r.contexts, base: r => r.base || 0,
  }[sort];
  const zero = { functions: 0, self: 0, base: 0, contexts: 0 };
  const add = (sum, r) => ({
    functions: sum.functions + 1, self: sum.self + r.self, base: sum.base + (r.base || 0),
    contexts: sum.contexts + r.contexts,
  });
  const match = matcher(q);
  const hits = all.rows.filter(r => match(r.name))
    .sort((a, b) => order(b) - order(a) || (sort === 'self' && b.total - a.total) || (a.name < b.name ? -1 : 1));
  const matched = hits.reduce(add, zero), rows = hits.slice(from, from + n), shown = rows.reduce(add, zero);
  const left = k => matched[k] - shown[k] + (q ? 0 : all.rest[k] || 0);
  const rest = Object.fromEntries(Object.keys(zero).map(k => [k, left(k)]));
  return { ...all, rows, from, matched: q ? matched : all.matched, rest, inFile: all.rows.length };
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

// searched does in a file what the server does with a search in a plot. What is not drawn is not in the file.
function searched(a, q) {
  if (!q) return a;
  const match = matcher(q), funcs = a.funcs.map(f => ({ ...f, hit: !f.pseudo && match(f.name) }));
  const hits = { functions: new Set(), boxes: 0, total: 0, base: 0 }, within = [];
  a.boxes.forEach((b, i) => {
    const hit = funcs[b.fn].hit;
    within[i] = hit || (i > 0 && b.up > 0 && within[b.up]);
    if (!hit) return;
    hits.boxes++;
    hits.functions.add(b.fn);
    if (i > 0 && b.up > 0 && within[b.up]) return;
    hits.total += b.total;
    hits.base += b.baseTotal || 0;
  });
  return { ...a, funcs, hits: { ...hits, functions: hits.functions.size, unknown: a.boxes.some(b => b.rest) } };
}
