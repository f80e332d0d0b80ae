"use strict";
// What all scripts of the page share: what it knows, what the reader has chosen, and who wants to know of it.
const report = (() => {
  const at = (id) => document.getElementById(id);
  const read = (id) => JSON.parse(at(id).textContent);
  // What lies compressed in the page.
  const unpacked = (id) => {
    const bytes = Uint8Array.from(atob(at(id).textContent), (one) => one.charCodeAt(0));
    return new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip")));
  };
  const state = { drawn: [], all: false, seconds: null, cell: null };
  const listeners = [];
  return {
    at,
    read,
    unpacked,
    every: (selector) => [...document.querySelectorAll(selector)],
    ...read("data"),
    state,
    listen: (listener) => listeners.push(listener),
    // What has changed is told to all; the promise ends when all charts are drawn.
    change(changes) {
      Object.assign(state, changes);
      return Promise.all(listeners.map((listener) => listener(state, changes)));
    },
  };
})();
