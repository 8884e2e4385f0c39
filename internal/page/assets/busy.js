// What is being waited for.
import { $ } from './dom.js';

const patience = 300; // ms before the page says that it waits
const waits = new Set(); // of the questions that are asked

// busy says that an answer is waited for, until what it returns is called.
export function busy() {
  const wait = { began: performance.now() };
  waits.add(wait);
  wait.timer = setTimeout(() => tell(wait), patience);
  return () => {
    clearTimeout(wait.timer);
    waits.delete(wait);
    if (!waits.size) $('busy').hidden = true;
  };
}

// tell says for how long one has been waiting, and what for as far as the server can tell.
async function tell(wait) {
  let what = '';
  try {
    what = (await (await fetch('/ask/work')).json()).what;
  } catch {
    // The question itself ends with an error that says more.
  }
  if (!waits.has(wait)) return;
  const seconds = Math.floor((performance.now() - wait.began) / 1000);
  $('busy').hidden = false;
  $('busy').textContent = `at work${seconds ? ` for ${seconds} s` : ''}${what ? ': ' + what : ''} …`;
  wait.timer = setTimeout(() => tell(wait), 500);
}
