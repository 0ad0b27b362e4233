// Torn edges: a pale rim along each lip, and short fibres that hang out of it. Their places, lengths and bends come from a hash of where they are
// in the material, so that a fibre stays the same while the cloth moves and the mesh changes around it.

import * as THREE from "three";
import type { Rgb } from "./colours";
import type { Frame, Topology } from "./engine/protocol";
import { STRIDE, Tubes } from "./tubes";

/** At most so many fibres; with more lips each gets fewer. */
const MOST = 5000;
/** Fibres per mean edge of a lip. */
const DENSITY = 7;
/** Longest fibre, in mean edges. */
const LONGEST = 0.6;
/** Points of a fibre. */
const POINTS = 3;

/** A number in 0..1 from whole ones. */
function hash(a: number, b: number, c: number): number {
  let h = (Math.imul(a, 0x9e3779b1) ^ Math.imul(b, 0x85ebca77) ^ Math.imul(c, 0xc2b2ae3d)) | 0;
  h = Math.imul(h ^ (h >>> 15), 0x2c1b3c6d);
  h = Math.imul(h ^ (h >>> 12), 0x297a2d39);
  return ((h ^ (h >>> 15)) >>> 0) / 4294967296;
}

export class Lips {
  readonly tubes = new Tubes(4, new THREE.MeshStandardMaterial({ roughness: 1 }));
  #spacing = 0.01;
  #fibre: Rgb = [1, 1, 1];
  #topology: Topology | null = null;

  begin(spacing: number, fibre: Rgb) {
    this.#spacing = spacing;
    this.#fibre = fibre;
    this.#topology = null;
    this.tubes.draw(0);
  }

  update(frame: Frame) {
    this.#topology = frame.topology ?? this.#topology;
    if (!this.#topology) return;
    const { lips, uv } = this.#topology;
    const count = lips.length / 2;
    const perLip = Math.min(DENSITY, MOST / Math.max(1, count));
    this.tubes.room(count * 2 + Math.ceil(count * (perLip * 2 + 1)) * POINTS);
    const { points: out, colours } = this.tubes;
    const { points, normals } = frame;
    const spacing = this.#spacing;
    let drawn = 0;

    const put = (x: number, y: number, z: number, radius: number, last: boolean, shade: number) => {
      const to = (drawn + 1) * STRIDE;
      out[to] = x;
      out[to + 1] = y;
      out[to + 2] = z;
      out[to + 3] = last ? -radius : radius;
      const at = drawn * 4;
      for (let k = 0; k < 3; k++) colours[at + k] = Math.min(255, this.#fibre[k] * shade * 255);
      colours[at + 3] = 255;
      drawn++;
    };

    for (let i = 0; i < count; i++) {
      const [a, b] = [lips[2 * i], lips[2 * i + 1]];
      const [ax, ay, az] = [points[3 * a], points[3 * a + 1], points[3 * a + 2]];
      const [dx, dy, dz] = [points[3 * b] - ax, points[3 * b + 1] - ay, points[3 * b + 2] - az];
      const length = Math.hypot(dx, dy, dz);
      if (!(length > 0)) continue;
      put(ax, ay, az, spacing * 0.04, false, 0.95);
      put(ax + dx, ay + dy, az + dz, spacing * 0.04, true, 0.95);
      // Away from the cloth: right of a→b, as seen from the side that the normal is on.
      const [nx, ny, nz] = [normals[3 * a], normals[3 * a + 1], normals[3 * a + 2]];
      let [ox, oy, oz] = [dy * nz - dz * ny, dz * nx - dx * nz, dx * ny - dy * nx];
      const out_ = Math.hypot(ox, oy, oz) || 1;
      [ox, oy, oz] = [ox / out_, oy / out_, oz / out_];
      // Where this lip is in the material, to a fifth of a mean edge.
      const grain = spacing / 5;
      const [ku, kv] = [Math.round((uv[2 * a] + uv[2 * b]) / grain), Math.round((uv[2 * a + 1] + uv[2 * b + 1]) / grain)];
      const here = Math.min(perLip * 2, Math.max(1, Math.round(perLip * (length / spacing) + hash(ku, kv, 0) - 0.5)));
      for (let f = 0; f < here; f++) {
        const at = (f + hash(ku, kv, 5 * f + 1)) / here;
        // Most are short, a few long.
        const long = spacing * LONGEST * (0.12 + 0.88 * hash(ku, kv, 5 * f + 2) ** 3);
        const along = 1.1 * (hash(ku, kv, 5 * f + 3) - 0.5);
        const off = 0.9 * (hash(ku, kv, 5 * f + 4) - 0.5);
        const curl = 0.7 * (hash(ku, kv, 5 * f + 5) - 0.5);
        const shade = 0.82 + 0.18 * hash(ku, kv, 5 * f + 6);
        const radius = spacing * 0.02;
        const [sx, sy, sz] = [ax + dx * at, ay + dy * at, az + dz * at];
        const side = along / length;
        for (let k = 0; k < POINTS; k++) {
          const t = (k / (POINTS - 1)) * long;
          const bend = (k / (POINTS - 1)) ** 2 * long;
          put(
            sx + t * (ox + dx * side + nx * off) + bend * (nx * curl + (dx / length) * curl),
            sy + t * (oy + dy * side + ny * off) + bend * (ny * curl + (dy / length) * curl - 0.25),
            sz + t * (oz + dz * side + nz * off) + bend * (nz * curl + (dz / length) * curl),
            radius * (1 - 0.6 * (k / (POINTS - 1))),
            k === POINTS - 1,
            shade,
          );
        }
      }
    }
    this.tubes.draw(drawn);
  }
}
