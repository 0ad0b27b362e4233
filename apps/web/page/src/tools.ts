// What a pointer does to the cloth. Every pointer that a tool takes is a stroke of its own, so that several fingers can hold at once; pointers that
// no tool takes turn the view.

import type { App, ToolName } from "./app";
import { get, icon, make } from "./dom";
import { Latest } from "./engine/client";
import type { Ray, Vec3 } from "./engine/protocol";
import { tell } from "./notice";
import type { Place } from "./overlay";
import { ballFor, type ToolSettings } from "./tool-options";

/** What a pointer does from when it goes down until it goes up. */
export interface Stroke {
  move(at: Place): void;
  end(): void;
  /** It is taken back: nothing was meant. */
  cancel(): void;
}

/** A pointer that moves less is a click [CSS pixels]. */
const CLICK = 6;

const LABELS: [ToolName, string, string][] = [
  ["look", "Look", "Turn, move and zoom the view"],
  ["grab", "Grab", "Hold the cloth and pull"],
  ["cut", "Cut", "Draw a line to cut along"],
  ["ball", "Ball", "Throw a ball where you click"],
  ["pin", "Pin", "Pin a point, or free it"],
  ["brush", "Brush", "Paint where the cloth is weak or strong"],
];

export class Tools {
  /** Strokes of pointers that are down. */
  #strokes = new Map<number, Stroke>();
  /** Where those that turn the view went down, for clicks. */
  #clicks = new Map<number, Place & { moved: boolean }>();
  #nextHand = 1;
  #hands = new Set<Grab>();

  constructor(
    readonly app: App,
    readonly settings: ToolSettings,
  ) {
    this.#buttons();
    const { canvas } = app.view;
    // Before the view's controls hear of it: a pointer that a tool takes is none of theirs.
    canvas.addEventListener("pointerdown", (event) => this.#down(event), { capture: true });
    canvas.addEventListener("pointermove", (event) => this.#move(event), { capture: true });
    canvas.addEventListener("pointerup", (event) => this.#up(event), { capture: true });
    canvas.addEventListener("pointercancel", (event) => this.#cancel(event), { capture: true });
    canvas.addEventListener("pointerleave", () => this.app.overlay.ring(null, 0));
    canvas.addEventListener("wheel", (event) => this.#wheel(event), { capture: true, passive: false });
    app.on("loaded", () => this.#forget());
  }

  /** Begins what the tool does at a place, or null if that is none of its business. */
  begin(tool: ToolName, at: Place): Stroke | null {
    const { view } = this.app;
    const ray = view.ray(at.x, at.y);
    switch (tool) {
      case "grab": {
        const hit = view.meet(ray);
        if (!hit) return null;
        const grab: Grab = new Grab(this.app, this.#nextHand++, ray, hit, () => this.#hands.delete(grab));
        this.#hands.add(grab);
        return grab;
      }
      case "cut":
        return new Cut(this.app, at);
      case "brush":
        return view.meet(ray) ? new Paint(this.app, this.settings, at) : null;
      default:
        return null;
    }
  }

  /** What a click does. */
  async click(tool: ToolName, at: Place) {
    const { app } = this;
    const ray = app.view.ray(at.x, at.y);
    if (tool !== "ball" && tool !== "pin") return;
    const done = app.overlay.asked(at);
    if (tool === "ball") {
      const ball = ballFor(this.settings, app.view.size);
      const thrown = await app.attempt("No ball was thrown", () => app.client.ask("throw", { ray, ...ball }), true);
      if (thrown) app.view.setBodies(thrown.bodies);
      if (thrown && !app.client.running) tell("Paused: the ball flies when time goes on");
    } else {
      const answer = await app.attempt("Nothing was pinned", () => app.client.ask("pin", { ray }));
      if (answer) tell(answer.pinned === null ? "Click on the cloth to pin it" : answer.pinned ? "Pinned" : "Free again");
    }
    done();
  }

  #buttons() {
    const bar = get("tools");
    for (const [i, [name, label, title]] of LABELS.entries()) {
      const button = make("button", { type: "button", className: "tool", title: `${title} (${i + 1})` }, icon(name), make("span", {}, label));
      button.setAttribute("role", "radio");
      button.dataset.tool = name;
      button.onclick = () => this.app.choose(name);
      bar.append(button);
    }
    // One stop for the tab key, arrows within, as is usual for a choice of one.
    bar.addEventListener("keydown", (event) => {
      const way = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
      if (!way) return;
      event.preventDefault();
      const all = [...bar.querySelectorAll<HTMLButtonElement>("button:not(:disabled)")];
      const next = all[(all.indexOf(document.activeElement as HTMLButtonElement) + way + all.length) % all.length];
      next.focus();
      next.click();
    });
    const show = () => {
      for (const button of bar.querySelectorAll<HTMLButtonElement>("button")) {
        const chosen = button.dataset.tool === this.app.tool;
        button.setAttribute("aria-checked", String(chosen));
        button.tabIndex = chosen ? 0 : -1;
      }
      this.app.view.canvas.dataset.tool = this.app.tool;
      this.app.overlay.ring(null, 0);
    };
    this.app.on("tool", show);
    this.app.on("loaded", ({ options: { can } }) => {
      for (const [i, [name, , title]] of LABELS.entries()) {
        const button = bar.children[i] as HTMLButtonElement;
        button.disabled = name === "brush" && !can.paint;
        button.title = button.disabled ? `${title}: not in this scene` : `${title} (${i + 1})`;
      }
    });
    show();
  }

  #down(event: PointerEvent) {
    if (!event.isTrusted && event.detail === PASSED_ON) return;
    const { app } = this;
    app.view.canvas.setAttribute("data-pointer", "");
    app.view.canvas.focus({ preventScroll: true });
    const at = { x: event.clientX, y: event.clientY };
    if (event.button !== 0) return;
    // A second finger beside a cut means that the view is to be moved.
    for (const [id, stroke] of this.#strokes) if (stroke instanceof Cut && id !== event.pointerId) this.#handOver(id, stroke);
    const held = [...this.#clicks.keys()].some((id) => id !== event.pointerId);
    const stroke = held && app.tool !== "grab" ? null : this.begin(app.tool, at);
    if (!stroke) {
      this.#clicks.set(event.pointerId, { ...at, moved: held });
      return;
    }
    this.#strokes.set(event.pointerId, stroke);
    app.view.canvas.setPointerCapture(event.pointerId);
    event.stopImmediatePropagation();
  }

  #move(event: PointerEvent) {
    const at = { x: event.clientX, y: event.clientY };
    this.#hover(at);
    const click = this.#clicks.get(event.pointerId);
    if (click && Math.hypot(at.x - click.x, at.y - click.y) > CLICK) click.moved = true;
    const stroke = this.#strokes.get(event.pointerId);
    if (!stroke) return;
    event.stopPropagation();
    // All places since the last event, so that fast strokes stay round.
    const passed = event.getCoalescedEvents?.() ?? [];
    for (const { clientX: x, clientY: y } of passed.length > 0 ? passed : [event]) stroke.move({ x, y });
  }

  #up(event: PointerEvent) {
    const click = this.#clicks.get(event.pointerId);
    this.#clicks.delete(event.pointerId);
    if (click && !click.moved) void this.click(this.app.tool, click);
    const stroke = this.#strokes.get(event.pointerId);
    if (!stroke) return;
    this.#strokes.delete(event.pointerId);
    event.stopPropagation();
    stroke.end();
  }

  #cancel(event: PointerEvent) {
    this.#clicks.delete(event.pointerId);
    this.#strokes.get(event.pointerId)?.cancel();
    this.#strokes.delete(event.pointerId);
  }

  /** Gives a pointer to the view's controls after all. */
  #handOver(id: number, stroke: Cut) {
    stroke.cancel();
    this.#strokes.delete(id);
    const { x, y } = stroke.last;
    this.#clicks.set(id, { x, y, moved: true });
    const event = new PointerEvent("pointerdown", { pointerId: id, pointerType: "touch", clientX: x, clientY: y, button: 0, bubbles: true, detail: PASSED_ON });
    this.app.view.canvas.dispatchEvent(event);
  }

  /** While something is held the wheel moves it away or nearer. */
  #wheel(event: WheelEvent) {
    if (this.#hands.size === 0) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    for (const hand of this.#hands) hand.away(-event.deltaY * 0.0006 * this.app.view.size);
  }

  #hover(at: Place) {
    const { app } = this;
    if (app.tool !== "brush") return;
    const hit = app.view.meet(app.view.ray(at.x, at.y));
    app.overlay.ring(hit ? at : null, hit ? (this.settings.brushRadius * app.view.size) / app.view.pixel(hit) : 0);
  }

  /** A scene that starts again has no hands in it. */
  #forget() {
    for (const [id, stroke] of this.#strokes) {
      if (!(stroke instanceof Grab)) continue;
      this.#strokes.delete(id);
    }
    for (const hand of [...this.#hands]) hand.lost();
  }
}

/** Marks an event that this page sends itself. */
const PASSED_ON = 7;

/** Holds a point of the cloth and takes it along, in the plane through it that faces the camera. */
export class Grab implements Stroke {
  #send: Latest<Vec3>;
  #over = false;
  /** Where the hand is. */
  #at: Vec3;

  constructor(
    readonly app: App,
    readonly hand: number,
    ray: Ray,
    hit: Vec3,
    readonly done: () => void,
  ) {
    this.#at = hit;
    app.overlay.hold(hand, hit);
    this.#send = new Latest((to) => app.client.ask("drag", { hand, to }));
    void app.attempt("Nothing was grabbed", () => app.client.ask("grab", { hand, ray })).then((answer) => {
      // The engine's cloth has moved on since the picture: there may be nothing left at this place.
      if (!answer?.at) this.lost();
      // The page has let go meanwhile, as when the scene was just starting again: nobody else would tell the engine.
      else if (this.#over) this.#release();
    });
    if (!app.client.running) tell("Paused: press play, or space");
  }

  move(at: Place) {
    this.#to(this.app.view.onPlane(this.app.view.ray(at.x, at.y), this.#at));
  }

  /** Moves by so many CSS pixels; for keys. */
  shift(right: number, down: number) {
    const at = this.app.view.project(this.#at);
    if (at) this.move({ x: at.x + right, y: at.y + down });
  }

  /** Moves away from the camera [m]. */
  away(by: number) {
    const { eye } = this.app.view.viewpoint;
    const from = this.#at.map((x, k) => x - eye[k]);
    const factor = 1 + by / Math.max(Math.hypot(...from), 1e-6);
    this.#to(from.map((x, k) => eye[k] + x * Math.max(factor, 0.1)) as Vec3);
  }

  #to(to: Vec3) {
    if (this.#over) return;
    this.#at = to;
    this.app.overlay.hold(this.hand, to);
    this.#send.put(to);
  }

  end() {
    if (this.#over) return;
    this.lost();
    this.#release();
  }

  #release() {
    void this.app.client.ask("release", { hand: this.hand }).catch(() => {});
  }

  cancel() {
    this.end();
  }

  /** There is nothing in the hand any more. */
  lost() {
    this.#over = true;
    this.#send.drop();
    this.app.overlay.letGo(this.hand);
    this.done();
  }
}

/** Draws a line in the picture; what lies behind it is cut when the pointer goes up. */
export class Cut implements Stroke {
  #places: Place[];
  #rays: Ray[];

  constructor(
    readonly app: App,
    at: Place,
  ) {
    this.#places = [at];
    this.#rays = [app.view.ray(at.x, at.y)];
  }

  get last(): Place {
    return this.#places[this.#places.length - 1];
  }

  move(at: Place) {
    // Nearer points are tremor.
    if (Math.hypot(at.x - this.last.x, at.y - this.last.y) < 5) return;
    this.#places.push(at);
    this.#rays.push(this.app.view.ray(at.x, at.y));
    this.app.overlay.cut = this.#places;
  }

  end() {
    if (this.#rays.length < 2) return this.cancel();
    // The line stays until it is cut: that may be a step later.
    void this.app.attempt("Nothing was cut", () => this.app.client.ask("cut", { rays: this.#rays })).then((answer) => {
      if (this.app.overlay.cut === this.#places) this.cancel();
      if (answer?.stretches === 0) tell("The line missed the cloth");
    });
  }

  cancel() {
    this.app.overlay.cut = [];
  }
}

/** Paints strength. Strength counts from the beginning, so the scene goes back there and waits while it is painted. */
class Paint implements Stroke {
  #send: Latest<Ray>;
  #last: Promise<unknown> = Promise.resolve();

  constructor(
    readonly app: App,
    settings: ToolSettings,
    at: Place,
  ) {
    app.goOnAfterBrush ||= app.client.running;
    app.run(false);
    const [radius, strength] = [settings.brushRadius * app.view.size, settings.brushStrength];
    this.#send = new Latest((ray) => {
      const asked = app.attempt("Nothing was painted", () => app.client.ask("paint", { ray, radius, strength }));
      this.#last = asked;
      return asked;
    });
    this.move(at);
  }

  move(at: Place) {
    this.#send.put(this.app.view.ray(at.x, at.y));
  }

  end() {
    void this.#finish();
  }

  cancel() {
    void this.#finish();
  }

  async #finish() {
    await this.#last;
    const loaded = await this.app.attempt("The map was not taken", () => this.app.client.ask("paint_end", {}));
    if (loaded) this.app.begin(loaded);
  }
}
