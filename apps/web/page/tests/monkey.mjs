// Random dragging, cutting, throwing: node tests/monkey.mjs [seconds] [seed] [scene]. Ends with an error if the page complains, a number is not one,
// or memory grows without bound.

import assert from "node:assert/strict";
import { openBrowser, openPage, serve, state } from "./browser.mjs";

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

/** A place in the window where the cloth is at the start, or near it. */
async function somewhere() {
  const { low, high } = await state(page);
  const at = low.map((x, k) => x + (high[k] - x) * between(-0.1, 1.1));
  const { x, y } = (await page.evaluate((at) => window.ripstop.place(at), at)) ?? { x: 320, y: 240 };
  return [Math.min(620, Math.max(20, x)), Math.min(340, Math.max(90, y))];
}

async function stroke(points) {
  const [x, y] = await somewhere();
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 0; i < points; i++) await page.mouse.move(...(await somewhere()), { steps: 4 });
  await page.mouse.up();
}

const tool = (name) => page.click(`[data-tool=${name}]`);

const ACTIONS = {
  drag: async () => {
    await tool("grab");
    await stroke(3);
  },
  cut: async () => {
    await tool("cut");
    await stroke(2);
  },
  ball: async () => {
    await tool("ball");
    await page.mouse.click(...(await somewhere()));
  },
  pin: async () => {
    await tool("pin");
    await page.mouse.click(...(await somewhere()));
  },
  wind: () =>
    page.$eval("#wind", (input, value) => {
      input.value = String(value);
      input.dispatchEvent(new Event("input", { bubbles: true }));
    }, between(0, 12)),
  turn: async () => {
    await page.focus("#canvas");
    for (let i = 0; i < 4; i++) await page.keyboard.press(random() < 0.5 ? "ArrowLeft" : "ArrowRight");
  },
  back: () => page.click("#rewind"),
};
const NAMES = ["drag", "drag", "drag", "drag", "cut", "cut", "ball", "pin", "wind", "turn", "back"];

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
    const now = await state(page);
    assert.ok(now.finite, `a number is not one after ${name} (seed ${seed}, action ${i} of round ${rounds})`);
    const errors = await page.locator(".notice.error").allInnerTexts();
    assert.deepEqual(errors, [], `the page complained after ${name} (seed ${seed}, action ${i} of round ${rounds})`);
    assert.deepEqual(complaints, []);
  }
  const now = await state(page);
  steps += now.step;
  await devtools.send("HeapProfiler.collectGarbage");
  const heap = (await devtools.send("Runtime.getHeapUsage")).usedSize;
  memory.push({ engine: now.worker.memory, page: heap });
  rounds++;
  console.log(`round ${rounds}: t = ${now.time.toFixed(2)} s, ${now.tears} tears, ${now.pieces} pieces, ${now.bodies} bodies, engine ${(now.worker.memory / 1e6).toFixed(1)} MB, page ${(heap / 1e6).toFixed(1)} MB, longest ${JSON.stringify(now.longest)}`);
  await page.click("#restart");
}
console.log(`${seconds} s, seed ${seed}: ${JSON.stringify(done)}, ${steps} steps in ${rounds} rounds`);
for (const part of ["engine", "page"]) {
  const first = Math.max(...memory.slice(0, 2).map((now) => now[part]));
  const last = memory[memory.length - 1][part];
  assert.ok(last <= GROWTH * first + CHANCE, `memory of the ${part} grew from ${first} to ${last} bytes`);
}
await close();
server.close();
