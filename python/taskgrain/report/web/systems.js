// Which systems the plots draw: each has a colour and a mark of its own, and all others are grey.
(() => {
  const { at, every, looks, state } = report;

  // Its colour and mark stay with a system as long as it is drawn.
  report.lookOf = (system) => {
    const place = state.drawn.indexOf(system);
    return place < 0 ? null : looks[place];
  };

  function toggle(system) {
    const drawn = [...state.drawn];
    const place = drawn.indexOf(system);
    let said = "The other systems are grey lines.";
    if (place >= 0) {
      drawn[place] = null;
    } else {
      const free = drawn.findIndex((one) => one === null);
      if (free >= 0) drawn[free] = system;
      else if (drawn.length < looks.length) drawn.push(system);
      else {
        said = `${drawn[0]} is grey now: at most ${looks.length} systems have a colour.`;
        drawn.splice(0, 1, system);
      }
    }
    at("drawn-said").textContent = said;
    report.change({ drawn });
  }

  function key(look) {
    const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
    const path = document.createElementNS("http://www.w3.org/2000/svg", "path");
    svg.setAttribute("class", "key");
    svg.setAttribute("viewBox", "-1.4 -1.3 2.8 2.6");
    svg.setAttribute("aria-hidden", "true");
    path.setAttribute("d", look.shape);
    path.setAttribute("fill", look.colour);
    svg.append(path);
    return svg;
  }

  function show() {
    const buttons = state.drawn.filter((one) => one !== null).map((system) => {
      const button = document.createElement("button");
      button.type = "button";
      button.dataset.system = system;
      button.append(key(report.lookOf(system)), ` ${system} `);
      button.title = "Take it out of the plots";
      button.addEventListener("click", () => toggle(system));
      return button;
    });
    at("drawn-systems").replaceChildren(...buttons);
    for (const button of every("#matrix .system")) {
      const look = report.lookOf(button.dataset.system);
      button.ariaPressed = String(look !== null);
      button.querySelector("svg")?.remove();
      if (look) button.prepend(key(look));
    }
  }

  report.startSystems = () => {
    if (!at("drawn")) return;
    report.listen((_, changes) => { if (changes.drawn) show(); });
    for (const button of every("#matrix .system")) button.addEventListener("click", () => toggle(button.dataset.system));
    at("drawn").hidden = false;
    if (!at("all-rows")) return;
    at("all-rows").addEventListener("change", () => report.change({ all: at("all-rows").checked }));
    at("rows").hidden = false;
  };
})();
