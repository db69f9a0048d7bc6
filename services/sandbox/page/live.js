// What happens in the world, as it happens: server-sent events, and long polls where they do not come through.

import { api } from "./api.js";
import { pause } from "./dom.js";

const STREAM_PATIENCE = 4000; // ms until a stream that has not opened is given up
const RETRY = 1500; // ms between two tries
const TRIES = 2; // streams that do not open before long polls take over

/**
 * Follows the world until the signal ends. onEvent gets each event, at every start those that the world still keeps
 * (its numbering is a new one when it was started again); onLink says whether the world answers, and after every loss
 * everything has to be read again.
 */
export async function follow({ onEvent, onLink, signal, streams = true }) {
  let failures = streams ? 0 : TRIES;
  while (!signal.aborted) {
    if (failures < TRIES) {
      const opened = await stream(onEvent, onLink, signal);
      failures = opened ? 0 : failures + 1;
    } else {
      await polls(onEvent, onLink, signal).catch(() => {});
      failures = streams ? 0 : TRIES; // the world may only have been away
    }
    onLink(false);
    await pause(RETRY, signal).catch(() => {});
  }
}

// Resolves when the stream breaks: true when it had opened.
function stream(onEvent, onLink, signal) {
  return new Promise((resolve) => {
    const source = new EventSource("/world/events?after=0");
    let opened = false;
    const end = () => { source.close(); clearTimeout(timer); resolve(opened); };
    const timer = setTimeout(() => { if (!opened) end(); }, STREAM_PATIENCE);
    source.onopen = () => { opened = true; onLink(true); };
    source.onmessage = (message) => onEvent(JSON.parse(message.data));
    source.onerror = end; // the browser would resume by number; starting over is right after a restart too
    signal.addEventListener("abort", end, { once: true });
  });
}

async function polls(onEvent, onLink, signal) {
  await api.state(); // says at once whether the world is there; the first events may take their time
  onLink(true);
  let after = 0;
  while (!signal.aborted) {
    const { items, next } = await api.events(after);
    if (Number(next) < Number(after)) return; // the world was started again
    items.forEach(onEvent);
    after = next;
  }
}
