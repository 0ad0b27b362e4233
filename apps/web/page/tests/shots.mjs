// Screenshots to look at: node tests/shots.mjs FOLDER [name …]. A name picks those that contain it.

import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { ask, openBrowser, openPage, serve, state } from "./browser.mjs";

const [folder = "shots", ...names] = process.argv.slice(2);
mkdirSync(folder, { recursive: true });

const DESKTOP = { width: 1280, height: 800 };
const PHONE = { width: 360, height: 740 };

/** Steps to a time of the scene, and lets the page draw it. */
async function to(page, seconds) {
  await page.evaluate(() => window.ripstop.client.clock(false));
  const loaded = await ask(page, "restart");
  const steps = Math.round(seconds / loaded.step);
  // In parts, so that the worker can say how far it is.
  for (let done = 0; done < steps; done += 50) await ask(page, "step", { count: Math.min(50, steps - done) });
  await page.waitForFunction((least) => window.ripstop.state().time >= least, seconds - loaded.step, { timeout: 120_000 });
  await page.waitForTimeout(1500);
}

const click = (selector) => (page) => page.click(selector);
const colours = (name) => (page) => page.selectOption("#colouring", name);

/** Takes the cloth in the middle and draws it down and aside, in the scene's own time. */
async function pull(page) {
  const { low, high } = await state(page);
  const at = low.map((x, k) => x + (high[k] - x) * [0.55, 0.45, 0.5][k]);
  const { x, y } = await page.evaluate((at) => window.ripstop.place(at), at);
  await page.mouse.move(x, y);
  await page.mouse.down();
  for (let i = 1; i <= 45; i++) {
    await page.mouse.move(x + 4 * i, y + 4 * i);
    await ask(page, "step", { count: 1 });
  }
}

/** Name, size, scene, time [s], then what to do. */
const SHOTS = [
  ["first", DESKTOP, "play/curtain", 0.6],
  ["torn", DESKTOP, "phillips/two-hands", 1.9],
  ["hand", DESKTOP, "play/curtain", 0.3, pull],
  ["strain", DESKTOP, "phillips/two-hands", 1.2, colours("strain")],
  ["pieces", DESKTOP, "phillips/two-hands", 3.2, colours("pieces")],
  ["wire", DESKTOP, "phillips/corner-pull", 1.5, colours("wire")],
  ["checker", DESKTOP, "onal/texture", 1.5, colours("checker")],
  ["balls", DESKTOP, "onal/balls", 1.2],
  ["drape", DESKTOP, "contact/drape", 1.2],
  ["yarns", DESKTOP, "quickstart", 1.8],
  ["muslin", DESKTOP, "play/muslin", 0.3, pull],
  ["gallery", DESKTOP, "phillips/two-hands", 0.5, click("#open-gallery")],
  ["help", DESKTOP, "phillips/two-hands", 0.5, click("#open-help")],
  ["ball-tool", DESKTOP, "phillips/wind", 0.5, click("[data-tool=ball]")],
  ["phone", PHONE, "play/curtain", 0.6],
  ["phone-panel", PHONE, "phillips/two-hands", 1.0, click("#toggle-panel")],
  ["phone-ball", PHONE, "phillips/two-hands", 1.0, click("[data-tool=ball]")],
  ["phone-gallery", PHONE, "phillips/two-hands", 0.5, click("#open-gallery")],
  ["4k", { width: 3840, height: 2160 }, "play/curtain", 0.6],
];

const server = await serve();
const { browser, close } = await openBrowser();
for (const [name, size, scene, seconds, act] of SHOTS) {
  if (names.length > 0 && !names.some((part) => name.includes(part))) continue;
  const { page, complaints } = await openPage(browser, `${server.address}#scene=${scene}`, { size });
  await to(page, seconds);
  if (act) {
    await act(page);
    await page.waitForTimeout(1500);
  }
  await page.screenshot({ path: join(folder, `${name}.png`), timeout: 120_000 });
  console.log(name, complaints.join("; "));
  await page.close();
}
await close();
server.close();
