// Starts what the page can do with a script; and its downloads, and how it is printed.
(() => {
  const { at, every } = report;

  async function save(name) {
    const blob = name === "runs.jsonl"
      ? await report.unpacked("raw").blob()
      : new Blob([(await report.unpacked("files").json())[name]], { type: "text/plain" });
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

  // A link into something closed opens it.
  function openTarget() {
    const target = location.hash.length > 1 ? at(decodeURIComponent(location.hash.slice(1))) : null;
    for (let one = target; one; one = one.parentElement) if (one.matches("details")) one.open = true;
    target?.scrollIntoView();
  }

  // On paper nothing can be opened.
  function startPrint() {
    let closed = [];
    addEventListener("beforeprint", () => {
      // The commands of hundreds of cells would fill dozens of pages, and so would the lines behind each check.
      const few = report.cells.length <= 40;
      closed = every("main details:not([open]):not(#columns):not(.checks *)").filter((one) => few || one.id !== "commands");
      for (const one of closed) one.open = true;
    });
    addEventListener("afterprint", () => { for (const one of closed) one.open = false; });
  }

  async function start() {
    startPrint();
    startDownloads();
    report.startTables();
    report.startSystems();
    report.startTask();
    report.startCharts();
    report.startCell();
    addEventListener("hashchange", openTarget);
    openTarget();
    if (report.start) await report.askTask(report.start);
    if (report.cells.length) await report.change({ drawn: report.drawn });
    document.documentElement.dataset.drawn = "true";
  }

  start();
})();
