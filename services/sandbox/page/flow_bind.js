// What ${…} and backtick expressions of a Flow mean (Meta: Flow JSON): evaluated here, never as code.

/**
 * Returns the value of a component's property. A scope has data, form and other(screen, kind, name); a string that is
 * one binding gives the value itself, a backtick expression its result, anything else stays as it is. Lists and objects
 * are resolved inside.
 */
export function resolve(value, scope) {
  if (Array.isArray(value)) return value.map((item) => resolve(item, scope));
  if (value !== null && typeof value === "object") {
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolve(item, scope)]));
  }
  if (typeof value !== "string") return value;
  const text = value.trim();
  if (/^\$\{[^{}]+\}$/.test(text)) return lookUp(text.slice(2, -1), scope);
  if (text.length > 1 && text.startsWith("`") && text.endsWith("`")) return evaluate(text.slice(1, -1), scope);
  return value;
}

/** Says whether a condition of If holds: a binding, a backtick expression, or the older bare form. */
export function holds(condition, scope) {
  if (typeof condition === "boolean") return condition;
  const text = String(condition).trim();
  const bare = text.startsWith("`") && text.endsWith("`") ? text.slice(1, -1) : text;
  return truth(evaluate(bare, scope));
}

/** True when a property changes with what is typed. */
export function isLive(value) {
  return JSON.stringify(value ?? "").includes("${form.");
}

function lookUp(path, scope) {
  const parts = path.trim().split(".");
  if (parts[0] === "screen" && parts.length >= 4) return dig(scope.other?.(parts[1], parts[2]), parts.slice(3));
  if (parts[0] === "data" || parts[0] === "form") return dig(scope[parts[0]], parts.slice(1));
  return undefined;
}

function dig(from, names) {
  let value = from;
  for (const name of names) {
    if (value === null || typeof value !== "object" || !Object.hasOwn(value, name)) return undefined;
    value = value[name];
  }
  return value;
}

const truth = (value) => value === true || (typeof value === "string" && value !== "" && value !== "false") || (typeof value === "number" && value !== 0);

const TOKEN = /\s*(?:(\$\{[^{}]+\})|'((?:[^'\\]|\\.)*)'|(\d+(?:\.\d+)?)|(true|false)\b|(==|!=|&&|\|\||<=|>=|[!<>+\-/%()]))/y;

function tokens(text) {
  const out = [];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < text.trimEnd().length) {
    const at = TOKEN.lastIndex;
    const found = TOKEN.exec(text);
    if (found === null) throw new SyntaxError(`The Flow's expression ${text} cannot be read at ${at}.`);
    const [, binding, literal, number, logic, operator] = found;
    if (binding) out.push({ binding: binding.slice(2, -1) });
    else if (literal !== undefined) out.push({ value: literal.replace(/\\(.)/g, "$1") });
    else if (number) out.push({ value: Number(number) });
    else if (logic) out.push({ value: logic === "true" });
    else out.push({ operator });
  }
  return out;
}

// Binary operators by how tightly they bind; two values side by side are joined as text.
const LEVELS = [["||"], ["&&"], ["==", "!="], ["<", "<=", ">", ">="], ["+", "-"], ["/", "%"]];

const APPLY = {
  "||": (a, b) => truth(a) || truth(b), "&&": (a, b) => truth(a) && truth(b),
  "==": (a, b) => String(a ?? "") === String(b ?? ""), "!=": (a, b) => String(a ?? "") !== String(b ?? ""),
  "<": (a, b) => Number(a) < Number(b), "<=": (a, b) => Number(a) <= Number(b),
  ">": (a, b) => Number(a) > Number(b), ">=": (a, b) => Number(a) >= Number(b),
  "+": (a, b) => Number(a) + Number(b), "-": (a, b) => Number(a) - Number(b),
  "/": (a, b) => Number(a) / Number(b), "%": (a, b) => Number(a) % Number(b),
};

function evaluate(text, scope) {
  const list = tokens(text);
  let at = 0;

  function primary() {
    const token = list[at];
    at += 1;
    if (token === undefined) throw new SyntaxError(`The Flow's expression ${text} ends too early.`);
    if (token.binding !== undefined) return lookUp(token.binding, scope);
    if (token.operator === undefined) return token.value;
    if (token.operator === "!") return !truth(primary());
    if (token.operator === "-") return -Number(primary());
    if (token.operator !== "(") throw new SyntaxError(`The Flow's expression ${text} has a ${token.operator} too many.`);
    const inside = joined();
    at += 1; // the closing bracket
    return inside;
  }

  function binary(level) {
    if (level === LEVELS.length) return primary();
    let left = binary(level + 1);
    while (LEVELS[level].includes(list[at]?.operator)) {
      const { operator } = list[at];
      at += 1;
      left = APPLY[operator](left, binary(level + 1));
    }
    return left;
  }

  function joined() {
    let value = binary(0);
    while (at < list.length && list[at].operator !== ")") value = `${value ?? ""}${binary(0) ?? ""}`;
    return value;
  }
  return list.length === 0 ? "" : joined();
}
