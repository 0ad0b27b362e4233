// What the tests in a browser share: a server of the built page, a browser, and ways to act on the page.

import { createServer } from "node:http";
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, extname, join, normalize, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { chromium } from "playwright-core";

const here = dirname(fileURLToPath(import.meta.url));
/** The page as it was built; another folder by DIST. */
export const DIST = process.env.DIST ?? join(here, "../../dist");
export const ROOT = join(here, "../../../..");

/** The policy that `ripstop view` sends. */
const POLICY =
  "default-src 'self'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; img-src 'self' data: blob:; style-src 'self' 'unsafe-inline'; connect-src 'self' data: blob:";

const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript",
  ".css": "text/css",
  ".json": "application/json",
  ".wasm": "application/wasm",
  ".svg": "image/svg+xml",
  ".jpg": "image/jpeg",
};

/** Serves the built page on a free port of this machine. `extra` answers some paths itself. */
export async function serve(extra = {}) {
  const server = createServer((request, response) => {
    const path = decodeURIComponent(new URL(request.url ?? "/", "http://x").pathname);
    const headers = { "content-security-policy": POLICY, "cache-control": "no-store" };
    if (path in extra) {
      response.writeHead(200, { ...headers, "content-type": "application/json" }).end(extra[path]);
      return;
    }
    const file = normalize(join(DIST, path === "/" ? "index.html" : path));
    if (!file.startsWith(normalize(DIST) + sep) || !existsSync(file) || !statSync(file).isFile()) {
      response.writeHead(404, headers).end("not here");
      return;
    }
    response.writeHead(200, { ...headers, "content-type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  return { address: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}

export async function openBrowser() {
  const folder = mkdtempSync(join(tmpdir(), "ripstop-page-"));
  const browser = await chromium.launchPersistentContext(folder, {
    executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
    headless: true,
    args: [
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
      "--enable-unsafe-swiftshader",
    ],
    viewport: { width: 640, height: 480 },
  });
  const close = async () => {
    await browser.close();
    rmSync(folder, { recursive: true, force: true });
  };
  return { browser, close };
}

/** Opens the page and waits until the first scene is drawn. `complaints` collects what the browser had to say against it. */
export async function openPage(browser, address, { size = { width: 640, height: 480 }, ready = true } = {}) {
  const page = await browser.newPage();
  // Drawing is software here: a click may wait for many slow frames.
  page.setDefaultTimeout(180_000);
  await page.setViewportSize(size);
  const complaints = [];
  page.on("console", (message) => {
    // The page asks for scene.json, which only `ripstop view SCENE` has.
    const asked = message.location().url.endsWith("/scene.json");
    // A remark of the software renderer about its own speed.
    const remark = /GPU stall|GL Driver Message/.test(message.text());
    if (["error", "warning"].includes(message.type()) && !asked && !remark) complaints.push(`${message.type()}: ${message.text()}`);
  });
  page.on("pageerror", (error) => complaints.push(`exception: ${error.message}`));
  await page.goto(address);
  await page.waitForFunction(() => window.ripstop !== undefined);
  if (ready) await page.evaluate(() => window.ripstop.ready);
  return { page, complaints };
}

export const state = (page) => page.evaluate(() => window.ripstop.state());

/** Asks the engine directly. */
export const ask = (page, name, request = {}) => page.evaluate(([name, request]) => window.ripstop.client.ask(name, request), [name, request]);

/** Waits until the page's state passes a test, or says what it was last. */
export async function until(page, what, passes, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  let last;
  while (Date.now() < end) {
    last = await state(page);
    if (passes(last)) return last;
    await page.waitForTimeout(100);
  }
  throw new Error(`${what}: not within ${seconds} s; last ${JSON.stringify({ ...last, options: undefined })}`);
}

/** Drops files on the page; each has a name and a text. */
export async function drop(page, files) {
  const carried = await page.evaluateHandle((files) => {
    const transfer = new DataTransfer();
    for (const { name, text } of files) transfer.items.add(new File([text], name));
    return transfer;
  }, files);
  for (const event of ["dragover", "drop"]) await page.dispatchEvent("#canvas", event, { dataTransfer: carried });
}

/** A path through places of the window with the mouse pressed. */
export async function drag(page, places, { hold = 0, steps = 8 } = {}) {
  const [first, ...rest] = places;
  await page.mouse.move(first[0], first[1]);
  await page.mouse.down();
  for (const [x, y] of rest) await page.mouse.move(x, y, { steps });
  if (hold > 0) await page.waitForTimeout(hold);
  await page.mouse.up();
}
