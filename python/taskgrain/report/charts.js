"use strict";
const report = { cells: JSON.parse(document.getElementById("data").textContent) };

// The charts: what they show of the cells that the reader wants to see, and of the one chosen.
(() => {
  const { charts, specs, point: fields } = JSON.parse(document.getElementById("charts").textContent);
  for (const [index, cell] of report.cells.entries()) {
    cell.points = cell.points.map((values) => {
      const point = { cell: index, system: cell.system, ...Object.fromEntries(fields.map((field, i) => [field, values[i]])) };
      for (const end of ["", "_low", "_high"]) point[`rate${end}`] = point[`efficiency${end}`] * cell.peak;
      return point;
    });
  }
  const drawn = {};
  const state = { workload: "", samples: true, visible: () => true, chosen: "" };

  // Vega's interpreter of expressions (ast) instead of generated functions, which the page's policy forbids.
  const options = {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  function levels(cells, level) {
    const found = new Map(cells.map(level).filter(Boolean).map((one) => [one.value, one]));
    return [...found.values()];
  }

  function peak(cells) {
    const known = cells.map((cell) => cell.peak).filter(Boolean).sort((a, b) => a - b);
    return known.length ? [{ value: known[known.length >> 1], text: "peak" }] : [];
  }

  // At one size, efficiency times granularity is the same for all samples.
  function samples(cell) {
    return cell.points.flatMap((point) => [...point.disturbed, ...point.samples].map((perMille, place) => {
      const disturbed = place < point.disturbed.length;
      const longer = Math.exp(perMille / 1000);
      const [granularity, efficiency] = [point.granularity * longer, point.efficiency / longer];
      return { system: cell.system, iterations: point.iterations, granularity, efficiency, disturbed, rate: efficiency * cell.peak };
    }));
  }

  // Fresh rows each time: Vega writes into those that it is given.
  function datasets({ kind, of }) {
    const cells = report.cells.filter((cell, index) => state.visible(index) && (of || [state.workload]).includes(cell.workload));
    if (of) return { rows: cells.map((cell) => ({ ...cell.row })) };
    const known = kind === "rate" ? cells.filter((cell) => cell.peak) : cells;
    return {
      levels: kind === "rate" ? peak(cells) : levels(cells, (cell) => ({ ...cell.threshold })),
      points: known.flatMap((cell) => cell.points.map(({ samples: _, disturbed: __, ...point }) => point)),
      samples: state.samples ? known.flatMap(samples) : [],
    };
  }

  const height = (data) => 19 * data.rows.length;

  function most({ levels, points }) {
    return 1.05 * Math.max(...[...levels.map((one) => one.value), ...points.map((one) => one.rate_high)].filter(Number.isFinite));
  }

  async function draw(id, chart, data) {
    const place = document.getElementById(id);
    const spec = { ...specs[chart.kind], datasets: { ...specs[chart.kind].datasets, ...data } };
    if (chart.kind === "metg") spec.height = height(data);
    if (chart.kind === "rate") spec.params = spec.params.map((one) => (one.name === "most" ? { ...one, value: most(data) } : one));
    try {
      const { view } = await vegaEmbed(place, spec, options);
      drawn[id] = view;
      // The page's own words stand for the picture.
      place.querySelector("svg").setAttribute("aria-hidden", "true");
      view.addEventListener("click", (event, item) => {
        if (item?.datum?.cell !== undefined) report.choose(item.datum.cell, place);
      });
    } catch (error) {
      place.textContent = `This chart cannot be drawn: ${error.message}`;
    }
  }

  // A chart of nothing is hidden.
  async function redraw([id, chart]) {
    const data = datasets(chart);
    const figure = document.getElementById(id).closest("figure");
    figure.hidden = !(data.rows || data.points).length;
    if (figure.hidden) return;
    const view = drawn[id];
    if (!view) {
      await draw(id, chart, data);
      return;
    }
    for (const [name, rows] of Object.entries(data)) view.data(name, rows);
    if (chart.kind === "metg") view.height(height(data));
    else view.signal("chosen", state.chosen);
    if (chart.kind === "rate") view.signal("most", most(data));
    await view.resize().runAsync();
  }

  // On paper the wide charts are drawn narrow, not scaled down to where nobody can read them.
  report.resize = (width) => {
    for (const id of ["efficiency", "rate"]) drawn[id]?.width(width || document.getElementById(id).clientWidth).run();
  };
  report.refresh = (changes, kinds) => {
    Object.assign(state, changes);
    return Promise.all(Object.entries(charts).filter(([, chart]) => !kinds || kinds.includes(chart.kind)).map(redraw));
  };
})();
