// Files that are dropped on the page or opened by the button: a scene with the files it names, or a mesh, of which a scene is made.

import type { NamedFile, SceneFile } from "./engine/protocol";
import { base64 } from "./packed";

/** Larger files are a mistake: a browser could not step them. */
const LARGEST = 64 << 20;

const bytesOf = async (file: File) => base64(new Uint8Array(await file.arrayBuffer()));

/** The scene in a handful of files, or a message that says why there is none. */
export async function sceneOf(files: File[]): Promise<SceneFile> {
  const large = files.find((file) => file.size > LARGEST);
  if (large) throw new Error(`${large.name} is larger than ${LARGEST >> 20} MB`);
  const scenes = files.filter((file) => /\.toml$/i.test(file.name));
  const meshes = files.filter((file) => /\.obj$/i.test(file.name));
  if (scenes.length > 1) throw new Error(`one scene at a time: ${scenes.map((file) => file.name).join(", ")}`);
  if (scenes.length === 1) {
    const others = files.filter((file) => file !== scenes[0]);
    const named: NamedFile[] = await Promise.all(others.map(async (file) => ({ name: file.name, data: await bytesOf(file) })));
    return { name: scenes[0].name, text: await scenes[0].text(), files: named };
  }
  if (meshes.length !== 1) {
    const what = files.map((file) => file.name).join(", ") || "nothing";
    throw new Error(`${what}: drop a scene (.toml, with the files it names) or one mesh (.obj)`);
  }
  const mesh = meshes[0];
  const text = sceneAround(mesh.name, await mesh.text());
  return { name: mesh.name.replace(/\.obj$/i, ".toml"), text, files: [{ name: mesh.name, data: await bytesOf(mesh) }] };
}

/** A scene that hangs a mesh by its top and lets it tear. */
function sceneAround(name: string, obj: string): string {
  const size = extent(obj);
  // People model in metres, centimetres and millimetres; cloth of more than five metres is rare.
  const scale = size > 500 ? 0.001 : size > 5 ? 0.01 : 1;
  const hem = (0.06 * size * scale).toPrecision(3);
  const title = name.replace(/\.obj$/i, "").replace(/[^\p{L}\p{N} _.-]/gu, " ");
  return `title = ${JSON.stringify(title)}

[time]
duration = 10.0
step = 0.00417

[cloth.obj]
file = ${JSON.stringify(name)}
scale = ${scale}

[fabric]
density = 0.25
stretch = 400.0
shear = 30.0

[integrator.implicit]

[air]
viscous = 0.2

[[grip]]
name = "top"
where = { side = "top" }

[tear]
weak = 0.7
hem = { width = ${hem}, factor = 2.0 }

[tear.criterion.separation_tensor]
strength = 0.2
`;
}

/** Largest side of a mesh, in the units of its file. */
function extent(obj: string): number {
  const low = [Infinity, Infinity, Infinity];
  const high = [-Infinity, -Infinity, -Infinity];
  for (const match of obj.matchAll(/^v\s+(\S+)\s+(\S+)\s+(\S+)/gm)) {
    for (let k = 0; k < 3; k++) {
      const x = Number(match[k + 1]);
      low[k] = Math.min(low[k], x);
      high[k] = Math.max(high[k], x);
    }
  }
  const size = Math.max(...high.map((x, k) => x - low[k]));
  return Number.isFinite(size) && size > 0 ? size : 1;
}
