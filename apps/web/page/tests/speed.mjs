// How long steps take as WebAssembly, against the native program: node tests/speed.mjs NATIVE.json, where NATIVE.json is what
// `cargo run --release --package ripstop-web --example hash -- STEPS SCENE…` printed. The same engine that browsers of this family have (V8) runs it, without
// a picture beside it. Times are those of the processor, so that what else the machine does counts little, and the best of three runs: the first has code that is not
// optimised yet. WASM names another module.

import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const module = await WebAssembly.compile(readFileSync(process.env.WASM ?? fileURLToPath(new URL("../public/ripstop.wasm", import.meta.url))));
const root = fileURLToPath(new URL("../../../../", import.meta.url));

/** A fresh engine. */
async function engine() {
  let memory;
  const report = (at, length) => console.error(new TextDecoder().decode(new Uint8Array(memory.buffer, at, length)));
  const instance = await WebAssembly.instantiate(module, { env: { now: () => performance.now(), report } });
  const { reserve, ask, reply } = instance.exports;
  memory = instance.exports.memory;
  return (request) => {
    const text = new TextEncoder().encode(JSON.stringify(request));
    // First the place: memory may grow, and then a view of it is of no use.
    const at = reserve(text.length);
    new Uint8Array(memory.buffer).set(text, at);
    const length = ask(text.length);
    const answer = JSON.parse(new TextDecoder().decode(new Uint8Array(memory.buffer, reply(), length)));
    if (answer.error) throw new Error(answer.error.text);
    return answer;
  };
}

for (const { scene, steps, hash, step_ms: native } of JSON.parse(readFileSync(process.argv[2], "utf8"))) {
  const runs = [];
  let nodes, same;
  for (let run = 0; run < 3; run++) {
    const ask = await engine();
    ask({ do: "load", name: scene, text: readFileSync(root + scene, "utf8"), files: [], variant: null });
    const start = process.cpuUsage();
    for (let done = 0; done < steps; done += 10) ask({ do: "step", count: Math.min(10, steps - done) });
    const { user, system } = process.cpuUsage(start);
    runs.push((user + system) / 1000 / steps);
    nodes = ask({ do: "frame", known: -1 }).nodes;
    same = ask({ do: "hash" }).hash === hash ? "same bits" : "OTHER BITS";
  }
  const best = Math.min(...runs);
  const all = runs.map((ms) => ms.toFixed(2)).join(", ");
  console.log(`${scene}: ${nodes} nodes, ${best.toFixed(2)} ms per step (${all}), native ${native.toFixed(2)} ms, ${(best / native).toFixed(2)} x, ${same}`);
}
