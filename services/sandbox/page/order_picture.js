// The order's states as a picture: every way that the table allows, faint, and over it the way that one order took.

import { draw, freshId } from "./dom.js";

// Where each state stands. A state of the table without a place fails a test.
const PLACES = {
  "": [184, 14],
  waiting: [184, 54], deposit: [184, 108], exchange: [184, 162], sending: [184, 216], success: [184, 270],
  overdue: [60, 81], cancelled: [60, 150], returned: [60, 270],
  unclear: [308, 189], review: [308, 243], failed: [308, 297],
};
const SIZE = [376, 318];
const HALF = [43, 14]; // of a box
const SPIKE = { faint: 6, taken: 4 }; // of an arrow, in widths of its line
const START = 6; // radius of the dot where orders begin
const BEND = 12; // px by which a way leaves the straight line, so that there and back are two
const AROUND = 84; // as much as a way needs to get around a box of its own column

/** Draws the table. show(order) highlights its path: {state, history}, or null. */
export function createPicture(table) {
  const arrow = { faint: freshId("arrow"), taken: freshId("arrow") };
  const markers = Object.entries(arrow).map(([kind, id]) => draw("marker", {
    id, class: `arrow ${kind}`, viewBox: "0 0 8 8", refX: 6, refY: 4, markerWidth: SPIKE[kind], markerHeight: SPIKE[kind], orient: "auto",
  }, draw("path", { d: "M0 0L8 4L0 8z" })));
  const ways = draw("g", { class: "ways" });
  const boxes = draw("g", { class: "boxes-of-states" });
  const root = draw("svg", { class: "order-picture", viewBox: `0 0 ${SIZE.join(" ")}`, role: "img" }, draw("defs", {}, markers), ways, boxes);

  function show(order) {
    const moves = (order?.history ?? []).filter((fact) => fact.from !== fact.to);
    const taken = new Set(moves.map((fact) => `${fact.from} ${fact.to}`));
    const been = new Set(moves.map((fact) => fact.to));
    root.setAttribute("aria-label", moves.length === 0 ? "The states of an order; none was placed yet"
      : `The states of an order. This one went through ${moves.map((fact) => fact.to).join(", ")}; now it is ${order.state}.`);
    const drawn = table.edges.filter(({ from, to }) => from in PLACES && to in PLACES)
      .map((edge) => ({ ...edge, isTaken: taken.has(`${edge.from} ${edge.to}`) }))
      .sort((a, b) => Number(a.isTaken) - Number(b.isTaken)); // the taken ones lie on top
    ways.replaceChildren(...drawn.map(({ from, to, events, isTaken }) => draw("path", {
      class: isTaken ? "way taken" : "way", d: curve(from, to), "data-way": `${from}-${to}`, "marker-end": `url(#${isTaken ? arrow.taken : arrow.faint})`,
    }, draw("title", {}, `${from || "new"} → ${to}: ${events.join(", ")}`))));
    const [x, y] = PLACES[""];
    boxes.replaceChildren(draw("circle", { class: moves.length > 0 ? "origin taken" : "origin", cx: x, cy: y, r: START }),
      ...table.states.filter(({ name }) => name in PLACES).map((state) => box(state, been.has(state.name), order?.state === state.name)));
  }

  show(null);
  return { root, show };
}

function box({ name, meaning, final }, isTaken, isNow) {
  const [x, y] = PLACES[name];
  const names = ["node", final ? "final" : "", isTaken ? "taken" : "", isNow ? "now" : "", name];
  return draw("g", { class: names.filter(Boolean).join(" "), "data-state": name },
    draw("title", {}, `${name}: ${meaning}`),
    draw("rect", { x: x - HALF[0], y: y - HALF[1], width: 2 * HALF[0], height: 2 * HALF[1], rx: HALF[1] }),
    draw("text", { x, y: y + 4, "text-anchor": "middle" }, name));
}

// A curve between the edges of two boxes. It bends to the left of where it goes, and around a box that stands between.
function curve(from, to) {
  const [ax, ay] = PLACES[from];
  const [bx, by] = PLACES[to];
  const length = Math.hypot(bx - ax, by - ay);
  const isOver = ax === bx && Object.values(PLACES).some(([x, y]) => x === ax && y > Math.min(ay, by) && y < Math.max(ay, by));
  const bend = isOver ? AROUND + (from === "" ? 15 + length / 8 : 0) : BEND; // the dot has no side to begin at
  const control = [(ax + bx) / 2 + (by - ay) / length * bend, (ay + by) / 2 - (bx - ax) / length * bend];
  const half = (name) => (name === "" ? [START, START] : HALF);
  const start = leave([ax, ay], control, half(from), 1);
  const end = leave([bx, by], control, half(to), 3);
  return `M${start.join(" ")}Q${control.map(Math.round).join(" ")} ${end.join(" ")}`;
}

// Where the line from the middle of a box to a point leaves the box, and a little further.
function leave([x, y], [px, py], [w, h], gap) {
  const dx = px - x;
  const dy = py - y;
  const out = Math.min(dx === 0 ? Infinity : (w + gap) / Math.abs(dx), dy === 0 ? Infinity : (h + gap) / Math.abs(dy));
  return [Math.round((x + dx * out) * 10) / 10, Math.round((y + dy * out) * 10) / 10];
}
