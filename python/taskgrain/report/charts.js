"use strict";
const report = { cells: JSON.parse(document.getElementById("data").textContent) };

// The charts: what they show of the cells that the reader wants to see, and of the one chosen.
(() => {
  const { charts, specs, point: fields } = JSON.parse(document.getElementById("charts").textContent);
  for (const [index, cell] of report.cells.entries()) {
    cell.points = cell.points.map((values) => {
      const point = { cell: index, system: cell.system, ...Object.fromEntries(fields.map((field, i) => [field, values[i]])) };
      for (const end of ["", "_low", "_high"]) {
        const share = point[`efficiency${end}`];
        point[`rate${end}`] = share === null ? null : share * cell.peak;
      }
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

  // At one size, efficiency times granularity is the same for all samples.
  function samples(cell) {
    return cell.points.flatMap((point) => [...point.disturbed, ...point.samples].map((perMille, place) => {
      const disturbed = place < point.disturbed.length;
      const longer = Math.exp(perMille / 1000);
      const [granularity, efficiency] = [point.granularity * longer, point.efficiency / longer];
      return { system: cell.system, iterations: point.iterations, granularity, efficiency, disturbed, rate: efficiency * cell.peak };
    }));
  }

  // The dashed lines of the cells that are shown: each once, or their median.
  function lines(levels, middle, shown) {
    const found = new Map(shown.filter((index) => levels[index]).map((index) => [levels[index].value, levels[index]]));
    if (!middle) return [...found.values()].map((level) => ({ ...level }));
    const ordered = shown.filter((index) => levels[index]).map((index) => levels[index]).sort((a, b) => a.value - b.value);
    return ordered.length ? [{ ...ordered[ordered.length >> 1] }] : [];
  }

  // Fresh rows each time: Vega writes into those that it is given.
  function datasets({ of, needs, levels, middle }) {
    const shown = [...report.cells.keys()].filter((index) => state.visible(index) && (of || [state.workload]).includes(report.cells[index].workload));
    const cells = shown.map((index) => report.cells[index]);
    if (of) return { rows: cells.map((cell) => ({ ...cell.row })) };
    const known = cells.filter((cell) => !needs || cell[needs]);
    return {
      levels: lines(levels, middle, shown),
      points: known.flatMap((cell) => cell.points.map(({ samples: _, disturbed: __, ...point }) => point)),
      samples: state.samples ? known.flatMap(samples) : [],
    };
  }

  const height = (chart, data) => chart.row_height * data.rows.length;
  // The end of an axis that follows what is shown; as in rows.most.
  function most({ most: field, reach }, { levels, points }) {
    const high = (one) => Math.min(one[`${field}_high`] ?? one[field], reach * one[field]);
    return 1.05 * Math.max(...[...levels.map((one) => one.value), ...points.map(high)].filter(Number.isFinite));
  }

  async function draw(id, chart, data) {
    const place = document.getElementById(id);
    const spec = { ...specs[chart.spec], datasets: { ...specs[chart.spec].datasets, ...data } };
    if (chart.row_height) spec.height = height(chart, data);
    if (chart.most) spec.params = spec.params.map((one) => (one.name === "most" ? { ...one, value: most(chart, data) } : one));
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
    if (chart.row_height) view.height(height(chart, data));
    else view.signal("chosen", state.chosen);
    if (chart.most) view.signal("most", most(chart, data));
    await view.resize().runAsync();
  }

  // On paper the wide charts are drawn narrow and low, not scaled down to where nobody can read them.
  report.resize = (width, height) => {
    for (const [id, { of, spec }] of Object.entries(charts)) {
      if (!of) drawn[id]?.width(width || document.getElementById(id).clientWidth).height(height || specs[spec].height).run();
    }
  };
  // Draws again: every chart, or those of the workload that the reader has chosen.
  report.refresh = (changes, chosenOnly) => {
    Object.assign(state, changes);
    return Promise.all(Object.entries(charts).filter(([, chart]) => !(chosenOnly && chart.of)).map(redraw));
  };
})();
