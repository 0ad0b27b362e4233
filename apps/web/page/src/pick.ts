// What is under the pointer, found on this side at once, so that a finger beside the cloth turns the view instead of waiting for the engine.

import type { Ray, YarnParts } from "./engine/protocol";

/** Distance along the ray to the nearest triangle, or null. `direction` is a unit vector. */
export function meetTriangles(ray: Ray, points: Float32Array, triangles: Uint32Array): number | null {
  const [ox, oy, oz] = ray.origin;
  const [dx, dy, dz] = ray.direction;
  let nearest = Infinity;
  for (let t = 0; t < triangles.length; t += 3) {
    const [a, b, c] = [3 * triangles[t], 3 * triangles[t + 1], 3 * triangles[t + 2]];
    const [ax, ay, az] = [points[a], points[a + 1], points[a + 2]];
    const [ex, ey, ez] = [points[b] - ax, points[b + 1] - ay, points[b + 2] - az];
    const [fx, fy, fz] = [points[c] - ax, points[c + 1] - ay, points[c + 2] - az];
    // Möller and Trumbore 1997, from both sides.
    const [px, py, pz] = [dy * fz - dz * fy, dz * fx - dx * fz, dx * fy - dy * fx];
    const det = ex * px + ey * py + ez * pz;
    if (det === 0) continue;
    const [sx, sy, sz] = [ox - ax, oy - ay, oz - az];
    const u = (sx * px + sy * py + sz * pz) / det;
    if (u < 0 || u > 1) continue;
    const [qx, qy, qz] = [sy * ez - sz * ey, sz * ex - sx * ez, sx * ey - sy * ex];
    const v = (dx * qx + dy * qy + dz * qz) / det;
    if (v < 0 || u + v > 1) continue;
    const distance = (fx * qx + fy * qy + fz * qz) / det;
    if (distance > 0 && distance < nearest) nearest = distance;
  }
  return nearest < Infinity ? nearest : null;
}

/** Distance along the ray to the nearest yarn point that is within `reach` of it, or null. */
export function meetYarns(ray: Ray, yarn: YarnParts, reach: number): number | null {
  const [ox, oy, oz] = ray.origin;
  const [dx, dy, dz] = ray.direction;
  let nearest = Infinity;
  for (let i = 0; i < yarn.points.length; i += 3) {
    const [x, y, z] = [yarn.points[i] - ox, yarn.points[i + 1] - oy, yarn.points[i + 2] - oz];
    const along = x * dx + y * dy + z * dz;
    if (along <= 0 || along >= nearest) continue;
    if (x * x + y * y + z * z - along * along < reach * reach) nearest = along;
  }
  return nearest < Infinity ? nearest : null;
}
