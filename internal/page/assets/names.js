// Names that fit into boxes.

// widthOf returns how wide a text is. Most texts of a graph are there many times, and in each frame.
const widths = new Map();
export function widthOf(c, text) {
  let w = widths.get(text);
  if (w === undefined) {
    if (widths.size > 20000) widths.clear();
    widths.set(text, w = c.measureText(text).width);
  }
  return w;
}

// outer is the package or the receiver in front of a name.
const outer = /^[^.([]*\.(?!((func|gowrap|deferwrap)?\d+)(\.|$))|^\([^)]*\)\./;

// fitted cuts text to a width. Of a name the path of the package goes first, then the
// package, then the receiver. A literal keeps the function that it is in, and init its number: 0 is no name.
export function fitted(c, text, width, name) {
  const each = 6.6, fits = t => t.length * 4 <= width && widthOf(c, t) <= width;
  text = text.slice(0, 400);
  for (let i = 0; name && i < 3 && !fits(text); i++) {
    const rest = i ? text.replace(outer, '') : text.slice(text.lastIndexOf('/') + 1);
    if (!text.startsWith('[')) text = rest || text;
  }
  if (fits(text)) return text;
  let n = Math.floor(width / each) - 1; // where letters are wide it is fewer
  while (n > 1 && widthOf(c, text.slice(0, n) + '…') > width) n--;
  return n > 1 ? text.slice(0, n) + '…' : '';
}

// exactly returns what finds a function of this name, and no other one. The page has the beginning of a name that
// is very long.
export function exactly(name) {
  const whole = !name.endsWith('…'), text = whole ? name : name.slice(0, -1);
  return `/^${text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}${whole ? '$' : ''}/`;
}
