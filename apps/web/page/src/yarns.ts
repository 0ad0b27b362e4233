// Woven cloth as yarns. As it looks, all of them; in other colourings only those that have come loose, beside the sheet.

import * as THREE from "three";
import { linear, type Rgb, srgb } from "./colours";
import type { Look, YarnParts } from "./engine/protocol";
import { STRIDE, Tubes } from "./tubes";

/** Radius of a yarn over the distance of yarns: nearly closed cloth, as in our pictures. */
const RADIUS = 0.3;
/** Free ends thin out to this share. */
const TIP = 0.45;

export class Yarns {
  readonly tubes = new Tubes(6, new THREE.MeshStandardMaterial({ roughness: 0.9 }));
  #warp: Rgb = srgb(0xe6dcc6);
  #weft: Rgb = srgb(0x3f6fb5);
  #radius = 0.0003;

  /** Colours and thickness of a scene. */
  begin(look: Look, spacing: number) {
    this.#warp = look.colour ? linear(look.colour) : srgb(0xe6dcc6);
    const weft = look.weft_colour ?? look.colour;
    this.#weft = weft ? linear(weft) : srgb(0x3f6fb5);
    this.#radius = RADIUS * spacing;
  }

  update(parts: YarnParts | null, onlyLoose: boolean) {
    if (!parts) return this.tubes.draw(0);
    this.tubes.room(parts.points.length / 3);
    let drawn = 0;
    for (let c = 0; c < parts.curves.length; c += 4) {
      const [first, count, warp, number] = parts.curves.subarray(c, c + 4);
      if (onlyLoose) {
        // Stretches of loose points, each with the whole one before and after it, so that they meet the sheet.
        let i = first;
        while (i < first + count) {
          if (parts.loose[i] === 0) {
            i++;
            continue;
          }
          const from = Math.max(first, i - 1);
          while (i < first + count && parts.loose[i] > 0) i++;
          drawn = this.#thread(parts, from, Math.min(i + 1, first + count) - from, warp === 1, number, drawn);
        }
      } else {
        drawn = this.#thread(parts, first, count, warp === 1, number, drawn);
      }
    }
    this.tubes.draw(drawn);
  }

  #thread(parts: YarnParts, first: number, count: number, warp: boolean, number: number, drawn: number): number {
    if (count < 2) return drawn;
    const { points, colours } = this.tubes;
    // No two yarns are dyed quite alike.
    const shade = 0.92 + 0.16 * ((((number + (warp ? 0 : 7919)) * 2654435761) >>> 16) & 255) / 255;
    const dye = warp ? this.#warp : this.#weft;
    for (let i = 0; i < count; i++) {
      const from = first + i;
      const to = (drawn + i + 1) * STRIDE;
      points[to] = parts.points[3 * from];
      points[to + 1] = parts.points[3 * from + 1];
      points[to + 2] = parts.points[3 * from + 2];
      const end = i === 0 || i === count - 1;
      const radius = this.#radius * (end && parts.loose[from] === 2 ? TIP : 1);
      points[to + 3] = i === count - 1 ? -radius : radius;
      const at = (drawn + i) * 4;
      for (let k = 0; k < 3; k++) colours[at + k] = Math.min(255, dye[k] * shade * 255);
      colours[at + 3] = 255;
    }
    return drawn + count;
  }
}
