// What one takes away: the set-up as a scene file, the shape, a picture, a link. And what one brings: files.

import type { App } from "./app";
import { get } from "./dom";
import { sceneOf } from "./dropped";
import type { ExportKind } from "./engine/protocol";
import { fits, write } from "./link";
import { complain, tell, trouble } from "./notice";

function download(name: string, content: Blob) {
  const address = URL.createObjectURL(content);
  const link = document.createElement("a");
  link.href = address;
  link.download = name;
  link.click();
  // The browser has taken it over by then.
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

const TYPES: Record<ExportKind, string> = { toml: "application/toml", obj: "model/obj", usda: "text/plain" };

export function save(app: App) {
  for (const what of Object.keys(TYPES) as ExportKind[]) {
    get(`save-${what}`).onclick = async () => {
      const file = await app.attempt("Nothing was saved", () => app.client.ask("export", { what }));
      if (file) download(file.name, new Blob([file.text], { type: TYPES[what] }));
    };
  }
  get("save-png").onclick = async () => {
    const name = app.loaded?.name.split("/").pop()?.replace(/\.toml$/, "") || "ripstop";
    const picture = await app.attempt("There is no picture", () => app.view.picture());
    if (picture) download(`${name}.png`, picture);
  };
  get("save-link").onclick = () => void share(app);
}

/** The address of the page with these settings in it. */
export function address(app: App): string {
  const { path, packed, loaded, chosen, wind, view, colouring } = app;
  const hash = write({ scene: path, file: packed, variant: loaded?.variant ?? null, set: chosen, wind, view: view.viewpoint, colouring });
  return location.href.replace(/#.*$/, "") + hash;
}

async function share(app: App) {
  if (!app.path && !app.packed) {
    tell("This scene is too large for a link: save it with “Scene” instead");
    return;
  }
  const without = fits(app.chosen.map) ? "" : ", without the painted map, which is too large for it: “Scene” has it";
  const link = address(app);
  history.replaceState(null, "", link);
  try {
    await navigator.clipboard.writeText(link);
    tell(`Link copied${without}`);
  } catch {
    tell(`The link is in the address bar${without}`);
  }
}

export function files(app: App) {
  const open = async (files: File[]) => {
    try {
      await app.load(await sceneOf(files), null);
    } catch (error) {
      complain("That file can't be opened", trouble(error));
    }
  };

  const input = get<HTMLInputElement>("file");
  get("open-file").onclick = () => input.click();
  input.onchange = () => {
    if (input.files && input.files.length > 0) void open([...input.files]);
    // The same file again is a change too.
    input.value = "";
  };

  const sign = get("drop");
  const carries = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;
  window.addEventListener("dragover", (event) => {
    if (!carries(event)) return;
    event.preventDefault();
    sign.hidden = false;
  });
  window.addEventListener("dragleave", (event) => {
    if (event.relatedTarget === null) sign.hidden = true;
  });
  window.addEventListener("drop", (event) => {
    sign.hidden = true;
    if (!carries(event)) return;
    event.preventDefault();
    const dropped = [...(event.dataTransfer?.files ?? [])];
    if (dropped.length > 0) void open(dropped);
  });
}
