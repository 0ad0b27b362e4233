// Rigid bodies: their shapes once, their places in every frame.

import * as THREE from "three";
import { toCreasedNormals } from "three/addons/utils/BufferGeometryUtils.js";
import { linear } from "./colours";
import type { Body, Frame } from "./engine/protocol";
import { floorMaterial } from "./floor";

/** A body so many times as large as the scene is a plane: of that a disc is drawn. */
const ENDLESS = 12;
/** Faces that meet at less than this are one round surface. */
const CREASE = 0.6;
const PALE = 0xd9d4ca;

export class Bodies {
  readonly group = new THREE.Group();
  /** Bodies the page has shapes for. */
  count = 0;

  /** Replaces all. `size` is that of the scene. */
  set(bodies: Body[], size: number) {
    for (const mesh of this.group.children as THREE.Mesh<THREE.BufferGeometry, THREE.Material>[]) {
      mesh.geometry.dispose();
      if (mesh instanceof Plane) mesh.free();
      else mesh.material.dispose();
    }
    this.group.clear();
    for (const body of bodies) this.group.add(solid(body, size));
    this.count = bodies.length;
  }

  update(frame: Frame) {
    const { bodies } = frame;
    for (const [i, mesh] of this.group.children.entries()) {
      const [x, y, z, qx, qy, qz, qw] = bodies.slice(7 * i, 7 * i + 7);
      mesh.visible = qw !== undefined && (qx !== 0 || qy !== 0 || qz !== 0 || qw !== 0);
      if (!mesh.visible) continue;
      mesh.position.set(x, y, z);
      mesh.quaternion.set(qx, qy, qz, qw);
      if (mesh instanceof Plane) mesh.turn();
    }
  }
}

function solid(body: Body, size: number): THREE.Mesh {
  if (isPlane(body, size)) return new Plane(size);
  let geometry = new THREE.BufferGeometry();
  geometry.setAttribute("position", new THREE.BufferAttribute(new Float32Array(body.points), 3));
  geometry.setIndex(body.triangles);
  geometry = toCreasedNormals(geometry, CREASE);
  const material = new THREE.MeshStandardMaterial({ roughness: 0.7, side: THREE.DoubleSide });
  if (body.colour) material.color.setRGB(...linear(body.colour));
  else material.color.setHex(PALE);
  const mesh = new THREE.Mesh(geometry, material);
  mesh.castShadow = true;
  mesh.receiveShadow = true;
  mesh.visible = body.there;
  return mesh;
}

/** Whether a body is an endless plane: all that is below y = 0 in its own frame, as four corners far away. */
export function isPlane(body: Body, size: number): boolean {
  return body.points.length === 12 && body.points.some((x) => Math.abs(x) > ENDLESS * size);
}

/** The part of an endless plane that is near the scene. */
class Plane extends THREE.Mesh<THREE.BufferGeometry, THREE.Material> {
  #slope = new THREE.MeshStandardMaterial({ color: PALE, roughness: 0.95, side: THREE.DoubleSide, vertexColors: true, transparent: true });
  #ground = floorMaterial();

  constructor(size: number) {
    const geometry = new THREE.CircleGeometry(4 * size, 64);
    geometry.rotateX(-Math.PI / 2);
    // The first point is the middle; from there it fades.
    const colours = Array.from({ length: geometry.getAttribute("position").count }, (_, i) => [1, 1, 1, i === 0 ? 1 : 0]);
    geometry.setAttribute("color", new THREE.Float32BufferAttribute(colours.flat(), 4));
    super(geometry);
    this.receiveShadow = true;
    this.turn();
  }

  /** Of a ground one sees its shadow only; a slope must be seen. */
  turn() {
    const up = new THREE.Vector3(0, 1, 0).applyQuaternion(this.quaternion);
    this.material = Math.abs(up.y) > 0.999 ? this.#ground : this.#slope;
  }

  free() {
    this.#slope.dispose();
    this.#ground.dispose();
  }
}
