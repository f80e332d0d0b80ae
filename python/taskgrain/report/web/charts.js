// The plots: what they show of the systems that the reader draws, of the task time, and of the cell chosen.
(() => {
  const { at, cells, state } = report;
  const { charts, specs, point: fields } = report.read("charts");
  for (const [index, cell] of cells.entries()) {
    cell.points = cell.points.map((values) => {
      const point = { cell: index, system: cell.system, ...Object.fromEntries(fields.map((field, i) => [field, values[i]])) };
      for (const end of ["", "_low", "_high"]) {
        const share = point[`efficiency${end}`];
        point[`rate${end}`] = share === null ? null : share * cell.peak;
      }
      return point;
    });
  }
  const NO_CELL = -1;
  const views = {};
  // Data sets that a plot's specification names.
  const named = Object.fromEntries(Object.entries(specs).map(([key, spec]) => {
    const text = JSON.stringify(spec);
    return [key, (name) => text.includes(`"data":{"name":"${name}"}`)];
  }));

  // Vega's interpreter of expressions (ast) instead of generated functions, which the page's policy forbids.
  const options = {
    mode: "vega-lite", renderer: "svg", ast: true, actions: false, defaultStyle: false,
    tooltip: { disableDefaultStyle: true },
  };

  // At one size, efficiency times granularity is the same for all samples.
  function samples(cell, look) {
    return cell.points.flatMap((point) => [...point.disturbed, ...point.samples].map((perMille, place) => {
      const longer = Math.exp(perMille / 1000);
      const [granularity, efficiency] = [point.granularity * longer, point.efficiency / longer];
      return { system: cell.system, iterations: point.iterations, granularity, efficiency, disturbed: place < point.disturbed.length, ...look };
    }));
  }

  // Tasks of one time, from the shortest granularity to the longest: work is efficiency times granularity.
  function hyperbola() {
    if (state.seconds === null) return [];
    return [...Array(60).keys()].map((i) => {
      const efficiency = 1.6 / 1.08 ** i;
      return { efficiency, granularity: state.seconds / efficiency };
    });
  }

  // A METG has the mark of its system, a bound one that says on which side of it METG lies.
  const inItsLook = (row, look) => ({ ...row, colour: look?.colour ?? "var(--muted)", mark: look && row.metg !== null ? look.shape : row.mark });

  // All panels of METG have one axis, around what they draw, with the ends and ticks of `look.domain` and `look.ticks`.
  function axis() {
    const rows = Object.values(charts).filter((one) => one.row_height).flatMap((one) => datasets(one).rows);
    const known = rows.flatMap((row) => (row.least === null ? [] : [row.least, row.most]));
    if (!known.length) return {};
    const [least, most] = [Math.min(...known), Math.max(...known)];
    const beside = Math.max(1.25, (most / least) ** 0.03);
    const [low, high] = [least / beside, most * beside];
    const decades = Math.log10(high / low);
    const steps = decades > 2 ? [1] : decades > 1 ? [1, 2, 5] : [1, 1.5, 2, 3, 4, 5, 6, 8];
    const first = Math.floor(Math.log10(low));
    const powers = [...Array(Math.ceil(decades) + 2).keys()].map((i) => first + i);
    const ticks = powers.flatMap((power) => steps.map((step) => Number(`${step}e${power}`))).filter((one) => low <= one && one <= high);
    return { low, high, ticks };
  }

  // Fresh rows each time: Vega writes into those that it is given.
  const bare = ({ samples: _, disturbed: __, ...point }, look) => ({ ...point, ...look });
  function datasets({ cells: numbers, shows, needs_peak, levels, own }) {
    const known = numbers.filter((index) => !needs_peak || cells[index].peak);
    const looks = new Map(known.map((index) => [index, report.lookOf(cells[index].system)]));
    const front = known.filter((index) => looks.get(index) || (shows === "rows" && state.all));
    const behind = known.filter((index) => !looks.get(index));
    if (shows === "rows") {
      const task = state.seconds === null || !front.length ? [] : [{ at: state.seconds / cells[front[0]].threshold }];
      return { rows: front.map((index) => inItsLook(cells[index].row, looks.get(index))), task };
    }
    if (shows === "own") {
      const made = (index) => (own[index] ?? []).map((row) => ({ ...row, ...looks.get(index) }));
      return { rows: [NO_CELL, ...front].flatMap(made), rest: behind.flatMap(made) };
    }
    const made = (index) => cells[index].points.map((point) => bare(point, looks.get(index)));
    return { points: front.flatMap(made), rest: behind.flatMap(made), samples: [], levels: levels.map((one) => ({ ...one })), task: hyperbola() };
  }

  async function draw(id, chart, data, size = {}) {
    const place = at(id);
    const spec = { ...specs[chart.spec], ...size, datasets: { ...specs[chart.spec].datasets, ...data } };
    if (chart.row_height) spec.height = chart.row_height * data.rows.length;
    const given = { most: chart.most, ...(chart.row_height ? axis() : {}) };
    spec.params = spec.params?.map((one) => ({ ...one, value: given[one.name] ?? one.value }));
    try {
      const { view } = await vegaEmbed(place, spec, options);
      views[id] = view;
      // The page's own words stand for the picture.
      place.querySelector("svg").setAttribute("aria-hidden", "true");
      view.addEventListener("click", (event, item) => {
        if (item?.datum?.cell !== undefined) report.choose(item.datum.cell, place);
      });
    } catch (error) {
      place.textContent = `This plot cannot be drawn: ${error.message}`;
    }
  }

  // The systems that the reader draws and that have no line here.
  function without({ cells: numbers, shows, needs_peak }) {
    const has = (cell) => (!needs_peak || cell.peak) && (shows !== "points" || cell.points.length);
    return numbers.map((index) => cells[index]).filter((cell) => report.lookOf(cell.system) && !has(cell)).map((cell) => cell.system);
  }

  // A plot of nothing is hidden.
  async function redraw([id, chart]) {
    const data = Object.fromEntries(Object.entries(datasets(chart)).filter(([name]) => named[chart.spec](name)));
    const figure = at(id).closest("figure");
    figure.hidden = !["rows", "points", "rest"].some((name) => data[name]?.length);
    if (figure.hidden) return;
    const absent = without(chart);
    figure.querySelector("figcaption").textContent = absent.length ? `No curve: ${absent.join(", ")}.` : "";
    const view = views[id];
    if (!view) {
      await draw(id, chart, data);
      return;
    }
    for (const [name, rows] of Object.entries(data)) view.data(name, rows);
    if (chart.row_height) {
      view.height(chart.row_height * data.rows.length);
      for (const [name, value] of Object.entries(axis())) view.signal(name, value);
    }
    await view.resize().runAsync();
  }

  // The curve of one cell with all its samples, in the look that its system has, or a look of its own.
  report.drawCurve = (index) => {
    const chart = Object.values(charts).find((one) => one.spec === "efficiency" && one.cells.includes(index));
    const figure = at("chosen-curve").closest("figure");
    figure.hidden = !chart;
    if (!chart) return null;
    const look = report.lookOf(cells[index].system) ?? report.looks[0];
    const points = cells[index].points.map((point) => bare(point, look));
    const data = { points, rest: [], samples: samples(cells[index], look), levels: chart.levels.map((one) => ({ ...one })), task: hyperbola() };
    return draw("chosen-curve", chart, data, { height: 240 });
  };

  // One after the other, the first ones first: each is on the screen as soon as it can be.
  let last = Promise.resolve();
  report.startCharts = () => {
    report.listen((_, changes) => {
      if (!("drawn" in changes || "all" in changes || "seconds" in changes)) return null;
      last = last.then(async () => {
        for (const one of Object.entries(charts)) await redraw(one);
      });
      return last;
    });
  };
})();
