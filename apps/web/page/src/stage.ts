// What the cloth is shown in: a light backdrop, a key light with a soft shadow, light from the sky, and a floor that catches the shadow.

import * as THREE from "three";
import { isPlane } from "./bodies";
import type { Loaded } from "./engine/protocol";
import { floorMaterial } from "./floor";

/** Where the key light comes from. */
const KEY = new THREE.Vector3(-0.55, 1.25, 0.95).normalize();

export class Stage {
  readonly group = new THREE.Group();
  readonly backdrop = backdrop();

  #key = new THREE.DirectionalLight(0xfff3e4, 3.4);
  #fill = new THREE.DirectionalLight(0xdfe9ff, 0.9);
  #sky = new THREE.HemisphereLight(0xf6f9ff, 0xd9cbb9, 1.9);
  #floor: THREE.Mesh<THREE.CircleGeometry, THREE.ShadowMaterial>;

  constructor() {
    this.#key.castShadow = true;
    this.#key.shadow.mapSize.setScalar(2048);
    this.#key.shadow.radius = 4;
    // Cloth lets some light through.
    this.#key.shadow.intensity = 0.85;
    this.#floor = new THREE.Mesh(new THREE.CircleGeometry(1, 64), floorMaterial());
    this.#floor.rotation.x = -Math.PI / 2;
    this.#floor.receiveShadow = true;
    this.group.add(this.#key, this.#key.target, this.#fill, this.#fill.target, this.#sky, this.#floor);
  }

  /** Fits light and floor to a scene. */
  begin(loaded: Loaded, centre: THREE.Vector3, size: number) {
    // A scene with a ground of its own needs no other.
    this.#floor.visible = !loaded.bodies.some((body) => isPlane(body, size));
    const floor = loaded.look.floor ?? loaded.low[1] - 0.22 * size;
    this.#floor.position.set(centre.x, floor, centre.z);
    this.#floor.scale.setScalar(5 * size);

    // Pieces fall and hands pull, so the light reaches well beyond the cloth at the start.
    const reach = 1.15 * size;
    this.#key.position.copy(centre).addScaledVector(KEY, 3 * size);
    this.#key.target.position.copy(centre).setY(Math.max(floor + 0.3 * size, centre.y - 0.35 * size));
    this.#key.position.add(this.#key.target.position).sub(centre);
    const { camera } = this.#key.shadow;
    [camera.left, camera.right, camera.top, camera.bottom] = [-reach, reach, reach, -reach];
    [camera.near, camera.far] = [0.05 * size, 6.5 * size];
    camera.updateProjectionMatrix();
    // One pixel of the map, so that cloth seen edge-on doesn't shade itself.
    this.#key.shadow.normalBias = (2 * reach * 2.2) / 2048;
    this.#key.shadow.bias = -0.0006;
    this.#fill.position.copy(centre).add(new THREE.Vector3(0.9, 0.25, -0.8).multiplyScalar(3 * size));
    this.#fill.target.position.copy(centre);
  }
}

/** A soft gradient: light above the horizon, a little warmer and darker towards the edges. */
function backdrop(): THREE.CanvasTexture {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [512, 512];
  const context = canvas.getContext("2d");
  if (context) {
    const down = context.createLinearGradient(0, 0, 0, 512);
    down.addColorStop(0, "#e6ebef");
    down.addColorStop(0.55, "#f4f3f0");
    down.addColorStop(0.75, "#eeebe6");
    down.addColorStop(1, "#dfdad2");
    context.fillStyle = down;
    context.fillRect(0, 0, 512, 512);
    const around = context.createRadialGradient(240, 210, 60, 256, 256, 400);
    around.addColorStop(0, "rgba(255,255,255,0.75)");
    around.addColorStop(0.5, "rgba(255,255,255,0)");
    around.addColorStop(1, "rgba(96,104,116,0.14)");
    context.fillStyle = around;
    context.fillRect(0, 0, 512, 512);
  }
  const texture = new THREE.CanvasTexture(canvas);
  texture.colorSpace = THREE.SRGBColorSpace;
  return texture;
}
