// What the page remembers: the phones in the address bar, so that a link shows the same phones, and the rest in the
// browser's local storage. Nothing about money is kept here; the world knows it.

const FIRST_PHONE = "2348030000001";
const KEY = "offrampbot.page.";

/** Reads and writes the page's own state; listeners hear of each change of phones. */
export function createStore(location, storage, history) {
  const listeners = new Set();
  const fromHash = readHash(location.hash);
  const phones = fromHash.phones.length > 0 ? fromHash.phones : readList(storage);
  const store = {
    phones: phones.length > 0 ? phones : [FIRST_PHONE],
    active: "",
    onChange(listener) { listeners.add(listener); },

    /** Shows a phone, and adds it when it is not there yet. */
    show(phone) {
      if (!store.phones.includes(phone)) store.phones.push(phone);
      store.active = phone;
      changed();
    },

    /** Takes a phone off the page; its chat stays in the world. The last one stays. */
    close(phone) {
      if (store.phones.length < 2) return;
      const at = store.phones.indexOf(phone);
      store.phones = store.phones.filter((other) => other !== phone);
      if (store.active === phone) store.active = store.phones[Math.max(0, at - 1)];
      changed();
    },

    /** The next phone number that nobody has. */
    freshPhone(taken) {
      for (let n = Number(FIRST_PHONE); ; n += 1) {
        if (!store.phones.includes(String(n)) && !taken.includes(String(n))) return String(n);
      }
    },

    recall: (name, fallback) => read(storage, KEY + name) ?? fallback,
    remember: (name, value) => write(storage, KEY + name, value),
  };
  store.active = store.phones.includes(fromHash.active) ? fromHash.active : store.phones[0];

  function changed() {
    write(storage, `${KEY}phones`, store.phones.join(","));
    history.replaceState(null, "", `#phones=${store.phones.join(",")}&on=${store.active}`);
    for (const listener of listeners) listener();
  }
  return store;
}

function readHash(hash) {
  const values = new URLSearchParams(hash.slice(1));
  return { phones: list(values.get("phones")), active: values.get("on") ?? "" };
}

function readList(storage) {
  return list(read(storage, `${KEY}phones`));
}

// Phones are digits or business-scoped ids; anything else in a link is dropped.
function list(text) {
  const phones = (text ?? "").split(",").filter((phone) => /^(\d{7,15}|[A-Z]{2}\.[A-Za-z0-9.]{1,128})$/.test(phone));
  return [...new Set(phones)].slice(0, 12);
}

function read(storage, key) {
  try {
    return storage.getItem(key);
  } catch {
    return null; // storage may be switched off; the page then forgets
  }
}

function write(storage, key, value) {
  try {
    storage.setItem(key, value);
  } catch {
    // as above
  }
}
