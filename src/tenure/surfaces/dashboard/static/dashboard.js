// What pages gain with JavaScript: live updates, selection of many rows, copying and shortcuts.
// Without it every page can be read, and every form works.
(() => {
  "use strict";
  const root = document.documentElement;
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const one = (selector, within = document) => within.querySelector(selector);
  root.classList.add("js");

  // Light or dark as the system says, unless the user has chosen. Runs before the page is drawn.
  const stored = (name) => { try { return localStorage.getItem(name); } catch { return null; } };
  const store = (name, value) => { try { localStorage.setItem(name, value); } catch { /* for this page only */ } };
  if (stored("theme")) root.dataset.theme = stored("theme");

  const isDark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

  function toggleTheme() {
    root.dataset.theme = isDark() ? "light" : "dark";
    store("theme", root.dataset.theme);
  }

  // ---- Live updates. The server only sends hints; the content is fetched again, at most once in `PAUSE`.
  // Log lines and progress cause no events, so no hints: pages that may show some refresh every `LOOK`. A hidden
  // page fetches nothing until it is visible again.
  const PAUSE = 300;
  const LOOK = 600;
  const POLL = 2000;
  // What the server works out for all viewers together is up to two seconds old: it is asked for once more after that.
  const LATE = 2300;
  let source = null, polling = null, due = null, late = null, last = 0, isHeld = false;

  function refresh() {
    due = null;
    last = Date.now();
    all("[data-region]").forEach((region) => htmx.trigger(region, "fresh"));
  }
  function hint() {
    if (due === null) due = setTimeout(refresh, Math.max(0, last + PAUSE - Date.now()));
    clearTimeout(late);
    late = setTimeout(refresh, LATE);
  }
  function follow() {
    stopFollowing();
    if (document.hidden || isHeld || !one("[data-region]")) return showLive();
    source = new EventSource(document.body.dataset.live);
    source.addEventListener("open", () => { clearInterval(polling); polling = null; showLive(); });
    source.addEventListener("hint", hint);
    source.addEventListener("error", () => {
      // Poll until hints come again; a server that refuses the stream for good is only polled.
      polling = polling || setInterval(hint, POLL);
      if (source && source.readyState === EventSource.CLOSED) source = null;
      showLive();
    });
  }
  function stopFollowing() {
    if (source) source.close();
    clearInterval(polling);
    clearTimeout(due);
    clearTimeout(late);
    source = polling = due = late = null;
  }
  function showLive() {
    const sign = one(".live");
    if (!sign) return;
    sign.hidden = !one("[data-region]");
    const is = isHeld ? "held" : source && source.readyState === EventSource.OPEN ? "on" : "off";
    sign.dataset.is = is;
    sign.textContent = { held: "Paused", on: "Live", off: "Connecting" }[is];
    sign.setAttribute("aria-pressed", String(!isHeld));
  }
  function toggleLive() {
    isHeld = !isHeld;
    if (!isHeld) hint();
    follow();
  }

  // ---- Ages count up by themselves.
  function age(seconds) {
    const units = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
    const [size, unit] = units.find(([size]) => seconds >= size) || [1, "s"];
    return `${Math.floor(seconds / size)} ${unit}`;
  }
  function span(seconds) {
    const sizes = [[86400, 3600, "d", "h"], [3600, 60, "h", "min"], [60, 1, "min", "s"]];
    const found = sizes.find(([size]) => seconds >= size);
    if (!found) return `${Math.floor(seconds)} s`;
    const [size, part, unit, rest] = found;
    const left = Math.floor((seconds % size) / part);
    return `${Math.floor(seconds / size)} ${unit}${left ? ` ${left} ${rest}` : ""}`;
  }
  function tick() {
    all("time[data-age]").forEach((time) => {
      const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
      if (time.dataset.age === "bare") time.textContent = age(Math.max(seconds, 0));
      else if (time.dataset.age === "span") time.textContent = span(Math.max(seconds, 0));
      else time.textContent = seconds < 0 ? `in ${age(-seconds)}` : `${age(seconds)} ago`;
    });
  }

  // ---- Selecting rows. The selection survives a refresh of the list.
  const chosen = new Set();
  let isEvery = false;

  function showChoice() {
    const form = one("form[data-choice]");
    const every = form && one("input[name=every]", form);
    if (!form || !one("[data-bulk]", form)) return;
    const boxes = all("input[name=job]", form);
    boxes.forEach((box) => {
      box.checked = chosen.has(box.value);
      box.closest("tr").classList.toggle("chosen", box.checked);
    });
    const whole = one("[data-whole]", form);
    const onPage = boxes.filter((box) => box.checked).length;
    whole.checked = onPage === boxes.length;
    whole.indeterminate = onPage > 0 && onPage < boxes.length;
    if (every) every.checked = isEvery;
    one("[data-bulk]", form).hidden = chosen.size === 0 && !isEvery;
    one("[data-count]", form).textContent = isEvery ? one("[data-every]", form).dataset.every : `${chosen.size} selected`;
  }
  function choose(box) {
    if (box.name === "every") isEvery = box.checked;
    else {
      const boxes = box.matches("[data-whole]") ? all("input[name=job]", box.form) : [box];
      boxes.forEach((row) => (box.checked ? chosen.add(row.value) : chosen.delete(row.value)));
      if (!box.checked) isEvery = false;
    }
    showChoice();
  }
  function chooseNone() {
    chosen.clear();
    isEvery = false;
    showChoice();
  }
  function sendChoice(form) {
    // Rows that have left the page meanwhile are still selected.
    const shown = new Set(all("input[name=job]", form).map((box) => box.value));
    [...chosen].filter((id) => !shown.has(id)).forEach((id) => {
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "job", value: id }));
    });
  }

  // ---- The end of a log stays visible, unless the user has scrolled up.
  let isReading = false;

  function showEnd() {
    const log = one("#log[data-end]");
    if (log && !isReading) log.scrollTop = log.scrollHeight;
  }
  function noteReading(log) {
    isReading = log.scrollTop + log.clientHeight < log.scrollHeight - 30;
  }

  // ---- Copying.
  async function copy(button) {
    const text = one(button.dataset.copy).textContent;
    const word = one("span:last-child", button);
    const was = word.textContent;
    button.classList.add("done");
    try {
      await navigator.clipboard.writeText(text);
      word.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(one(button.dataset.copy));
      word.textContent = "Selected: press Ctrl-C";
    }
    setTimeout(() => { word.textContent = was; button.classList.remove("done"); }, 1500);
  }

  // ---- Shortcuts.
  const pages = (key) => one(`#pages a[data-key="${CSS.escape(key)}"]`);
  let isGoing = false;

  function step(by) {
    const links = all("tbody a.name");
    const at = links.indexOf(document.activeElement);
    const next = links[at < 0 ? (by > 0 ? 0 : links.length - 1) : at + by];
    if (next) next.focus();
  }
  function press(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea, dialog")) return;
    const wasGoing = isGoing;
    isGoing = event.key === "g";
    if (wasGoing && pages(event.key)) location.assign(pages(event.key).href);
    else if (event.key === "/" && one("#find")) { event.preventDefault(); one("#find").focus(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "x") {
      const row = event.target.closest("tr");
      const box = row && one("input[name=job]", row);
      if (box) box.click();
    }
    else if (event.key === "?") one("#keys").showModal();
  }

  // ---- What has just been done rises at the foot of the window, and goes after a while unless it is looked at.
  const SHOWN = 6000;

  function showToasts() {
    all("[data-toast]").forEach((toast) => {
      toast.classList.replace("notice", "toast");
      const isLookedAt = () => toast.matches(":hover, :focus-within");
      const end = () => (isLookedAt() ? setTimeout(end, SHOWN) : toast.remove());
      setTimeout(end, SHOWN);
    });
  }

  document.addEventListener("keydown", press);
  document.addEventListener("change", (event) => { if (event.target.matches("form[data-choice] input[type=checkbox]")) choose(event.target); });
  document.addEventListener("scroll", (event) => { if (event.target.id === "log") noteReading(event.target); }, true);
  document.addEventListener("submit", (event) => { if (event.target.matches("form[data-choice]")) sendChoice(event.target); });
  document.addEventListener("visibilitychange", () => { if (!document.hidden) hint(); follow(); });
  document.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.dataset.copy) copy(button);
    else if (button.dataset.clear !== undefined) chooseNone();
    else if (button.matches(".live")) toggleLive();
    else if (button.dataset.theme !== undefined) toggleTheme();
    else if (button.dataset.keys !== undefined) one("#keys").showModal();
  });
  // What was asked for before the page was held may come after that.
  document.addEventListener("htmx:before:swap", (event) => { if (isHeld && event.target.matches("[data-region]")) event.preventDefault(); });
  document.addEventListener("htmx:after:swap", () => { showChoice(); tick(); showEnd(); });
  document.addEventListener("DOMContentLoaded", () => {
    showToasts();
    showChoice();
    tick();
    showEnd();
    setInterval(tick, 1000);
    setInterval(() => { if (one("[data-region][data-poll]") && !document.hidden && !isHeld) hint(); }, LOOK);
    follow();
  });
})();
