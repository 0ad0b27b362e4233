// Packs the scenes for the page: every scenes/**/*.toml with the files it names, as JSON in public/scenes/, and a list of them in
// public/scenes/index.json. Thumbnails are taken from thumbs/ if they are there (`phillips-two-hands.jpg` for phillips/two-hands).

import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";

const page = dirname(dirname(fileURLToPath(import.meta.url)));
const scenes = resolve(page, "../../../scenes");
const packed = join(page, "public/scenes");
const thumbs = join(page, "public/thumbs");

/** Scenes for measuring: too large for a browser, and nothing to see. */
const LEFT_OUT = new Set(["bench"]);

/** All scene files below a folder, in the order of their names. */
function scenesBelow(folder) {
  return readdirSync(folder, { withFileTypes: true })
    .sort((a, b) => (a.name < b.name ? -1 : 1))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : scenesBelow(path);
      return entry.name.endsWith(".toml") ? [path] : [];
    });
}

/** The files that a scene names: every quoted word in it that is a file beside it. */
function filesOf(scene, text) {
  const folder = dirname(scene);
  const named = new Set([...text.matchAll(/"([^"\n]+)"/g)].map((match) => match[1]));
  return [...named].sort().flatMap((name) => {
    const path = resolve(folder, name);
    const inside = path.startsWith(scenes + sep) && existsSync(path) && statSync(path).isFile();
    return inside ? [{ name, data: readFileSync(path).toString("base64") }] : [];
  });
}

/** A text at the top of a scene file. The loader reads TOML; all we want is a line to show. */
function topText(text, key) {
  const line = text.match(new RegExp(`^${key} = ("(?:[^"\\\\]|\\\\.)*")`, "m"));
  return line ? JSON.parse(line[1]) : "";
}

for (const folder of [packed, thumbs]) {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(folder, { recursive: true });
}

const list = scenesBelow(scenes).map((scene) => {
  const path = relative(scenes, scene).split(sep).join("/").replace(/\.toml$/, "");
  const text = readFileSync(scene, "utf8");
  const out = join(packed, `${path}.json`);
  mkdirSync(dirname(out), { recursive: true });
  writeFileSync(out, JSON.stringify({ name: `scenes/${path}.toml`, text, files: filesOf(scene, text) }));
  const picture = `${path.replaceAll("/", "-")}.jpg`;
  const from = join(page, "thumbs", picture);
  if (existsSync(from)) copyFileSync(from, join(thumbs, picture));
  return { path, title: topText(text, "title"), source: topText(text, "source"), thumb: existsSync(from) ? `thumbs/${picture}` : null };
});
writeFileSync(join(packed, "index.json"), JSON.stringify(list));
console.log(`${list.length} scenes packed, ${list.filter((scene) => scene.thumb).length} with a thumbnail`);
