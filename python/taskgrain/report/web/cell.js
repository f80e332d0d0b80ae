// The page of one cell, beside the tables and plots in which the reader has chosen it.
(() => {
  const { at, every, state } = report;
  const panel = at("chosen");
  let opener = null;

  const marks = () => every("[data-cell].chosen");

  report.choose = (index, from) => {
    const block = at(`cell-${index}`);
    if (!block) return;
    for (const one of marks()) one.classList.remove("chosen");
    for (const one of every(`td[data-cell="${index}"], tr[data-cell="${index}"]`)) one.classList.add("chosen");
    panel.querySelector("h2").replaceChildren(...block.querySelector(".name").cloneNode(true).childNodes);
    at("chosen-facts").replaceChildren(block.querySelector("dl").cloneNode(true));
    panel.hidden = false;
    document.body.classList.add("beside");
    opener = from;
    if (from.matches("a, button")) panel.focus({ preventScroll: true });
    report.change({ cell: index });
  };

  function show() {
    if (state.cell === null) return null;
    const said = report.atTask(state.cell);
    at("chosen-at").textContent = said;
    at("chosen-at").hidden = !said;
    return report.drawCurve(state.cell);
  }

  function close() {
    const inside = panel.contains(document.activeElement);
    panel.hidden = true;
    document.body.classList.remove("beside");
    for (const one of marks()) one.classList.remove("chosen");
    state.cell = null;
    if (inside && opener?.matches("a, button")) opener.focus();
  }

  report.startCell = () => {
    report.listen(show);
    document.querySelector("main").addEventListener("click", (event) => {
      const link = event.target.closest("a[href^='#cell-']");
      if (!link) return;
      event.preventDefault();
      report.choose(Number(link.getAttribute("href").slice("#cell-".length)), link);
    });
    at("close").addEventListener("click", close);
    addEventListener("keydown", (event) => { if (event.key === "Escape" && !panel.hidden) close(); });
  };
})();
