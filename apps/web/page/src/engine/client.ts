// The engine as the page sees it: requests give promises, and frames come by themselves once the page has said that it wants the next.

import type { EngineColouring, Frame, FromWorker, RequestName, Requests, ToWorker, Trouble, WorkerTimes } from "./protocol";

/** A request that was refused, or an engine that broke. */
export class EngineError extends Error {
  constructor(
    readonly trouble: Trouble,
    readonly fatal: boolean,
  ) {
    super(trouble.text);
  }
}

interface Waiting {
  resolve(reply: object): void;
  reject(error: EngineError): void;
}

export class Client {
  onFrame: (frame: Frame, times: WorkerTimes) => void = () => {};
  onFailed: (trouble: Trouble, fatal: boolean) => void = () => {};

  #worker = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "engine" });
  #waiting = new Map<number, Waiting>();
  #next = 1;
  #running = false;
  #speed = 1;
  #opened: Promise<void>;

  constructor(wasm: string) {
    this.#opened = new Promise((resolve, reject) => {
      this.#worker.onmessage = (event: MessageEvent<FromWorker>) => {
        const message = event.data;
        if (message.kind !== "open") return this.#receive(message);
        if (message.trouble) reject(new EngineError(message.trouble, true));
        else resolve();
      };
      this.#worker.onerror = (event) => {
        const cause = event.message || "its script could not be loaded";
        reject(new EngineError({ text: `error: the worker stopped\n       ${cause}`, file: null, line: null, cause, advice: "" }, true));
      };
    });
    // Whoever asks is told; nobody has to listen before.
    this.#opened.catch(() => {});
    this.#post({ kind: "open", wasm });
  }

  /** Resolves when requests are answered. */
  get opened(): Promise<void> {
    return this.#opened;
  }

  ask<N extends RequestName>(name: N, request: Requests[N]["with"]): Promise<Requests[N]["gives"]> {
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#waiting.set(id, { resolve: resolve as (reply: object) => void, reject });
      this.#post({ kind: "ask", id, name, request, sent: performance.timeOrigin + performance.now() });
    });
  }

  get running(): boolean {
    return this.#running;
  }

  get speed(): number {
    return this.#speed;
  }

  /** Lets time pass or stop, at a speed (1: as on the clock). */
  clock(running: boolean, speed = this.#speed) {
    this.#running = running;
    this.#speed = speed;
    this.#post({ kind: "clock", running, speed });
  }

  /** Asks for the next frame; `again` also if nothing has moved. */
  want(colouring: EngineColouring, again: boolean) {
    this.#post({ kind: "want", colouring, again });
  }

  #post(message: ToWorker) {
    this.#worker.postMessage(message);
  }

  #receive(message: Exclude<FromWorker, { kind: "open" }>) {
    switch (message.kind) {
      case "frame":
        return this.onFrame(message.frame, message.times);
      case "failed":
        this.#running = false;
        return this.onFailed(message.trouble, message.fatal);
      case "answer":
        this.#take(message.id)?.resolve(message.reply);
        return;
      case "refusal":
        this.#take(message.id)?.reject(new EngineError(message.trouble, message.fatal));
        return;
    }
  }

  #take(id: number): Waiting | undefined {
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    return waiting;
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
