// Whether tasks of a time are long enough. The page brings the answers, which are those of `taskgrain advise`;
// here the one for the time that the reader types is looked up.
(() => {
  const { at, every, times, state } = report;
  const UNITS = { ns: 1e-9, us: 1e-6, "µs": 1e-6, "μs": 1e-6, ms: 1e-3, s: 1 };
  const LEVELS = ["50 %", "80 %", "90 %"];
  const WORDS = { y: "yes", n: "no", u: "not known", x: "never" };
  const usual = {};
  let answers = null;

  function seconds(text) {
    const match = /^\s*(\d+(?:\.\d*)?|\.\d+)\s*(ns|us|µs|μs|ms|s)\s*$/.exec(text);
    const found = match ? Number(match[1]) * UNITS[match[2]] : 0;
    return found > 0 ? found : null;
  }

  // The number of the nearest time that the page has answers for.
  function nearest(wished) {
    const far = (one) => Math.abs(Math.log(one.seconds / wished));
    return times.reduce((best, one, place) => (far(one) < far(times[best]) ? place : best), 0);
  }

  function answer(number, place) {
    const row = answers[number].findLast((one) => one[0] <= place);
    if (!row) return null;
    const [, text, share, verdicts] = row;
    const reached = verdicts.lastIndexOf("y");
    const level = Math.max(reached, 0);
    const word = `${LEVELS[level]}: ${WORDS[verdicts[level]]}`;
    return { text, share, word, verdicts, shade: reached >= 0 ? 2 - reached : "nx".includes(verdicts[0]) ? 4 : null };
  }

  // Of a cell, in a sentence, for the time that the reader has asked about.
  report.atTask = (number) => {
    if (state.seconds === null) return "";
    const found = answer(number, nearest(state.seconds));
    if (!found) return "";
    const each = LEVELS.map((level, i) => `${level}: ${WORDS[found.verdicts[i]]}`).join(", ");
    return `Tasks of ${times[nearest(state.seconds)].text}: efficiency ${found.text}. Do they reach ${each}?`;
  };

  function fill(entry, text, small, classes, value) {
    entry.querySelector("b").textContent = text;
    let line = entry.querySelector("small");
    if (!line) entry.querySelector("a").append(line = document.createElement("small"));
    line.textContent = small;
    entry.className = classes;
    if (value === null) delete entry.dataset.value;
    else entry.dataset.value = value;
  }

  function show() {
    const asked = state.seconds !== null;
    const place = asked ? nearest(state.seconds) : 0;
    for (const entry of every("#matrix td[data-cell]")) {
      const number = Number(entry.dataset.cell);
      usual[number] ??= { text: entry.querySelector("b").textContent, small: entry.querySelector("small")?.textContent ?? "",
        classes: entry.className, value: entry.dataset.value ?? null };
      const found = asked ? answer(number, place) : null;
      if (!found) { // what has no curve says why: it failed, say, or its system does not support it
        const { text, small, classes, value } = usual[number];
        fill(entry, text, small, classes, value);
        continue;
      }
      fill(entry, found.word, found.text, `entry${found.shade === null ? " unsure" : ` shade-${found.shade}`}`, found.share === null ? null : -found.share);
    }
    for (const one of [at("long-enough"), at("matrix")]) one.classList.toggle("asked", asked);
    at("matrix-said").hidden = at("shades").hidden = asked;
    at("task-off").hidden = !asked;
    if (!asked) return;
    const off = Math.abs(times[place].seconds / state.seconds - 1) > 1e-9 ? " (the nearest time that this page knows; “taskgrain advise” knows yours)" : "";
    at("task-said").textContent = `Tasks whose work takes ${times[place].text} alone${off}. Below each verdict stands the efficiency.`;
  }

  report.askTask = async (wished) => {
    answers ??= await report.unpacked("answers").json();
    return report.change({ seconds: wished });
  };

  function ask() {
    const found = seconds(at("task").value);
    at("task").ariaInvalid = String(found === null);
    if (found === null) at("task-said").textContent = "Give a time with its unit, such as 500 ns, 20 us, 1.5 ms.";
    else report.askTask(found);
  }

  report.startTask = () => {
    if (!at("long-enough")) return;
    const help = at("task-said").textContent;
    report.listen((_, changes) => { if ("seconds" in changes) show(); });
    at("long-enough").addEventListener("submit", (event) => { event.preventDefault(); ask(); });
    at("task").addEventListener("change", ask);
    at("task-off").addEventListener("click", () => {
      at("task").value = "";
      at("task-said").textContent = help;
      report.change({ seconds: null });
      at("task").focus();
    });
    if (report.start) at("task").value = times[nearest(report.start)].text;
    at("long-enough").hidden = false;
  };
})();
