// Looking for what a running program has recorded since.
import { $ } from './dom.js';
import { ask, Gone } from './ask.js';
import { page } from './state.js';

let timer = 0, drawn = 0; // drawn is which reading is on screen

export const following = () => timer !== 0;

// selecting reports whether someone is selecting text, which drawing it anew would undo.
function selecting() {
  const s = getSelection();
  return s && !s.isCollapsed && $('main').contains(s.anchorNode);
}

async function look() {
  try {
    page.info = await ask('info', {}, {}, true);
    if (page.info.gen !== drawn && !selecting()) {
      drawn = page.info.gen;
      await page.show(false);
    }
    if (timer) timer = page.info.running ? setTimeout(look, 1500) : 0;
  } catch (err) {
    if (!(err instanceof Gone)) $('status').textContent = err.message;
    if (timer) timer = setTimeout(look, 3000);
  }
  if (!timer) $('follow').setAttribute('aria-pressed', 'false');
}

// follow begins or ends to look.
export function follow(on) {
  clearTimeout(timer);
  timer = 0;
  drawn ||= page.info.gen;
  $('follow').setAttribute('aria-pressed', String(on));
  if (on) timer = setTimeout(look, 1500);
}
