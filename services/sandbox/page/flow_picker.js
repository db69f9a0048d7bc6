// PhotoPicker and DocumentPicker of a Flow screen: files of the person, named as a Flow's response names them. This client has
// no media server, so their contents go nowhere.

import { el, fill, freshId, icon, iconButton } from "./dom.js";
import { frameOf } from "./flow_choice.js";

const MOST = 30; // files of one picker
const LARGEST = 25_600; // KiB of one file
const KINDS = {
  PhotoPicker: { noun: "photo", accept: "image/jpeg,image/png", least: "min-uploaded-photos", most: "max-uploaded-photos", symbol: "photo" },
  DocumentPicker: { noun: "document", accept: "", least: "min-uploaded-documents", most: "max-uploaded-documents", symbol: "file" },
};

/** Draws a picker; the parts are as in drawInput. The value is a list of {id, file_name, mime_type, sha256}. */
export function drawPicker(type, get, { value, change }) {
  const kind = KINDS[type];
  const least = Number(get(kind.least)) || 0;
  const most = Number(get(kind.most)) || MOST;
  const largest = Number(get("max-file-size-kb")) || LARGEST;
  const types = get("allowed-mime-types");
  let files = Array.isArray(value) ? value : [];
  let tooLarge = "";

  const id = freshId("picker");
  const input = el("input", {
    type: "file", id, class: "unseen", multiple: most > 1, accept: Array.isArray(types) ? types.join() : kind.accept, disabled: get("enabled") === false,
    "aria-describedby": `${id}-under`,
  });
  const list = el("ul", { class: "picked", "aria-label": `Chosen ${kind.noun}s` });
  const frame = frameOf(get, id, el("span", { class: "group-label", text: get("label") }, least > 0 ? null : el("small", { text: " (optional)" })),
    get("description") ? el("span", { class: "field-help", text: get("description") }) : null,
    list, input, el("label", { class: "picker", for: id }, icon(kind.symbol), el("span", { text: `Add ${most > 1 ? `${kind.noun}s` : `a ${kind.noun}`}` })));

  function draw() {
    fill(list, files.map((file) => el("li", {}, icon(kind.symbol), el("span", { class: "picked-name", text: file.file_name }),
      iconButton("close", `Take ${file.file_name} away`, () => { files = files.filter((one) => one !== file); tell(); }))));
  }

  function tell() {
    draw();
    frame.say("");
    change(files);
  }

  input.addEventListener("change", async () => {
    const picked = [...input.files];
    tooLarge = picked.find((file) => file.size > largest * 1024)?.name ?? "";
    const fitting = picked.filter((file) => file.size <= largest * 1024);
    files = files.concat(await Promise.all(fitting.map(describe)));
    input.value = "";
    tell();
    if (tooLarge !== "") frame.say(`${tooLarge} is larger than ${largest} KB.`);
  });

  function problem() {
    if (files.length < least) return `At least ${least} ${least === 1 ? `${kind.noun} is` : `${kind.noun}s are`} needed.`;
    return files.length > most ? `At most ${most} ${most === 1 ? kind.noun : `${kind.noun}s`}.` : "";
  }

  draw();
  return { root: frame.root, say: frame.say, problem, focus: () => input.focus() };
}

async function describe(file) {
  const digest = crypto.subtle === undefined ? null : await crypto.subtle.digest("SHA-256", await file.arrayBuffer());
  const sha256 = digest === null ? "" : btoa(String.fromCharCode(...new Uint8Array(digest)));
  const number = crypto.getRandomValues(new Uint32Array(2));
  return { id: `${number[0]}${number[1]}`, file_name: file.name, mime_type: file.type, sha256 };
}
