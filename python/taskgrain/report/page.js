// What links charts and table: the filter, the choice of systems, the cell chosen; and downloads and print.
(() => {
  const at = (id) => document.getElementById(id);
  const every = (selector) => [...document.querySelectorAll(selector)];

  // -- filter ------------------------------------------------------------------------------------------

  const systems = every("#systems button[data-system]");
  let visible = new Set(report.cells.keys());

  // Whether a part of a name begins with the word: mpi finds mpi and mpi_rma, but not compiled.
  function has(text, word) {
    for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) {
      if (i === 0 || !/[a-z0-9]/.test(text[i - 1])) return true;
    }
    return false;
  }

  function matches(words, { words: text }) {
    return words.every((word) => (word.length > 1 && word.startsWith("-") ? !has(text, word.slice(1)) : has(text, word)));
  }

  function filter() {
    const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const hidden = new Set(systems.filter((one) => one.ariaPressed === "false").map((one) => one.dataset.system));
    visible = new Set([...report.cells.keys()].filter((index) => {
      const cell = report.cells[index];
      return !hidden.has(cell.system) && matches(words, cell);
    }));
    for (const row of report.rows()) row.hidden = !visible.has(Number(row.dataset.cell));
    for (const one of every(".legend li")) {
      one.hidden = ![...visible].some((index) => report.cells[index].system === one.dataset.system);
    }
    at("shown").textContent = `${visible.size} of ${report.cells.length} cells`;
    return report.refresh({ visible: (index) => visible.has(index) });
  }

  function startFilter() {
    let waiting = 0;
    at("filter").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(filter, 150);
    });
    for (const button of systems) {
      button.addEventListener("click", () => {
        button.ariaPressed = String(button.ariaPressed !== "true");
        filter();
      });
    }
    for (const button of every("#systems button[data-all]")) {
      button.addEventListener("click", () => {
        for (const one of systems) one.ariaPressed = button.dataset.all;
        filter();
      });
    }
    at("controls").hidden = false;
  }

  function startCurves() {
    const workload = at("workload");
    if (!workload) return;
    workload.addEventListener("change", () => report.refresh({ workload: workload.value }, true));
    at("samples").addEventListener("change", () => report.refresh({ samples: at("samples").checked }, true));
    at("curve-controls").hidden = false;
  }

  // -- the cell chosen, in a plot or in the table ----------------------------------------------------------

  const panel = at("chosen");
  let opener = null;

  report.choose = (index, from) => {
    const cell = report.cells[index];
    const block = at(`cell-${index}`);
    if (!cell || !block) return;
    for (const row of report.rows()) row.classList.toggle("chosen", Number(row.dataset.cell) === index);
    panel.dataset.cell = index;
    panel.querySelector("h2").textContent = cell.name;
    panel.querySelector("div").replaceChildren(...[...block.querySelector("div").childNodes].map((one) => one.cloneNode(true)));
    at("to-curve").hidden = !cell.points.length;
    panel.hidden = false;
    opener = from;
    if (from.matches("button")) panel.focus({ preventScroll: true });
    if (cell.points.length) at("workload").value = cell.workload;
    report.refresh({ chosen: cell.system, ...(cell.points.length ? { workload: cell.workload } : {}) });
  };

  function close() {
    const inside = panel.contains(document.activeElement);
    panel.hidden = true;
    for (const row of report.rows()) row.classList.remove("chosen");
    if (inside && opener?.matches("button")) opener.focus();
    report.refresh({ chosen: "" });
  }

  function go(target) {
    target.scrollIntoView({ block: "center" });
    (target.querySelector("button") || target).focus({ preventScroll: true });
  }

  function startPanel() {
    at("close").addEventListener("click", close);
    at("to-curve").addEventListener("click", () => go(document.querySelector("figure.wide:not([hidden])")));
    at("to-row").addEventListener("click", () => {
      const row = report.rows().find((one) => one.dataset.cell === panel.dataset.cell);
      if (row) go(row);
    });
    at("copy").hidden = !navigator.clipboard;
    at("copy").addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(panel.querySelector("code.command")?.textContent ?? "");
        at("copy").textContent = "Copied";
      } catch {
        at("copy").textContent = "Cannot copy here";
      }
      setTimeout(() => { at("copy").textContent = "Copy command"; }, 2000);
    });
    addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) close(); });
  }

  // -- downloads -----------------------------------------------------------------------------------------

  const raw = at("raw").textContent;

  async function unpacked() {
    const bytes = Uint8Array.from(atob(raw), (one) => one.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).blob();
  }

  async function save(name) {
    const files = JSON.parse(at("files").textContent);
    const blob = name === "runs.jsonl" ? await unpacked() : new Blob([files[name]], { type: "text/plain" });
    const link = document.createElement("a");
    link.href = URL.createObjectURL(blob);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function startDownloads() {
    for (const button of every("#downloads button")) button.addEventListener("click", () => save(button.dataset.file));
    if (at("downloads")) at("downloads").hidden = false;
  }

  // On paper nothing can be opened.
  function startPrint() {
    let closed = [];
    addEventListener("beforeprint", () => {
      // The commands of hundreds of cells would fill dozens of pages, and the names of a warning's cells several.
      closed = every(`main details:not([open]):not(#columns):not(#warnings-list *)${report.cells.length > 40 ? ":not(.one)" : ""}`);
      for (const one of closed) one.open = true;
      report.resize(700, 210);
    });
    addEventListener("afterprint", () => {
      for (const one of closed) one.open = false;
      report.resize();
    });
  }

  async function start() {
    startPrint();
    if (report.cells.length) {
      report.startTable();
      startPanel();
      startDownloads();
      startCurves();
      await report.refresh({ workload: at("workload")?.value });
      startFilter();
    }
    performance.mark("drawn");
    document.documentElement.dataset.drawn = "true";
  }

  start();
})();
