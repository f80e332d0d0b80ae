// Tables: sorting within each group of rows, the columns and the filter of the table of cells.
(() => {
  const { at, every } = report;

  // A cell without a number stays at the end in both directions.
  function sort(table, column, header) {
    const down = header.ariaSort === "ascending";
    for (const other of table.tHead.rows[0].cells) other.ariaSort = null;
    header.ariaSort = down ? "descending" : "ascending";
    const numeric = header.dataset.type === "number";
    // A missing bound makes an interval infinitely wide.
    const number = (text) => (text === "inf" ? Infinity : parseFloat(text));
    const value = (row) => (numeric ? number(row.cells[column].dataset.value) : row.cells[column].textContent.trim());
    const compare = (a, b) => {
      if (!numeric) return a.localeCompare(b, undefined, { numeric: true });
      if (Number.isNaN(a) || Number.isNaN(b)) return 0;
      return (a > b) - (a < b);
    };
    for (const body of table.tBodies) {
      const rows = [...body.rows].filter((row) => !row.matches(".kind")).map((row) => [value(row), row]);
      rows.sort(([a], [b]) => Number.isNaN(a) - Number.isNaN(b) || (down ? compare(b, a) : compare(a, b)));
      body.append(...rows.map(([, row]) => row));
    }
  }

  // Whether a part of a name begins with the word: mpi finds mpi and mpi_rma, but not compiled.
  function has(text, word) {
    for (let i = text.indexOf(word); i >= 0; i = text.indexOf(word, i + 1)) {
      if (i === 0 || !/[a-z0-9]/.test(text[i - 1])) return true;
    }
    return false;
  }

  function filter() {
    const words = at("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = (text) => words.every((word) => (word.length > 1 && word.startsWith("-") ? !has(text, word.slice(1)) : has(text, word)));
    let count = 0;
    for (const row of at("table").tBodies[0].rows) {
      row.hidden = !fits(report.cells[Number(row.dataset.cell)].words);
      count += !row.hidden;
    }
    at("shown").textContent = `${count} of ${report.cells.length} cells`;
  }

  // Kinds of systems, or all systems in one order: that of the table as it came.
  function group(table) {
    const bodies = [...table.tBodies];
    const homes = new Map(bodies.flatMap((body) => [...body.rows].map((row) => [row, body])));
    const box = at("grouped");
    box?.addEventListener("change", () => {
      for (const [row, body] of homes) (box.checked || row.matches(".kind") ? body : bodies[0]).append(row);
      for (const row of every("#matrix .kind")) row.hidden = !box.checked;
      const sorted = [...table.tHead.rows[0].cells].findIndex((header) => header.ariaSort);
      if (sorted < 0) return;
      const header = table.tHead.rows[0].cells[sorted];
      header.ariaSort = header.ariaSort === "ascending" ? "descending" : "ascending"; // the same direction again
      sort(table, sorted, header);
    });
    if (box) at("grouping").hidden = false;
  }

  report.startTables = () => {
    for (const table of every("table.sortable")) {
      [...table.tHead.rows[0].cells].forEach((header, column) => {
        header.querySelector("button").addEventListener("click", () => sort(table, column, header));
      });
    }
    if (!at("table")) return;
    group(at("matrix"));
    for (const box of every("#columns input")) {
      box.addEventListener("change", () => {
        for (const row of at("table").rows) row.cells[Number(box.value)].hidden = !box.checked;
      });
    }
    at("filter").addEventListener("input", filter);
    at("columns").hidden = at("finding").hidden = false;
  };
})();
