// Time: pause, step, slower, back, start again; and the figures of the run.

import type { App } from "./app";
import { legend } from "./colours";
import { get, make, short } from "./dom";
import type { Frame, WorkerTimes } from "./engine/protocol";

export function transport(app: App) {
  const play = get<HTMLButtonElement>("play");
  const speed = get<HTMLSelectElement>("speed");
  play.onclick = () => app.run(!app.client.running);
  get("restart").onclick = () => void app.restart();
  get("rewind").onclick = () => void app.rewind(2);
  get("step").onclick = () => void app.step();
  speed.onchange = () => app.run(app.client.running, Number(speed.value));

  app.on("clock", (running) => {
    play.querySelector("use")?.setAttribute("href", running ? "#i-pause" : "#i-play");
    play.ariaLabel = running ? "Pause" : "Play";
    play.title = running ? "Pause (space)" : "Play (space)";
  });

  // Nobody looks: no need to go on.
  let stopped = false;
  document.addEventListener("visibilitychange", () => {
    if (document.hidden && app.client.running) {
      stopped = true;
      app.run(false);
    } else if (!document.hidden && stopped) {
      stopped = false;
      app.run(true);
    }
  });
  counters(app);
}

/** How often figures are written [ms]: numbers that change with every frame can't be read. */
const PAUSE = 300;

function counters(app: App) {
  const time = get("time");
  const [fps, step, nodes, tears, pieces] = ["fps", "step", "nodes", "tears", "pieces"].map((name) => get(`c-${name}`));
  const stages = get("stages").querySelector("tbody");
  let since = performance.now();
  let frames = 0;
  let steps = 0;
  let sums: Record<string, number> = {};
  let mean = 0;

  const write = (frame: Frame, now: number) => {
    fps.textContent = short((frames * 1000) / (now - since));
    if (steps > 0) step.textContent = short(mean);
    nodes.textContent = String(frame.nodes);
    count(pieces, frame.pieces, "piece");
    if (stages && steps > 0 && get<HTMLDetailsElement>("figures").open) {
      const rows = Object.entries(sums).filter(([, ms]) => ms > 0);
      rows.sort((a, b) => b[1] - a[1]);
      const line = (name: string, value: string, className = "") => make("tr", { className }, make("th", {}, name), make("td", {}, value));
      stages.replaceChildren(
        ...rows.map(([name, ms]) => line(name, `${short(ms / steps)} ms`)),
        ...frame.grips.map(({ name, load }, i) => line(name, `${short(load)} N`, i === 0 ? "first" : "")),
      );
    }
    since = now;
    frames = steps = 0;
    sums = {};
  };

  app.on("frame", (frame: Frame, times: WorkerTimes) => {
    time.textContent = `${frame.time.toFixed(2)} s`;
    count(tears, frame.tears, "tear");
    frames++;
    steps += frame.steps;
    if (times.meanStep > 0) mean = times.meanStep;
    for (const [name, ms] of Object.entries(frame.stages)) sums[name] = (sums[name] ?? 0) + ms;
    const now = performance.now();
    if (now - since > PAUSE) write(frame, now);
    showLegend(app, frame);
  });
}

/** Writes a number, and the word after it as one says it. */
function count(figure: HTMLElement, number: number, word: string) {
  figure.textContent = String(number);
  if (figure.nextSibling) figure.nextSibling.textContent = number === 1 ? ` ${word}` : ` ${word}s`;
}

function showLegend(app: App, frame: Frame) {
  const box = get("legend");
  const { shown } = app;
  box.hidden = shown !== "strain" && shown !== "plastic" && shown !== "map";
  if (shown !== "strain" && shown !== "plastic" && shown !== "map") return;
  get("legend-bar").style.background = legend(shown);
  get("legend-low").textContent = shown === "map" ? "weak" : "0";
  get("legend-high").textContent = shown === "map" ? "strong" : shown === "strain" ? `${short(frame.largest_strain * 100)} %` : "high";
}
