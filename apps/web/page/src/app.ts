// The page's state and what changes it: which scene, which settings, whether time passes. Panels and tools call this and are told by events.

import type { Colouring } from "./cloth";
import { get } from "./dom";
import { type Client, EngineError, Gone } from "./engine/client";
import type { EngineColouring, Frame, Loaded, SceneFile, SetValues, Trouble, Vec3, WorkerTimes } from "./engine/protocol";
import type { Link } from "./link";
import { clearErrors, complain, tell, trouble } from "./notice";
import { Overlay } from "./overlay";
import { LONGEST, pack } from "./packed";
import type { View } from "./view";

export type ToolName = "look" | "grab" | "cut" | "ball" | "pin" | "brush";

interface Events {
  /** A scene is at time zero: a new one, or the same with other settings. */
  loaded: (loaded: Loaded, fresh: boolean) => void;
  frame: (frame: Frame, times: WorkerTimes) => void;
  tool: (tool: ToolName) => void;
  clock: (running: boolean, speed: number) => void;
  colouring: (colouring: Colouring) => void;
}

/** A step may take long, and can't be interrupted: who wants to start again gets a new engine after so long [ms]. */
const STUCK = 700;
/** A sign says that the engine is busy when it has not answered for so long [ms]. */
const LATE = 300;

type Listeners = { [E in keyof Events]: Events[E][] };

export class App {
  readonly overlay: Overlay;
  loaded: Loaded | null = null;
  scene: SceneFile | null = null;
  /** Name in the gallery, if it is from there. */
  path: string | null = null;
  /** The scene as a word for links, if it isn't from there and small enough. */
  packed: string | null = null;
  /** What was set differently from the scene. */
  chosen: SetValues = {};
  wind: Vec3 | null = null;
  tool: ToolName = "grab";
  colouring: Colouring = "fabric";
  /** False: frames are taken over but not drawn, for tests where drawing is software. */
  drawing = true;
  /** Time was stopped to paint; it goes on with another tool. */
  goOnAfterBrush = false;
  frame: Frame | null = null;
  times: WorkerTimes | null = null;
  /** The longest that taking over a frame took this thread, that a step took the worker, and that a request waited for it [ms]. */
  longest = { update: 0, step: 0, wait: 0 };

  #listeners: Listeners = { loaded: [], frame: [], tool: [], clock: [], colouring: [] };
  #busy = get("busy");
  /** Time stands still because a step failed; what goes back lets it go on. */
  #stopped = false;
  #bodiesAsked = false;
  /** A frame has come that is not drawn yet. */
  #undrawn = false;

  constructor(
    readonly client: Client,
    readonly view: View,
  ) {
    this.overlay = new Overlay(view);
    view.onMove = () => this.overlay.place();
    client.onFrame = (frame, times) => this.#receive(frame, times);
    client.onFailed = (trouble, fatal) => this.#failed(trouble, fatal);
    const tick = () => {
      this.#tick();
      requestAnimationFrame(tick);
    };
    requestAnimationFrame(tick);
    this.client.want("fabric", true);
  }

  on<E extends keyof Events>(event: E, listener: Events[E]) {
    (this.#listeners[event] as Events[E][]).push(listener);
  }

  #tell<E extends keyof Events>(event: E, ...what: Parameters<Events[E]>) {
    for (const listener of this.#listeners[event]) (listener as (...what: Parameters<Events[E]>) => void)(...what);
  }

  /** Loads a scene; the one before stays if that fails. Says whether it went well. */
  async load(scene: SceneFile, path: string | null, link: Partial<Link> = {}): Promise<boolean> {
    let loaded: Loaded;
    // Most scenes are there at once; a sign for them would only flicker.
    const sign = setTimeout(() => (get("waiting").hidden = false), 300);
    try {
      loaded = await this.client.load({ ...scene, variant: link.variant ?? null });
    } catch (error) {
      if (!(error instanceof Gone)) complain(`${scene.name} could not be loaded`, trouble(error));
      return false;
    } finally {
      clearTimeout(sign);
      get("waiting").hidden = true;
    }
    this.scene = scene;
    this.path = path;
    this.packed = null;
    this.chosen = {};
    this.wind = null;
    this.begin(loaded, true);
    if (link.view) this.view.look(link.view);
    // A link may be older than the scene: what no longer fits is told, the rest is done.
    if (link.set && Object.values(link.set).some((value) => value !== undefined)) await this.set(link.set);
    if (link.wind) this.blow(link.wind);
    if (!path) await this.#packFor(scene);
    return true;
  }

  /** Makes ready what a link to a scene from elsewhere carries. */
  async #packFor(scene: SceneFile) {
    // Without it there is no link, and who asks for one is told.
    const word = await pack(scene).catch(() => null);
    if (word && word.length <= LONGEST && this.scene === scene) this.packed = word;
  }

  /** Takes over a scene at time zero. */
  begin(loaded: Loaded, fresh = false) {
    clearErrors();
    this.loaded = loaded;
    this.chosen.map = loaded.options.now.map ?? undefined;
    this.frame = null;
    this.view.begin(loaded, !fresh);
    this.#tell("loaded", loaded, fresh);
    if (!loaded.options.can.paint && this.tool === "brush") this.choose("grab");
    if (this.#stopped) this.run(true);
    // Starting again forgets the wind that was set on the page, unless the engine kept it; say it again.
    if (!fresh && this.wind) void this.client.ask("wind", { velocity: this.wind }).catch(() => {});
  }

  /** Asks the engine for something that may be refused; tells if it was, in passing if that is `usual`. */
  async attempt<T>(what: string, doing: () => Promise<T>, usual = false): Promise<T | null> {
    try {
      return await doing();
    } catch (error) {
      if (error instanceof Gone) return null;
      if (error instanceof EngineError && error.fatal) this.#failed(error.trouble, true);
      else if (usual) tell(`${what}: ${trouble(error).cause}. Try to ${trouble(error).advice}.`);
      else complain(what, trouble(error));
      return null;
    }
  }

  async set(values: SetValues): Promise<boolean> {
    const loaded = await this.attempt("That can't be set", () => this.client.ask("set", values));
    if (!loaded) return false;
    Object.assign(this.chosen, values);
    this.begin(loaded);
    return true;
  }

  blow(velocity: Vec3) {
    this.wind = velocity;
    return this.client.ask("wind", { velocity }).catch(() => {});
  }

  async restart() {
    const stuck = setTimeout(() => void this.#reload(), STUCK);
    const loaded = await this.attempt("The scene can't start again", () => this.client.ask("restart", {}));
    clearTimeout(stuck);
    if (!loaded) return;
    this.client.stay();
    this.begin(loaded);
  }

  async rewind(seconds: number) {
    const back = await this.attempt("Going back failed", () => this.client.ask("rewind", { seconds }));
    if (!back) return;
    clearErrors();
    if (this.#stopped) this.run(true);
  }

  async step() {
    this.run(false);
    await this.attempt("The step failed", () => this.client.ask("step", { count: this.loaded?.steps_per_frame ?? 1 }));
  }

  run(running: boolean, speed = this.client.speed) {
    this.#stopped = false;
    this.client.clock(running, speed);
    this.#tell("clock", running, speed);
  }

  choose(tool: ToolName) {
    if (tool === this.tool) return;
    if (this.tool === "brush" && this.goOnAfterBrush) this.run(true);
    this.goOnAfterBrush = false;
    this.tool = tool;
    this.#recolour();
    this.#tell("tool", tool);
  }

  colour(colouring: Colouring) {
    this.colouring = colouring;
    this.#recolour();
    this.#tell("colouring", colouring);
  }

  /** What colours show now: who paints strength sees strength. */
  get shown(): Colouring {
    return this.tool === "brush" ? "map" : this.colouring;
  }

  #recolour() {
    this.view.colouring = this.shown;
    this.client.want(this.#measured(), true);
  }

  #measured(): EngineColouring {
    const { shown } = this;
    return shown === "checker" || shown === "wire" ? "fabric" : shown;
  }

  // At once, not with the next drawing: a frame may carry a changed mesh that those after it count on.
  #receive(frame: Frame, times: WorkerTimes) {
    if (!this.loaded) return;
    const begin = performance.now();
    this.frame = frame;
    this.times = times;
    this.view.update(frame);
    this.overlay.grips = frame.grips;
    this.#tell("frame", frame, times);
    if (frame.body_count !== this.view.bodies.count) void this.#fetchBodies();
    this.#undrawn = true;
    const { longest } = this;
    longest.update = Math.max(longest.update, performance.now() - begin);
    longest.step = Math.max(longest.step, times.longestStep);
    longest.wait = Math.max(longest.wait, times.longestWait);
  }

  async #fetchBodies() {
    if (this.#bodiesAsked) return;
    this.#bodiesAsked = true;
    const answer = await this.attempt("Bodies are missing", () => this.client.ask("bodies", {}));
    this.#bodiesAsked = false;
    if (!answer) return;
    this.view.setBodies(answer.bodies);
    if (this.frame) this.view.bodies.update(this.frame);
  }

  #tick() {
    this.#busy.hidden = this.client.waiting < LATE;
    if (this.drawing) this.view.draw();
    if (!this.#undrawn) return;
    this.#undrawn = false;
    this.client.want(this.#measured(), false);
  }

  #failed(trouble: Trouble, fatal: boolean) {
    this.#tell("clock", false, this.client.speed);
    this.#stopped = true;
    const back = { label: "Back 2 s", go: () => void this.rewind(2) };
    const again = { label: "Start again", go: () => void (fatal ? this.#reload() : this.restart()) };
    complain(fatal ? "The engine stopped" : "The simulation stopped", trouble, fatal ? [again] : [back, again]);
  }

  /** After the engine broke, or while it is busy: the scene is loaded into a new one. */
  async #reload() {
    const { scene, path, chosen, loaded, wind } = this;
    if (!scene) return;
    const link = { variant: loaded?.variant ?? null, set: chosen, wind, view: this.view.viewpoint };
    if (await this.load(scene, path, link)) tell("Started again");
  }
}
