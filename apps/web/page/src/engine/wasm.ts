// The engine's WASM module behind its few C-style exports: a request goes in as JSON, a reply comes out as JSON, and large parts are read
// straight out of its memory.

import type { RequestName, Requests, Trouble } from "./protocol";

interface Exports {
  memory: WebAssembly.Memory;
  reserve(length: number): number;
  ask(length: number): number;
  reply(): number;
  part(which: number): number;
  part_len(which: number): number;
}

/** A request that the engine refused; the state is as before. */
export class Refusal extends Error {
  constructor(
    readonly trouble: Trouble,
    /** The engine itself broke: it has to be made anew. */
    readonly fatal: boolean,
  ) {
    super(trouble.text);
  }
}

export interface Engine {
  ask<N extends RequestName>(name: N, request: Requests[N]["with"]): Requests[N]["gives"];
  /** A copy of a part's bytes, fit to be handed to another thread. */
  part(which: number): ArrayBuffer;
  memory(): number;
}

export async function compile(url: string): Promise<WebAssembly.Module> {
  const answer = await fetch(url);
  if (!answer.ok) throw new Error(`${url}: ${answer.status} ${answer.statusText}`);
  // Some hosts send WASM with another type, which the streaming way refuses.
  return answer.headers.get("content-type") === "application/wasm"
    ? WebAssembly.compileStreaming(answer)
    : WebAssembly.compile(await answer.arrayBuffer());
}

export async function start(module: WebAssembly.Module): Promise<Engine> {
  const encoder = new TextEncoder();
  const decoder = new TextDecoder();
  let panic: string | null = null;
  const text = (at: number, length: number) => decoder.decode(new Uint8Array(exports.memory.buffer, at >>> 0, length >>> 0));
  const env = {
    now: () => performance.now(),
    report: (at: number, length: number) => {
      panic = text(at, length);
    },
  };
  const instance = await WebAssembly.instantiate(module, { env });
  const exports = instance.exports as unknown as Exports;

  const broken = (cause: string) =>
    new Refusal({ text: `error: the engine stopped\n       ${cause}`, file: null, line: null, cause, advice: "start the scene again" }, true);

  return {
    ask(name, request) {
      if (panic !== null) throw broken(panic);
      const bytes = encoder.encode(JSON.stringify({ do: name, ...request }));
      let reply: unknown;
      try {
        const at = exports.reserve(bytes.length) >>> 0;
        // Memory may have grown and moved: never keep a view over a call.
        new Uint8Array(exports.memory.buffer, at, bytes.length).set(bytes);
        const length = exports.ask(bytes.length);
        reply = JSON.parse(text(exports.reply(), length));
      } catch (error) {
        panic ??= String(error);
        throw broken(panic);
      }
      const trouble = (reply as { error?: Trouble }).error;
      if (trouble) throw new Refusal(trouble, false);
      return reply as Requests[typeof name]["gives"];
    },
    part(which) {
      const length = exports.part_len(which) >>> 0;
      const at = exports.part(which) >>> 0;
      return exports.memory.buffer.slice(at, at + length) as ArrayBuffer;
    },
    memory: () => exports.memory.buffer.byteLength,
  };
}
