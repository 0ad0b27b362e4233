// What can be set for a tool: the ball that is thrown, the brush. Sizes are shares of the scene's, so that they suit a handkerchief and a tent.

import type { App, ToolName } from "./app";
import { get, make, short } from "./dom";
import { tell } from "./notice";

export interface ToolSettings {
  /** Radius of the ball over the size of the scene. */
  ballRadius: number;
  /** Mass of the ball [kg] in a scene of one metre; grows with the area of the cloth. */
  ballMass: number;
  /** Speed of the ball in sizes of the scene per second. */
  ballSpeed: number;
  /** Radius of the brush over the size of the scene. */
  brushRadius: number;
  /** Strength that is painted, 0 to 1. */
  brushStrength: number;
}

/** The ball in the engine's units. */
export function ballFor(settings: ToolSettings, size: number) {
  return { radius: settings.ballRadius * size, mass: settings.ballMass * size ** 2, speed: settings.ballSpeed * size };
}

interface Slider {
  key: keyof ToolSettings;
  label: string;
  /** Logarithmic, from and to. */
  range: [number, number];
  linear?: boolean;
  text: (settings: ToolSettings, size: number) => string;
}

function length(metres: number): string {
  return metres < 0.01 ? `${short(metres * 1000)} mm` : metres < 1 ? `${short(metres * 100)} cm` : `${short(metres)} m`;
}

function mass(kilograms: number): string {
  return kilograms < 1 ? `${short(kilograms * 1000)} g` : `${short(kilograms)} kg`;
}

const SLIDERS: Partial<Record<ToolName, Slider[]>> = {
  ball: [
    { key: "ballRadius", label: "Radius", range: [0.015, 0.2], text: (s, size) => length(ballFor(s, size).radius) },
    { key: "ballMass", label: "Mass", range: [0.02, 20], text: (s, size) => mass(ballFor(s, size).mass) },
    { key: "ballSpeed", label: "Speed", range: [0.5, 20], text: (s, size) => `${short(ballFor(s, size).speed)} m/s` },
  ],
  brush: [
    { key: "brushRadius", label: "Radius", range: [0.01, 0.2], text: (s, size) => length(s.brushRadius * size) },
    { key: "brushStrength", label: "Strength", range: [0, 1], linear: true, text: (s) => `${Math.round(s.brushStrength * 100)} %` },
  ],
};

const STEPS = 100;

export function toolOptions(app: App): ToolSettings {
  const settings: ToolSettings = { ballRadius: 0.06, ballMass: 0.6, ballSpeed: 4, brushRadius: 0.04, brushStrength: 0.2 };
  const box = get("tool-options");

  const row = ({ key, label, range: [low, high], linear, text }: Slider) => {
    const value = (t: number) => (linear ? low + (high - low) * t : low * (high / low) ** t);
    const place = linear ? (settings[key] - low) / (high - low) : Math.log(settings[key] / low) / Math.log(high / low);
    const id = `option-${key}`;
    const input = make("input", { id, type: "range", min: "0", max: String(STEPS), value: String(Math.round(place * STEPS)) });
    const out = make("output", { textContent: text(settings, app.view.size) });
    out.setAttribute("for", id);
    input.oninput = () => {
      settings[key] = value(Number(input.value) / STEPS);
      out.textContent = text(settings, app.view.size);
      input.setAttribute("aria-valuetext", out.textContent);
    };
    input.setAttribute("aria-valuetext", out.textContent ?? "");
    return make("div", { className: "row" }, make("label", { htmlFor: id, textContent: label }), input, out);
  };

  const show = () => {
    const sliders = SLIDERS[app.tool] ?? [];
    box.hidden = sliders.length === 0;
    box.replaceChildren(...sliders.map(row));
    if (app.tool === "brush") {
      const clear = make("button", { type: "button", textContent: "Clear the map" });
      clear.onclick = async () => {
        const loaded = await app.attempt("The map was not cleared", () => app.client.ask("paint_clear", {}));
        if (!loaded) return;
        app.begin(loaded);
        tell("The cloth is as strong as the scene says");
      };
      box.append(make("div", { className: "buttons" }, clear));
    }
  };
  app.on("tool", show);
  app.on("loaded", show);
  show();
  return settings;
}
