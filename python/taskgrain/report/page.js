"use strict";
(() => {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const views = {};

  // Vega's interpreter of expressions (ast) instead of generated functions, which the page's policy forbids.
  const options = {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  async function draw(id, spec, datasets) {
    const place = document.getElementById(id);
    if (!place) return;
    try {
      const whole = { ...spec, datasets: { ...spec.datasets, ...datasets } };
      views[id] = (await vegaEmbed(place, whole, options)).view;
    } catch (error) {
      place.textContent = `This chart cannot be drawn: ${error.message}`;
    }
  }

  async function signal(name, value) {
    const curves = ["efficiency", "rate"].filter((id) => id in views);
    await Promise.all(curves.map((id) => views[id].signal(name, value).resize().runAsync()));
  }

  function controls() {
    const workload = document.getElementById("workload");
    const systems = [...document.querySelectorAll("#systems button[data-system]")];
    if (!workload) return;
    const show = () => signal("shown", systems.filter((one) => one.ariaPressed === "true").map((one) => one.dataset.system));
    workload.addEventListener("change", () => signal("workload", workload.value));
    for (const button of systems) {
      button.addEventListener("click", () => {
        button.ariaPressed = String(button.ariaPressed !== "true");
        show();
      });
    }
    for (const button of document.querySelectorAll("#systems button[data-all]")) {
      button.addEventListener("click", () => {
        for (const one of systems) one.ariaPressed = button.dataset.all;
        show();
      });
    }
    document.getElementById("controls").hidden = false;
  }

  // A cell without a number stays at the end in both directions.
  function sort(table, column, header) {
    const down = header.ariaSort === "ascending";
    for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
    header.ariaSort = down ? "descending" : "ascending";
    const numeric = header.dataset.type === "number";
    const value = (row) => (numeric ? parseFloat(row.cells[column].dataset.value) : row.cells[column].textContent.trim());
    const compare = (a, b) => {
      if (!numeric) return a.localeCompare(b, undefined, { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return 0;
      return a - b;
    };
    const rows = [...table.tBodies[0].rows].map((row) => [value(row), row]);
    rows.sort(([a], [b]) => Number.isNaN(a) - Number.isNaN(b) || (down ? compare(b, a) : compare(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function sortable(table) {
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      header.querySelector("button").addEventListener("click", () => sort(table, column, header));
    });
  }

  function download() {
    const link = document.getElementById("download");
    const lines = read("metg-lines").map((line) => JSON.stringify(line) + "\n");
    link.href = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    link.hidden = false;
  }

  // On paper nothing can be opened.
  function print() {
    let closed = [];
    addEventListener("beforeprint", () => {
      closed = [...document.querySelectorAll("details:not([open])")];
      for (const one of closed) one.open = true;
    });
    addEventListener("afterprint", () => closed.forEach((one) => { one.open = false; }));
  }

  async function start() {
    document.querySelectorAll("table.sortable").forEach(sortable);
    download();
    print();
    const datasets = { points: read("points") };
    await Promise.all(Object.entries(read("charts")).map(([id, spec]) => draw(id, spec, datasets)));
    controls();
    document.documentElement.dataset.drawn = "true";
  }

  start();
})();
