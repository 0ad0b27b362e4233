// Makes the parts of the page and connects them.

import { App } from "./app";
import type { Colouring } from "./cloth";
import { get } from "./dom";
import type { Client } from "./engine/client";
import type { Vec3 } from "./engine/protocol";
import { dialogs, firstScene, gallery, openFirst } from "./gallery";
import { keys } from "./keys";
import { read } from "./link";
import { complain, trouble } from "./notice";
import { panel } from "./panel";
import { address, files, save } from "./save";
import { client } from "./start";
import { toolOptions } from "./tool-options";
import { Tools } from "./tools";
import { transport } from "./transport";
import { View } from "./view";

/** What tests and curious people find in the console. */
export interface Inside {
  client: Client;
  /** When the first scene is there and drawn. */
  ready: Promise<void>;
  state(): object;
  /** Whether frames are drawn; tests that measure all else do without. */
  draw(on: boolean): void;
  /** Where a point in space is in the window [CSS pixels]. */
  place(at: Vec3): { x: number; y: number } | null;
}

declare global {
  interface Window {
    ripstop: Inside;
  }
}

function begin(view: View) {
  const app = new App(client, view);
  const tools = new Tools(app, toolOptions(app));
  panel(app);
  transport(app);
  gallery(app);
  dialogs();
  save(app);
  files(app);
  keys(app, tools);

  const link = read(location.hash);
  const start = async () => {
    if (link.colouring) app.colour(link.colouring as Colouring);
    const drawn = new Promise<void>((resolve) => app.on("frame", () => resolve()));
    // Fetched while the engine is being compiled.
    const first = firstScene(link);
    await client.opened;
    await openFirst(app, link, await first);
    // Who prefers less motion starts it themselves.
    app.run(!matchMedia("(prefers-reduced-motion: reduce)").matches);
    await drawn;
    await new Promise(requestAnimationFrame);
  };
  const ready = start();
  ready.catch((error) => complain("The engine could not be started", trouble(error))).finally(() => (get("waiting").hidden = true));

  // A link that is put into the address of the open page.
  window.addEventListener("hashchange", () => {
    const { scene, file } = read(location.hash);
    if ((scene || file) && location.href !== address(app)) location.reload();
  });

  window.ripstop = {
    client,
    ready,
    draw: (on) => {
      app.drawing = on;
    },
    place: (at) => view.project(at),
    state: () => ({
      scene: app.path,
      name: app.loaded?.name ?? null,
      kind: app.loaded?.kind ?? null,
      title: app.loaded?.title ?? null,
      options: app.loaded?.options ?? null,
      low: app.loaded?.low ?? null,
      high: app.loaded?.high ?? null,
      tool: app.tool,
      colouring: app.colouring,
      running: client.running,
      speed: client.speed,
      time: app.frame?.time ?? null,
      step: app.frame?.step ?? null,
      nodes: app.frame?.nodes ?? 0,
      faces: app.frame?.faces ?? 0,
      tears: app.frame?.tears ?? 0,
      pieces: app.frame?.pieces ?? 0,
      bodies: app.frame?.body_count ?? 0,
      held: view.cloth.heldCount,
      grips: app.frame?.grips ?? [],
      drawn: view.drawn,
      finite: view.cloth.points.every(Number.isFinite) && Number.isFinite(app.frame?.largest_strain ?? 0),
      /** Milliseconds at most: for taking over a frame and drawing it on this thread, for a step and until a request is taken up in the worker. */
      longest: { ...app.longest, draw: view.longestDraw },
      worker: app.times,
      link: address(app),
    }),
  };
}

try {
  begin(new View(get<HTMLCanvasElement>("canvas")));
} catch (error) {
  get("waiting").hidden = true;
  complain("This browser can't draw the page", trouble(error));
}
