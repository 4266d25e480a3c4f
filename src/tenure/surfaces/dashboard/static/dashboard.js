// What pages gain with JavaScript: live updates, selection of many rows, copying, charts and shortcuts.
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
    drawCharts(true);
  }

  // ---- Live updates. The server only sends hints; the content is fetched again, at most once in `PAUSE`.
  // Log lines and progress cause no events, so no hints: pages that may show some refresh every `LOOK`. A hidden
  // page fetches nothing until it is visible again.
  const PAUSE = 300;
  const LOOK = 600;
  const POLL = 2000;
  let source = null, polling = null, due = null, last = 0, isHeld = false;

  function refresh() {
    due = null;
    last = Date.now();
    all("[data-region]").forEach((region) => htmx.trigger(region, "fresh"));
  }
  function hint() {
    if (due === null) due = setTimeout(refresh, Math.max(0, last + PAUSE - Date.now()));
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
    source = polling = due = null;
  }
  function showLive() {
    const sign = one(".live");
    if (!sign) return;
    sign.hidden = !one("[data-region]");
    const is = isHeld ? "held" : source && source.readyState === EventSource.OPEN ? "on" : "off";
    sign.dataset.is = is;
    sign.textContent = { held: "paused", on: "live", off: "connecting" }[is];
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
  function tick() {
    all("time[data-age]").forEach((time) => {
      const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
      time.textContent = seconds < 0 ? `in ${age(-seconds)}` : `${age(seconds)} ago`;
    });
  }

  // ---- Selecting rows. The selection survives a refresh of the list.
  const chosen = new Set();
  let isEvery = false;

  function showChoice() {
    const form = one("form[data-choice]");
    const every = form && one("input[name=every]", form);
    if (!every) return;
    const boxes = all("input[name=job]", form);
    boxes.forEach((box) => {
      box.checked = chosen.has(box.value);
      box.closest("tr").classList.toggle("chosen", box.checked);
    });
    const whole = one("[data-whole]", form);
    const onPage = boxes.filter((box) => box.checked).length;
    whole.checked = onPage === boxes.length;
    whole.indeterminate = onPage > 0 && onPage < boxes.length;
    every.checked = isEvery;
    one("[data-offer]", form).hidden = !(isEvery || whole.checked);
    one("[data-count]", form).textContent = isEvery ? "all that match" : `${chosen.size} selected`;
    all("button[name=act]", form).forEach((button) => { button.disabled = chosen.size === 0 && !isEvery; });
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
    const was = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(one(button.dataset.copy));
      button.textContent = "selected: press Ctrl-C";
    }
    setTimeout(() => { button.textContent = was; }, 1500);
  }

  // ---- Charts.
  const charts = new Map();
  const WHOLE = [...Array(12).keys()].flatMap((power) => [1, 2, 5].map((step) => step * 10 ** power));

  function tone(name) {
    const probe = Object.assign(document.createElement("i"), { className: "probe" });
    probe.dataset.tone = name;
    document.body.append(probe);
    const colour = getComputedStyle(probe).color;
    probe.remove();
    return colour;
  }
  function drawCharts(anew = false) {
    all(".chart[data-points]").forEach((place) => {
      const { lines, data, unit } = JSON.parse(place.dataset.points);
      let chart = charts.get(place.id);
      if (chart && (anew || chart.root.parentElement !== place)) { chart.destroy(); charts.delete(place.id); chart = null; }
      if (chart) return chart.setData(data);
      const axis = { stroke: tone("muted"), grid: { stroke: tone("line"), width: 1 }, ticks: { show: false }, font: "12px system-ui" };
      const clock = uPlot.fmtDate("{HH}:{mm}");
      const inUtc = (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC");
      charts.set(place.id, new uPlot({
        width: place.clientWidth, height: place.clientHeight, legend: { show: false }, cursor: { y: false },
        scales: { y: { range: (_, least, most) => [0, most || 1] } },
        tzDate: inUtc,
        axes: [{ ...axis, size: 28, values: (_, ticks) => ticks.map((value) => clock(inUtc(value))) }, { ...axis, size: 56, incrs: unit ? undefined : WHOLE, values: (_, ticks) => ticks.map((value) => `${+value.toPrecision(3)}${unit}`) }],
        series: [{}, ...lines.map((line, place) => ({
          label: line.label, stroke: tone(line.tone), width: 2, dash: line.dashed ? [4, 3] : undefined,
          fill: line.fills ? tone(line.tone).replace("rgb(", "rgba(").replace(")", ", 0.14)") : undefined,
          spanGaps: true,
          // A line of only a few values would be hard to see.
          points: { size: 5, show: data[place + 1].filter((value) => value !== null).length < 6 },
        }))],
      }, data, place));
    });
  }
  new ResizeObserver(() => charts.forEach((chart) => {
    const place = chart.root.parentElement;
    if (place) chart.setSize({ width: place.clientWidth, height: place.clientHeight });
  })).observe(root);

  // ---- Shortcuts.
  const PAGES = { o: "/", j: "/ui/jobs", d: "/ui/dead-letters", s: "/ui/schedules", q: "/ui/queues", l: "/ui/limits", w: "/ui/workers", f: "/ui/definitions", h: "/ui/webhooks" };
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
    if (wasGoing && PAGES[event.key]) location.assign(PAGES[event.key]);
    else if (event.key === "/" && one("input[type=search]")) { event.preventDefault(); one("input[type=search]").focus(); }
    else if (event.key === "j") step(1);
    else if (event.key === "k") step(-1);
    else if (event.key === "x") {
      const row = event.target.closest("tr");
      const box = row && one("input[name=job]", row);
      if (box) box.click();
    }
    else if (event.key === "?") one("#keys").showModal();
  }

  // On a phone the bar is wider than the page. (With scrollIntoView, Tab would start at the link.)
  function showPlace() {
    const link = one(".bar a[aria-current]");
    if (!link) return;
    const bar = link.closest("nav");
    const [is, within] = [link.getBoundingClientRect(), bar.getBoundingClientRect()];
    bar.scrollLeft += is.left - within.left - (within.width - is.width) / 2;
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
    else if (button.matches(".live")) toggleLive();
    else if (button.dataset.theme !== undefined) toggleTheme();
    else if (button.dataset.keys !== undefined) one("#keys").showModal();
  });
  document.addEventListener("htmx:after:swap", () => { showChoice(); drawCharts(); tick(); showEnd(); });
  document.addEventListener("DOMContentLoaded", () => {
    showPlace();
    showChoice();
    drawCharts();
    tick();
    showEnd();
    setInterval(tick, 1000);
    setInterval(() => { if (one("[data-region][data-poll]") && !document.hidden && !isHeld) hint(); }, LOOK);
    follow();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => drawCharts(true));
})();
