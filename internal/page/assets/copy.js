// Copying names and stacks.
import { $, make } from './dom.js';
import { page } from './state.js';

// choose says what can be copied: a name, and lines of a stack, innermost function first, if it is in one.
export function choose(name, stack) {
  page.chosen = { name, stack };
  $('copyname').hidden = !name;
  $('copystack').hidden = !stack;
}

export async function copy(what) {
  const { name, stack } = page.chosen || {};
  const text = what === 'stack' ? stack && stack.join('\n') : name;
  if (!text) return;
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    copyOld(text);
  }
  $('status').textContent = `copied: ${text.replaceAll('\n', ' ← ')}`;
}

// copyOld copies where the page comes by plain HTTP from another machine: a browser has no clipboard there.
function copyOld(text) {
  const active = document.activeElement, area = make('textarea', { class: 'copied' });
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand('copy');
  area.remove();
  if (active) active.focus();
}
