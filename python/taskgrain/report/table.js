// The table of cells: sorting, columns, and the rows that the filter lets through.
(() => {
  const table = document.getElementById("table");
  report.rows = () => (table ? [...table.tBodies[0].rows] : []);

  // A cell without a number stays at the end in both directions.
  function sort(column, header) {
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
    const rows = report.rows().map((row) => [value(row), row]);
    rows.sort(([a], [b]) => Number.isNaN(a) - Number.isNaN(b) || (down ? compare(b, a) : compare(a, b)));
    table.tBodies[0].append(...rows.map(([, row]) => row));
  }

  function show(column, shown) {
    for (const row of table.rows) row.cells[column].hidden = !shown;
  }

  report.startTable = () => {
    if (!table) return;
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      header.querySelector("button").addEventListener("click", () => sort(column, header));
    });
    for (const box of document.querySelectorAll("#columns input")) {
      box.addEventListener("change", () => show(Number(box.value), box.checked));
    }
    table.addEventListener("click", ({ target }) => {
      const button = target.closest("tbody button");
      if (button) report.choose(Number(button.closest("tr").dataset.cell), button);
    });
    document.getElementById("columns").hidden = false;
  };
})();
