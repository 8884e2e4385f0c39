// Numbers and places in words.
import { page, unitOf } from './state.js';

export const thousands = n => Math.round(n).toLocaleString('en-US');

// amount writes a value. All times are in milliseconds, as those of report: a column has one unit.
export function amount(n) {
  const unit = unitOf().unit, sign = n < 0 ? '−' : '', size = Math.abs(n);
  if (unit === 'nanoseconds') {
    const micro = Math.floor(size / 1e3);
    return `${sign}${thousands(Math.floor(micro / 1e3))}.${String(micro % 1000).padStart(3, '0')} ms`;
  }
  return sign + thousands(size) + (unit === 'bytes' ? ' B' : '');
}

// noun is what n of the value are called: 1 call, 2 calls, 3 ms of cpu.
function noun(n) {
  const { unit, name } = unitOf();
  if (unit === 'bytes' || unit === 'nanoseconds') return ' of ' + name;
  return ' ' + (n === 1 && /^[a-z]+s$/.test(name) ? name.slice(0, -1) : name);
}

export const counted = n => amount(n) + noun(n);
export const plural = (n, one, many = one + 's') => `${thousands(n)} ${n === 1 ? one : many}`;
export const share = (n, of) => of ? (100 * n / of).toFixed(2) + '%' : '-';

const base = file => file ? file.slice(Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')) + 1) : '';
export const placeOf = s => s && s.file ? ` ${base(s.file)}${s.line ? ':' + s.line : ''}` : '';

// changed says what became of a value.
export function changed(now, was) {
  const sign = now === was ? '±' : now > was ? '+' : '−';
  const part = was ? ` (${sign}${(100 * Math.abs(now - was) / was).toFixed(1)}%)` : now ? ' (new)' : '';
  return sign + amount(Math.abs(now - was)) + part;
}

// quoted says what a search looks for.
export const quoted = q => q.length > 2 && q.startsWith('/') && q.endsWith('/') ? q : `“${q}”`;

// wanted says which functions a search finds.
export const wanted = q => q === quoted(q) ? `matches ${q}` : `has ${quoted(q)} in its name`;

// variesText says how much is not compared because it varies from run to run: what Go does by chance.
export function variesText() {
  const [was, now] = unitOf().varies || [0, 0], inBase = was ? `, ${amount(was)} in the base` : '';
  return was || now ? ` · not compared, as it varies from run to run: ${counted(now)}${inBase}` : '';
}

export const baseText = n => page.info.base ? ` (${amount(n || 0)} in the base)` : '';
