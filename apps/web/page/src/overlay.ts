// What is drawn over the picture: hands with their loads, the line of a cut, the ring of the brush, the cross of the keyboard.

import { get, makeSvg, short } from "./dom";
import type { GripNow, Vec3 } from "./engine/protocol";
import type { View } from "./view";

export interface Place {
  x: number;
  y: number;
}

/** A hand on the cloth. */
interface Hand {
  /** Where the pointer has it. */
  at: Vec3;
  /** What the engine says of it; null until it has. */
  told: GripNow | null;
}

export class Overlay {
  #svg = get<SVGSVGElement>("overlay");
  #hands = makeSvg("g");
  #cut = makeSvg("polyline", { class: "cut" });
  #ring = makeSvg("circle", { class: "ring", visibility: "hidden" });
  #cross = makeSvg("path", { class: "cross", d: "M-11 0h7M4 0h7M0-11v7M0 4v7", visibility: "hidden" });
  #line: Place[] = [];
  #held = new Map<number, Hand>();
  #marks: { group: SVGGElement; pull: SVGLineElement; text: SVGTextElement; back: SVGRectElement; label: string }[] = [];

  constructor(readonly view: View) {
    this.#svg.append(this.#cut, this.#ring, this.#hands, this.#cross);
  }

  /** A hand is there as soon as the pointer is down, and where the pointer is: the engine may be busy with a step. */
  hold(hand: number, at: Vec3) {
    this.#held.set(hand, { at, told: this.#held.get(hand)?.told ?? null });
    this.place();
  }

  letGo(hand: number) {
    this.#held.delete(hand);
    this.place();
  }

  /** The grips of a frame. */
  set grips(grips: GripNow[]) {
    for (const [number, hand] of this.#held) {
      const told = grips.find((grip) => grip.hand === number);
      // What the engine knew and knows no more was torn out of the hand, or is of another time.
      if (hand.told && !told) this.#held.delete(number);
      else hand.told = told ?? null;
    }
    this.place();
  }

  /** Puts the marks where their hands are in the picture. */
  place() {
    const shown = [...this.#held.values()];
    while (this.#marks.length < shown.length) this.#marks.push(this.#mark());
    for (const [i, mark] of this.#marks.entries()) {
      const hand = shown[i] as Hand | undefined;
      const at = hand ? this.view.project(hand.at) : null;
      mark.group.setAttribute("visibility", at ? "visible" : "hidden");
      if (!hand || !at) continue;
      mark.group.setAttribute("transform", `translate(${at.x.toFixed(1)} ${at.y.toFixed(1)})`);
      // The cloth comes after the hand: a line from one to the other.
      const cloth = hand.told?.at ? this.view.project(hand.told.at) : null;
      mark.pull.setAttribute("x2", (cloth ? cloth.x - at.x : 0).toFixed(1));
      mark.pull.setAttribute("y2", (cloth ? cloth.y - at.y : 0).toFixed(1));
      const label = hand.told ? `${short(hand.told.load)} N` : "…";
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
    const pull = makeSvg("line");
    group.append(pull, makeSvg("circle", { r: "0.7em" }), back, text);
    this.#hands.append(group);
    return { group, pull, text, back, label: "" };
  }

  /** A sign where something was asked for that the engine has still to do; returns what takes it away. */
  asked(at: Place): () => void {
    const sign = makeSvg("circle", { class: "asked", cx: at.x.toFixed(1), cy: at.y.toFixed(1), r: "0.9em" });
    this.#svg.append(sign);
    return () => sign.remove();
  }

  get cut(): Place[] {
    return this.#line;
  }

  /** The line of a cut; empty for none. */
  set cut(places: Place[]) {
    this.#line = places;
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
