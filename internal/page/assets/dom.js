// Elements of the page. Names are put into text nodes and canvases only, never parsed.

export const $ = id => document.getElementById(id);

// make makes an element. Properties that begin with "on" are listeners; children are nodes or text.
export function make(tag, props = {}, ...children) {
  const e = document.createElement(tag);
  for (const [k, v] of Object.entries(props)) {
    if (k.startsWith('on')) e.addEventListener(k.slice(2), v);
    else if (k === 'class') e.className = v;
    else if (v !== undefined) e.setAttribute(k, v);
  }
  e.append(...children.map(c => c instanceof Node ? c : document.createTextNode(c)));
  return e;
}

// usable are the elements that can have the focus.
const usable = 'button, [tabindex]';

// place puts a view on screen. If it is what stands there already, read anew, what is scrolled to and what has
// the focus stay.
export function place(key, box) {
  const main = $('main'), old = main.dataset.key === key && main.querySelector('.scroll');
  const active = document.activeElement;
  const at = old && old.contains(active) ? [...old.querySelectorAll(usable)].indexOf(active) : -1;
  const top = old ? old.scrollTop : 0, left = old ? old.scrollLeft : 0, had = old && (active === old || at >= 0);
  main.dataset.key = key;
  main.replaceChildren(box);
  if (!old) return;
  box.scrollTop = top;
  box.scrollLeft = left;
  if (!had) return;
  const { key: name } = active.dataset;
  const same = name && [...box.querySelectorAll('[data-key]')].find(e => e.dataset.key === name);
  (active === old ? box : same || box.querySelectorAll(usable)[at] || box).focus({ preventScroll: true });
}

// The tip is what is said about the box under the pointer, as long as both stay where they are.
export function hideTip() { $('tip').hidden = true; }

export function showTip(text, x, y) {
  const tip = $('tip');
  tip.hidden = false;
  tip.textContent = text;
  tip.style.left = Math.max(0, Math.min(x + 14, innerWidth - tip.offsetWidth - 8)) + 'px';
  tip.style.top = Math.max(0, Math.min(y + 16, innerHeight - tip.offsetHeight - 8)) + 'px';
}
