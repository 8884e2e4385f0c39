// Colours of boxes and of the text in them.
import { make } from './dom.js';
import { page } from './state.js';

export const font = '12px system-ui, "DejaVu Sans", sans-serif';

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

// What a search has found, whatever else a box is.
export const foundColours = ['#ffd84d', '#201a00'];

// colours returns the colours of a box and of its text.
export function colours(box, fn, dark) {
  if (page.info.base) return compared(box.total, box.baseTotal || 0, dark);
  if (fn.pseudo) return dark ? ['#39424f', '#e3e8ef'] : ['#dfe4ea', '#1d2430'];
  const h = hash(packageOf(fn.name)), hue = h % 360, shade = (h >>> 9) % 8;
  if (dark) return [`hsl(${hue} 34% ${24 + shade}%)`, '#f5f8fc'];
  return [`hsl(${hue} 62% ${77 + shade}%)`, '#18202b'];
}

// compared returns the colours of what has changed.
export function compared(now, was, dark) {
  if (!was && now) return dark ? ['#6a4fa3', '#fff'] : ['#c9b3f0', '#1d1433'];
  if (!now && was) return dark ? ['#8a95a5', '#0d1117'] : ['#66717f', '#fff'];
  const part = Math.max(-1, Math.min(1, Math.log2((now || 1) / (was || 1))));
  const strength = Math.round(Math.abs(part) * 100) / 100, hue = part > 0 ? 8 : 214;
  if (!strength) return dark ? ['#303844', '#e3e8ef'] : ['#e9ecf0', '#1d2430'];
  if (dark) return [`hsl(${hue} ${20 + 50 * strength}% ${26 + 12 * strength}%)`, '#fff'];
  return [`hsl(${hue} ${30 + 55 * strength}% ${90 - 22 * strength}%)`, '#1d1414'];
}

// restInk is the colour of text on a rest.
export const restInk = dark => dark ? '#dbe2ea' : '#3b4552';

// hatch returns what a rest is filled with; another colour if the search finds something in it.
const hatches = {};
export function hatch(c, dark, hit) {
  const key = `${dark} ${hit}`;
  if (hatches[key]) return hatches[key];
  const tile = make('canvas'), t = tile.getContext('2d');
  const [back, line] = hit ? restHit(dark) : dark ? ['#232a35', '#3b4553'] : ['#f0f2f5', '#d0d6de'];
  tile.width = tile.height = 6;
  t.fillStyle = back;
  t.fillRect(0, 0, 6, 6);
  t.strokeStyle = line;
  t.beginPath();
  t.moveTo(0, 6);
  t.lineTo(6, 0);
  t.stroke();
  return hatches[key] = c.createPattern(tile, 'repeat');
}

const restHit = dark => dark ? ['#3a3413', '#5f551c'] : ['#fff4c4', '#f0dc84'];
