// What is drawn over the picture: hands with their loads, the line of a cut, the ring of the brush, the cross of the keyboard.

import { get, makeSvg, short } from "./dom";
import type { GripNow } from "./engine/protocol";
import type { View } from "./view";

export interface Place {
  x: number;
  y: number;
}

export class Overlay {
  #svg = get<SVGSVGElement>("overlay");
  #hands = makeSvg("g");
  #cut = makeSvg("polyline", { class: "cut" });
  #ring = makeSvg("circle", { class: "ring", visibility: "hidden" });
  #cross = makeSvg("path", { class: "cross", d: "M-11 0h7M4 0h7M0-11v7M0 4v7", visibility: "hidden" });
  #grips: GripNow[] = [];
  #marks: { group: SVGGElement; text: SVGTextElement; back: SVGRectElement; label: string }[] = [];

  constructor(readonly view: View) {
    this.#svg.append(this.#cut, this.#ring, this.#hands, this.#cross);
  }

  /** The grips of a frame. */
  set grips(grips: GripNow[]) {
    this.#grips = grips;
    this.place();
  }

  /** Puts the marks where their grips are in the picture. */
  place() {
    const shown = this.#grips.flatMap(({ at, load }) => (at ? [{ at, load }] : []));
    while (this.#marks.length < shown.length) this.#marks.push(this.#mark());
    for (const [i, mark] of this.#marks.entries()) {
      const at = i < shown.length ? this.view.project(shown[i].at) : null;
      mark.group.setAttribute("visibility", at ? "visible" : "hidden");
      if (!at) continue;
      mark.group.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
      const label = `${short(shown[i].load)} N`;
      if (label === mark.label) continue;
      mark.label = label;
      mark.text.textContent = label;
      mark.back.setAttribute("width", `${(label.length * 0.6 + 0.95).toFixed(2)}em`);
    }
  }

  #mark() {
    const group = makeSvg("g", { class: "hand" });
    const text = makeSvg("text", { x: "1.75em", y: "-0.75em" });
    const back = makeSvg("rect", { x: "1.25em", y: "-1.85em", height: "1.6em", rx: "0.8em" });
    group.append(makeSvg("circle", { r: "0.7em" }), back, text);
    this.#hands.append(group);
    return { group, text, back, label: "" };
  }

  set cut(places: Place[]) {
    this.#cut.setAttribute("points", places.map(({ x, y }) => `${x.toFixed(1)},${y.toFixed(1)}`).join(" "));
  }

  /** The brush, or null. */
  ring(at: Place | null, radius: number) {
    this.#ring.setAttribute("visibility", at ? "visible" : "hidden");
    if (!at) return;
    this.#ring.setAttribute("cx", at.x.toFixed(1));
    this.#ring.setAttribute("cy", at.y.toFixed(1));
    this.#ring.setAttribute("r", Math.max(2, radius).toFixed(1));
  }

  set cross(at: Place | null) {
    this.#cross.setAttribute("visibility", at ? "visible" : "hidden");
    if (at) this.#cross.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
  }
}
