// The scenes that come with the page, with pictures of them.

import type { App } from "./app";
import { get, make } from "./dom";
import type { SceneFile } from "./engine/protocol";
import type { Link } from "./link";
import { complain, trouble } from "./notice";
import { unpack } from "./packed";

interface Entry {
  path: string;
  title: string;
  source: string;
  thumb: string | null;
}

/** Headings of the folders, in the order in which they are shown. */
const GROUPS: [string, string][] = [
  ["play", "To play with"],
  ["phillips", "Sheets pulled apart · Phillips 2008"],
  ["metaaphanon", "Woven cloth that frays · Metaaphanon 2009"],
  ["onal", "Tears that go on where they began · Önal & İşler 2013"],
  ["karaoz", "Fabrics, balls and blades · Karaöz 2015"],
  ["direction", "Where and when, by the artist"],
  ["contact", "Cloth that touches"],
  ["bartels", "Every way to tear · Bartels 2014"],
  ["standards", "As laboratories tear it"],
];

/** What one sees first: quick to step, and it hangs there to be pulled at. */
const FIRST = "play/curtain";

export async function fetchScene(path: string): Promise<SceneFile> {
  const answer = await fetch(`scenes/${path}.json`);
  if (!answer.ok) throw new Error(`there is no scene “${path}” here`);
  return (await answer.json()) as SceneFile;
}

/** The scene that `ripstop view SCENE` serves, if it was given one. */
async function givenScene(): Promise<SceneFile | null> {
  try {
    const answer = await fetch("scene.json");
    // A host that answers every address with its front page has none either.
    if (!answer.ok || !answer.headers.get("content-type")?.includes("json")) return null;
    return (await answer.json()) as SceneFile;
  } catch {
    return null;
  }
}

export async function openPath(app: App, path: string, link: Partial<Link> = {}): Promise<boolean> {
  try {
    return await app.load(await fetchScene(path), path, link);
  } catch (error) {
    complain(`${path} could not be opened`, trouble(error));
    return false;
  }
}

/** A scene, where it is from, and what to say if it can't be had. */
interface Found {
  scene: SceneFile | Error;
  path: string | null;
  fault: string;
}

/** What the page was started with: a scene that `ripstop view` serves, one in the link, one that the link names, or the usual one. */
export async function firstScene(link: Link): Promise<Found> {
  const kept = (scene: Promise<SceneFile>) => scene.catch((error: unknown) => (error instanceof Error ? error : new Error(String(error))));
  const path = link.scene ?? FIRST;
  // All at once: waiting for an answer that there is no such file takes as long as the file.
  const named = kept(fetchScene(path));
  const given = await givenScene();
  if (given) return { scene: given, path: null, fault: "" };
  if (link.file) return { scene: await kept(unpack(link.file)), path: null, fault: "The scene in the link could not be read" };
  return { scene: await named, path, fault: `${path} could not be opened` };
}

/** Opens what the page was started with, or else the usual scene. */
export async function openFirst(app: App, link: Link, { scene, path, fault }: Found) {
  if (scene instanceof Error) complain(fault, trouble(scene));
  else if (await app.load(scene, path, link)) return;
  if (path !== FIRST) await openPath(app, FIRST);
}

export function gallery(app: App) {
  const dialog = get<HTMLDialogElement>("gallery");
  const list = get("gallery-list");
  let filled = false;

  const card = (entry: Entry) => {
    const picture = entry.thumb
      ? make("img", { src: entry.thumb, alt: "", loading: "lazy", width: 320, height: 172 })
      : make("span", { className: "blank", ariaHidden: "true" });
    const name = entry.path.split("/").pop() ?? entry.path;
    const button = make("button", { type: "button", className: "scene" }, picture, make("b", {}, name), make("span", {}, entry.title));
    button.dataset.path = entry.path;
    button.onclick = () => {
      dialog.close();
      void openPath(app, entry.path);
    };
    return button;
  };

  const fill = async () => {
    const answer = await fetch("scenes/index.json");
    if (!answer.ok) throw new Error("the list of scenes is missing");
    const entries = (await answer.json()) as Entry[];
    // What lies in no folder is the woven quickstart.
    const folder = (entry: Entry) => entry.path.split("/").slice(0, -1).join("/") || "metaaphanon";
    const rest = [...new Set(entries.map(folder))].filter((name) => !GROUPS.some(([known]) => known === name));
    const groups = [...GROUPS, ...rest.map((name): [string, string] => [name, name])];
    list.replaceChildren(
      ...groups.flatMap(([name, heading]) => {
        const cards = entries.filter((entry) => folder(entry) === name).map(card);
        return cards.length > 0 ? [make("h3", {}, heading), make("div", { className: "grid" }, ...cards)] : [];
      }),
    );
  };

  get("open-gallery").onclick = async () => {
    dialog.showModal();
    if (!filled) {
      try {
        await fill();
        filled = true;
      } catch (error) {
        list.replaceChildren(make("p", {}, trouble(error).text));
      }
    }
    for (const button of list.querySelectorAll<HTMLElement>(".scene")) button.ariaCurrent = String(button.dataset.path === app.path);
  };
}

/** Dialogs close by their button and by a click beside them. */
export function dialogs() {
  for (const dialog of document.querySelectorAll("dialog")) {
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog || (event.target as Element).closest("[data-close]")) dialog.close();
    });
  }
  get("open-help").onclick = () => get<HTMLDialogElement>("help").showModal();
}
