// The keyboard: numbers choose tools, space stops time, arrows turn the view, and Enter uses the tool at a cross that can be moved.

import type { App, ToolName } from "./app";
import { get } from "./dom";
import type { Place } from "./overlay";
import { Grab, type Stroke, type Tools } from "./tools";

const TOOLS: ToolName[] = ["look", "grab", "cut", "ball", "pin", "brush"];
/** One press of an arrow [CSS pixels, radians]. */
const SHIFT = 14;
const TURN = 0.09;

const ARROWS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function keys(app: App, tools: Tools) {
  const { canvas } = app.view;
  /** Where the cross is; in the middle until it is moved. */
  let cross: Place | null = null;
  let stroke: Stroke | null = null;

  const at = () => cross ?? app.view.middle;
  const show = (shown: boolean) => {
    app.overlay.cross = shown ? at() : null;
  };
  const letGo = (end: boolean) => {
    if (end) stroke?.end();
    else stroke?.cancel();
    stroke = null;
  };

  // The cross is for those who came by keyboard.
  canvas.addEventListener("focus", () => show(!canvas.hasAttribute("data-pointer")));
  canvas.addEventListener("blur", () => {
    letGo(true);
    show(false);
    canvas.removeAttribute("data-pointer");
  });
  canvas.addEventListener("pointerdown", () => show(false));
  canvas.addEventListener("keydown", () => canvas.removeAttribute("data-pointer"));
  app.on("tool", () => letGo(false));
  app.on("loaded", () => (stroke = null));

  canvas.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    if (arrow) {
      event.preventDefault();
      const [right, down] = arrow;
      if (stroke instanceof Grab) stroke.shift(right * SHIFT, down * SHIFT);
      else if (stroke || event.shiftKey) {
        cross = { x: at().x + right * SHIFT, y: at().y + down * SHIFT };
        show(true);
        stroke?.move(cross);
      } else app.view.orbit(-right * TURN, -down * TURN);
    } else if (event.key === "Enter") {
      event.preventDefault();
      show(true);
      if (stroke) letGo(true);
      else {
        stroke = tools.begin(app.tool, at());
        if (!stroke) void tools.click(app.tool, at());
      }
    } else if (event.key === "PageUp" || event.key === "PageDown") {
      event.preventDefault();
      const away = event.key === "PageUp" ? 1 : -1;
      if (stroke instanceof Grab) stroke.away(away * 0.02 * app.view.size);
      else app.view.zoom(away > 0 ? 1.1 : 1 / 1.1);
    } else if (event.key === "+" || event.key === "=") app.view.zoom(1.1);
    else if (event.key === "-") app.view.zoom(1 / 1.1);
    else if (event.key === "Escape") letGo(false);
  });

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    const target = event.target as HTMLElement;
    if (target.matches("select, input:not([type=range]):not([type=checkbox])")) return;
    const number = Number(event.key);
    if (number >= 1 && number <= TOOLS.length) {
      const button = document.querySelector<HTMLButtonElement>(`#tools [data-tool=${TOOLS[number - 1]}]`);
      if (button && !button.disabled) app.choose(TOOLS[number - 1]);
    } else if (event.key === " " && !target.matches("button, summary, input")) {
      event.preventDefault();
      app.run(!app.client.running);
    } else if (event.key === ".") void app.step();
    else if (event.key === "b" || event.key === "B") void app.rewind(2);
    else if (event.key === "r" || event.key === "R") void app.restart();
    else if (event.key === "?") get<HTMLDialogElement>("help").showModal();
  });
}
