// The settings in the address: `#scene=phillips/two-hands&strength=1.5&wind=0,0,3`. A link names a scene of the gallery, or carries one that was dropped on
// the page; a painted map is in it as well. What is too large for an address is left out.

import type { SetValues, Vec3 } from "./engine/protocol";
import { fromAddress, LONGEST, toAddress } from "./packed";
import type { Viewpoint } from "./view";

export interface Link {
  scene: string | null;
  /** A scene with its files, packed. */
  file: string | null;
  variant: string | null;
  set: SetValues;
  wind: Vec3 | null;
  view: Viewpoint | null;
  colouring: string | null;
}

/** How a painted map begins. */
const PNG = "data:image/png;base64,";

/** Whether a painted map is small enough for a link. */
export const fits = (map: string | null | undefined) => !map || map.length <= LONGEST;

function vector(text: string | null): Vec3 | null {
  const numbers = text?.split(",").map(Number) ?? [];
  return numbers.length === 3 && numbers.every(Number.isFinite) ? (numbers as Vec3) : null;
}

export function read(hash: string): Link {
  const words = new URLSearchParams(hash.replace(/^#/, ""));
  const set: SetValues = {};
  for (const key of ["fabric", "criterion", "opening"] as const) {
    const value = words.get(key);
    if (value) set[key] = value;
  }
  const strength = Number(words.get("strength"));
  if (strength > 0 && Number.isFinite(strength)) set.strength = strength;
  const map = words.get("map");
  if (map && /^[\w-]+$/.test(map)) set.map = PNG + fromAddress(map);
  const [eye, target] = [vector(words.get("eye")), vector(words.get("target"))];
  const scene = words.get("scene");
  return {
    // Only what a scene of the gallery can be called: the address is anybody's text.
    scene: scene && /^[\w-]+(\/[\w-]+)*$/.test(scene) ? scene : null,
    file: words.get("file"),
    variant: words.get("variant"),
    set,
    wind: vector(words.get("wind")),
    view: eye && target ? { eye, target } : null,
    colouring: words.get("colours"),
  };
}

export function write(link: Link): string {
  const words: string[] = [];
  // Slashes and commas stay as they are: links are read by people too.
  const put = (key: string, value: string | null | undefined) => {
    if (value) words.push(`${key}=${encodeURIComponent(value).replaceAll("%2F", "/").replaceAll("%2C", ",")}`);
  };
  const digits = (v: Vec3 | null | undefined) => v?.map((x) => Number(x.toPrecision(4))).join(",");
  put("scene", link.scene);
  put("file", link.file);
  put("variant", link.variant);
  put("fabric", link.set.fabric);
  put("criterion", link.set.criterion);
  put("opening", link.set.opening);
  if (link.set.strength !== undefined && link.set.strength !== 1) put("strength", String(Number(link.set.strength.toPrecision(4))));
  put("wind", digits(link.wind));
  put("colours", link.colouring === "fabric" ? null : link.colouring);
  put("eye", digits(link.view?.eye));
  put("target", digits(link.view?.target));
  const { map } = link.set;
  if (map?.startsWith(PNG) && fits(map)) put("map", toAddress(map.slice(PNG.length)));
  return `#${words.join("&")}`;
}
