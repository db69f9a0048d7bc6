// NavigationList and ImageCarousel of a Flow screen.

import { el, icon } from "./dom.js";
import { picture } from "./flow_text.js";

const RATIOS = { "4:3": "wide", "16:9": "wider" };

/** Draws a list whose items lead on. get reads a property; act does an item's action, with what was tapped. */
export function drawNavigation(get, act) {
  const items = Array.isArray(get("list-items")) ? get("list-items") : [];
  return el("div", { class: "field navigation", data: { name: get("name") } },
    get("label") ? el("span", { class: "group-label", text: get("label") }) : null,
    get("description") ? el("span", { class: "field-help", text: get("description") }) : null,
    el("ul", { class: "rows" }, items.map((item) => el("li", {}, itemButton(item, () => {
      const action = item["on-click-action"] ?? get("on-click-action");
      if (action) act(action, { component: get("name"), item: item.id });
    })))));
}

function itemButton({ id, badge, tags, start, end, "main-content": main = {} }, onClick) {
  return el("button", { type: "button", class: "row", data: { id }, on: { click: onClick } },
    start?.image ? picture(start.image, start["alt-text"] ?? "", "row-image") : null,
    el("span", { class: "row-text" },
      el("span", { class: "row-title" }, String(main.title ?? ""), badge ? el("span", { class: "row-badge", text: badge }) : null),
      about(main.description), about(main.metadata),
      Array.isArray(tags) && tags.length > 0 ? el("span", { class: "row-tags" }, tags.map((tag) => el("span", { text: tag }))) : null),
    end ? el("span", { class: "row-text row-end" }, end.title ? el("span", { class: "row-title", text: end.title }) : null, about(end.description), about(end.metadata)) : null,
    icon("chevron"));
}

const about = (text) => (text ? el("span", { class: "row-about", text }) : null);

/** Draws one to three pictures side by side; the next ones are reached by moving them. */
export function drawCarousel(get) {
  const images = Array.isArray(get("images")) ? get("images") : [];
  const classes = ["carousel", RATIOS[get("aspect-ratio")] ?? "wide", get("scale-type") === "cover" ? "cover" : ""];
  return el("div", { class: classes.join(" ").trim(), role: "group", tabindex: "0", "aria-label": `${images.length} pictures` },
    images.map((image) => picture(image.src, image["alt-text"] ?? "", "carousel-image")));
}
