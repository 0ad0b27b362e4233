// Random dragging, cutting, throwing: node tests/monkey.mjs [seconds] [seed] [scene]. Ends with an error if the page complains, a number is not one,
// time stands still, or memory grows without bound. What was played until an error is saved as a scene, which `ripstop run` plays again.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ask, openBrowser, openPage, serve, state } from "./browser.mjs";

const [seconds = "60", seed = "1", scene = "play/curtain"] = process.argv.slice(2);
/** The scene starts again after so many actions: what is torn to shreds can't be torn. */
const ROUND = 40;
/** Memory at the end of a round over what it was after the first two, at most; and what is added for chance [bytes]. */
const GROWTH = 1.5;
const CHANCE = 40 << 20;

// Mulberry32: the same actions for the same seed, though when they come is up to the machine.
let s = Number(seed) >>> 0;
function random() {
  s = (s + 0x6d2b79f5) >>> 0;
  let t = Math.imul(s ^ (s >>> 15), s | 1);
  t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const between = (low, high) => low + (high - low) * random();

const server = await serve();
const { browser, close } = await openBrowser();
const { page, complaints } = await openPage(browser, `${server.address}#scene=${scene}`);
const devtools = await browser.newCDPSession(page);

// Pointers are made by the page itself, and it draws only at the end of a round: drawing is software here, and would take all the time.
await page.evaluate(() => {
  window.ripstop.draw(false);
  const canvas = document.getElementById("canvas");
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  /** Of every pointer: how long this thread was busy with it, and how long until the browser could show the answer [ms]. */
  const input = { busy: [], shown: [] };
  const send = (type, { x, y }, buttons) => {
    const event = new PointerEvent(type, { pointerId: 1, pointerType: "mouse", clientX: x, clientY: y, button: type === "pointermove" ? -1 : 0, buttons, bubbles: true, cancelable: true });
    const begin = performance.now();
    canvas.dispatchEvent(event);
    input.busy.push(performance.now() - begin);
    requestAnimationFrame(() => input.shown.push(performance.now() - begin));
  };
  /** A place in the window from shares of the scene's box. */
  const place = (share) => {
    const { low, high } = window.ripstop.state();
    const at = low.map((x, k) => x + (high[k] - x) * share[k]);
    return window.ripstop.place(at) ?? { x: innerWidth / 2, y: innerHeight / 2 };
  };
  window.monkey = {
    input,
    tool: (name) => document.querySelector(`[data-tool=${name}]`).click(),
    async stroke(shares) {
      const places = shares.map(place);
      send("pointerdown", places[0], 1);
      for (let i = 1; i < places.length; i++) {
        for (let k = 1; k <= 12; k++) {
          const [a, b] = [places[i - 1], places[i]];
          send("pointermove", { x: a.x + ((b.x - a.x) * k) / 12, y: a.y + ((b.y - a.y) * k) / 12 }, 1);
          await pause(15);
        }
      }
      send("pointerup", places[places.length - 1], 0);
    },
    press: (key) => canvas.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true })),
    slide(id, value) {
      const input = document.getElementById(id);
      input.value = String(value);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    },
    click: (id) => document.getElementById(id).click(),
  };
});

const share = () => [between(-0.1, 1.1), between(-0.1, 1.1), between(-0.1, 1.1)];
const call = (name, ...what) => page.evaluate(([name, what]) => window.monkey[name](...what), [name, what]);

async function use(tool, places) {
  await call("tool", tool);
  await call("stroke", Array.from({ length: places }, share));
}

const ACTIONS = {
  drag: () => use("grab", 4),
  cut: () => use("cut", 3),
  ball: () => use("ball", 1),
  pin: () => use("pin", 1),
  wind: () => call("slide", "wind", between(0, 12)),
  turn: () => call("press", random() < 0.5 ? "ArrowLeft" : "ArrowRight"),
  back: () => call("click", "rewind"),
};
const NAMES = ["drag", "drag", "drag", "drag", "cut", "cut", "ball", "pin", "wind", "turn", "back"];

async function check(when) {
  const now = await state(page);
  const errors = await page.locator(".notice.error").allInnerTexts();
  try {
    assert.ok(now.finite, `a number is not one ${when}`);
    assert.deepEqual(errors, [], `the page complained ${when}`);
    assert.deepEqual(complaints, []);
    assert.ok(now.running, `time stands still ${when}`);
  } catch (error) {
    const file = join(tmpdir(), `monkey-${seed}.toml`);
    writeFileSync(file, (await ask(page, "export", { what: "toml" })).text);
    console.error(`what was played until then: ${file}`);
    throw error;
  }
}

const done = {};
const memory = [];
const end = Date.now() + Number(seconds) * 1000;
let rounds = 0;
let steps = 0;
while (Date.now() < end) {
  for (let i = 0; i < ROUND && Date.now() < end; i++) {
    const name = NAMES[Math.floor(random() * NAMES.length)];
    await ACTIONS[name]();
    done[name] = (done[name] ?? 0) + 1;
    await page.waitForTimeout(between(0, 400));
    await check(`after ${name} (seed ${seed}, action ${i} of round ${rounds})`);
  }
  const { drawn } = await state(page);
  await page.evaluate(() => window.ripstop.draw(true));
  await page.waitForFunction((drawn) => window.ripstop.state().drawn > drawn, drawn);
  await page.evaluate(() => window.ripstop.draw(false));
  const now = await state(page);
  steps += now.step;
  await devtools.send("HeapProfiler.collectGarbage");
  const heap = (await devtools.send("Runtime.getHeapUsage")).usedSize;
  memory.push({ engine: now.worker.memory, page: heap });
  rounds++;
  console.log(`round ${rounds}: t = ${now.time.toFixed(2)} s, ${now.tears} tears, ${now.pieces} pieces, ${now.bodies} bodies, engine ${(now.worker.memory / 1e6).toFixed(1)} MB, page ${(heap / 1e6).toFixed(1)} MB, longest ${JSON.stringify(now.longest)}`);
  await call("click", "restart");
}
console.log(`${seconds} s, seed ${seed}: ${JSON.stringify(done)}, ${steps} steps in ${rounds} rounds`);
const input = await page.evaluate(() => window.monkey.input);
for (const [what, times] of Object.entries(input)) {
  times.sort((a, b) => a - b);
  const at = (share) => times[Math.min(times.length - 1, Math.floor(share * times.length))].toFixed(1);
  console.log(`${times.length} pointer events, ${what}: ${at(0.5)} ms in the middle, ${at(0.99)} for 99 of 100, ${at(1)} at most`);
}
for (const part of ["engine", "page"]) {
  const first = Math.max(...memory.slice(0, 2).map((now) => now[part]));
  const last = memory[memory.length - 1][part];
  assert.ok(last <= GROWTH * first + CHANCE, `memory of the ${part} grew from ${first} to ${last} bytes`);
}
await close();
server.close();
