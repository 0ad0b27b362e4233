// The engine as the page sees it: requests give promises, and frames come by themselves once the page has said that it wants the next.
//
// A worker can't be interrupted in a step. So every scene gets a worker of its own: another scene doesn't wait for what the last one is at, and what a
// large one took is given back. The compiled engine is handed from worker to worker.

import type { EngineColouring, Frame, FromWorker, Loaded, RequestName, Requests, ToWorker, Trouble, WorkerTimes } from "./protocol";

/** A request that was refused, or an engine that broke. */
export class EngineError extends Error {
  constructor(
    readonly trouble: Trouble,
    readonly fatal: boolean,
  ) {
    super(trouble.text);
  }
}

/** The scene that was asked has made room for another: there is nobody left to answer, and nothing to tell. */
export class Gone extends Error {}

interface Waiting {
  since: number;
  resolve(reply: object): void;
  reject(error: Error): void;
}

type News = Extract<FromWorker, { kind: "frame" | "failed" }>;

/** A worker, and what it was asked and has not answered. */
class Line {
  /** The compiled engine, once requests are answered. */
  readonly opened: Promise<WebAssembly.Module>;
  /** What was asked for and has not come: a frame. */
  wanted: Extract<ToWorker, { kind: "want" }> | null = null;

  #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "engine" });
  #waiting = new Map<number, Waiting>();
  #next = 1;

  constructor(
    engine: string | WebAssembly.Module,
    readonly hear: (news: News) => void,
  ) {
    this.opened = new Promise((resolve, reject) => {
      this.#worker.onmessage = (event: MessageEvent<FromWorker>) => {
        const message = event.data;
        if (message.kind !== "open") return this.#receive(message);
        if (message.trouble) reject(new EngineError(message.trouble, true));
        else resolve(message.engine);
      };
      this.#worker.onerror = (event) => {
        const cause = event.message || "its script could not be loaded";
        reject(new EngineError({ text: `error: the worker stopped\n       ${cause}`, file: null, line: null, cause, advice: "" }, true));
      };
    });
    // Whoever asks is told; nobody has to listen before.
    this.opened.catch(() => {});
    this.post({ kind: "open", engine });
  }

  ask<N extends RequestName>(name: N, request: Requests[N]["with"]): Promise<Requests[N]["gives"]> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { since: performance.now(), resolve: resolve as (reply: object) => void, reject });
      this.post({ kind: "ask", id, name, request, sent: performance.timeOrigin + performance.now() });
    });
  }

  post(message: ToWorker) {
    this.#worker.postMessage(message);
  }

  /** When the oldest request was made that is not answered [ms], or null. */
  get waitingSince(): number | null {
    // In the order in which they were asked.
    for (const { since } of this.#waiting.values()) return since;
    return null;
  }

  /** Ends the worker, in the middle of whatever it does. */
  close() {
    this.#worker.terminate();
    for (const { reject } of this.#waiting.values()) reject(new Gone("the scene was left"));
    this.#waiting.clear();
  }

  #receive(message: Exclude<FromWorker, { kind: "open" }>) {
    switch (message.kind) {
      case "answer":
        this.#take(message.id)?.resolve(message.reply);
        return;
      case "refusal":
        this.#take(message.id)?.reject(new EngineError(message.trouble, message.fatal));
        return;
      default:
        this.hear(message);
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
  }
}

export class Client {
  onFrame: (frame: Frame, times: WorkerTimes) => void = () => {};
  onFailed: (trouble: Trouble, fatal: boolean) => void = () => {};

  /** The worker with the scene that is shown. */
  #line: Line;
  /** One that loads the scene to come. */
  #coming: Line | null = null;
  #loaded = false;
  #running = false;
  #speed = 1;

  constructor(wasm: string) {
    this.#line = this.#open(wasm);
  }

  #open(engine: string | WebAssembly.Module): Line {
    const line: Line = new Line(engine, (news) => {
      if (line === this.#line) this.#hear(line, news);
    });
    return line;
  }

  /** Resolves when requests are answered. */
  get opened(): Promise<unknown> {
    return this.#line.opened;
  }

  /** Loads a scene in place of the present one, whatever that is busy with. One that can't be loaded leaves the present one as it was; one that another is
   * asked for meanwhile is `Gone`. */
  async load(scene: Requests["load"]["with"]): Promise<Loaded> {
    const engine = await this.#line.opened;
    this.#coming?.close();
    const line = this.#loaded ? this.#open(engine) : this.#line;
    this.#coming = line === this.#line ? null : line;
    // The core is for the scene to come.
    if (this.#coming) this.#line.post({ kind: "clock", running: false, speed: this.#speed });
    try {
      const loaded = await line.ask("load", scene);
      this.#loaded = true;
      if (line === this.#line) return loaded;
      const { wanted } = this.#line;
      this.#line.close();
      this.#line = line;
      if (wanted) this.want(wanted.colouring, true);
      return loaded;
    } catch (error) {
      if (line === this.#coming) line.close();
      throw error;
    } finally {
      if (line === this.#coming) this.#coming = null;
      if (!this.#coming) this.clock(this.#running);
    }
  }

  /** Leaves a scene that is being loaded, and stays with the present one. */
  stay() {
    if (!this.#coming) return;
    this.#coming.close();
    this.#coming = null;
    this.clock(this.#running);
  }

  ask<N extends Exclude<RequestName, "load">>(name: N, request: Requests[N]["with"]): Promise<Requests[N]["gives"]> {
    return this.#line.ask(name, request);
  }

  get running(): boolean {
    return this.#running;
  }

  get speed(): number {
    return this.#speed;
  }

  /** For how long a request has waited for its answer [ms]; 0 if none does. */
  get waiting(): number {
    const since = this.#line.waitingSince;
    return since === null ? 0 : performance.now() - since;
  }

  /** Lets time pass or stop, at a speed (1: as on the clock). */
  clock(running: boolean, speed = this.#speed) {
    this.#running = running;
    this.#speed = speed;
    this.#line.post({ kind: "clock", running, speed });
  }

  /** Asks for the next frame; `again` also if nothing has moved. */
  want(colouring: EngineColouring, again: boolean) {
    this.#line.wanted = { kind: "want", colouring, again };
    this.#line.post(this.#line.wanted);
  }

  #hear(line: Line, news: News) {
    if (news.kind === "frame") {
      line.wanted = null;
      this.onFrame(news.frame, news.times);
    } else {
      this.#running = false;
      this.onFailed(news.trouble, news.fatal);
    }
  }
}

/** Sends only the latest of what comes faster than it is answered: drags and sliders. */
export class Latest<T> {
  #next: T | null = null;
  #busy = false;

  constructor(readonly send: (value: T) => Promise<unknown>) {}

  put(value: T) {
    this.#next = value;
    void this.#go();
  }

  /** Forgets what has not been sent. */
  drop() {
    this.#next = null;
  }

  async #go() {
    if (this.#busy) return;
    this.#busy = true;
    try {
      while (this.#next !== null) {
        const value = this.#next;
        this.#next = null;
        // Whatever went wrong is told by the next step; a drag that came too late is nothing to tell.
        await this.send(value).catch(() => {});
      }
    } finally {
      this.#busy = false;
    }
  }
}
