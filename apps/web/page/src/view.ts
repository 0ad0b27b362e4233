// The picture: renderer, camera and everything that is drawn. It draws only when something has changed.

import * as THREE from "three";
import { OrbitControls } from "three/addons/controls/OrbitControls.js";
import { Bodies } from "./bodies";
import { Cloth, type Colouring } from "./cloth";
import type { Body, Frame, Loaded, Ray, Vec3, YarnParts } from "./engine/protocol";
import { meetTriangles, meetYarns } from "./pick";
import { Stage } from "./stage";
import { Yarns } from "./yarns";

/** What the interface covers at each side [CSS pixels]: the middle of the picture is put in the middle of what is left. */
export interface Insets {
  left: number;
  right: number;
  top: number;
  bottom: number;
}

export interface Viewpoint {
  eye: Vec3;
  target: Vec3;
}

/** More pixels than this per CSS pixel cost time and show nothing. */
const SHARPEST = 2;
/** Share of the window's height that scenes are framed for; where less is free, the picture gets smaller, down to so much. */
const FRAMED = 0.7;
const SMALLEST = 0.45;

export class View {
  readonly camera = new THREE.PerspectiveCamera(35, 1, 0.01, 100);
  readonly controls: OrbitControls;
  readonly cloth = new Cloth();
  readonly bodies = new Bodies();
  readonly yarns = new Yarns();
  /** Extent of the scene [m]. */
  size = 1;
  /** The longest that drawing took this thread [ms]. */
  longestDraw = 0;
  drawn = 0;
  /** Called when the camera has moved or the window has another size. */
  onMove: () => void = () => {};

  #renderer: THREE.WebGLRenderer;
  #scene = new THREE.Scene();
  #stage = new Stage();
  #stale = true;
  #insets: Insets = { left: 0, right: 0, top: 0, bottom: 0 };
  /** How much smaller the picture is than the window would have it, at least 1. */
  #shrink = 1;
  #yarn: YarnParts | null = null;
  #colouring: Colouring = "fabric";
  #woven = false;
  #spacing = 0.01;
  #loaded: Loaded | null = null;

  constructor(readonly canvas: HTMLCanvasElement) {
    this.#renderer = new THREE.WebGLRenderer({ canvas, antialias: true, powerPreference: "high-performance" });
    this.#renderer.outputColorSpace = THREE.SRGBColorSpace;
    this.#renderer.toneMapping = THREE.NeutralToneMapping;
    this.#renderer.shadowMap.enabled = true;
    // Soft in itself: it samples a disc.
    this.#renderer.shadowMap.type = THREE.PCFShadowMap;
    this.#scene.background = this.#stage.backdrop;
    this.#scene.add(this.#stage.group, this.cloth.group, this.bodies.group, this.yarns.tubes.mesh);
    this.controls = new OrbitControls(this.camera, canvas);
    this.controls.mouseButtons = { LEFT: THREE.MOUSE.ROTATE, MIDDLE: THREE.MOUSE.PAN, RIGHT: THREE.MOUSE.ROTATE };
    this.controls.addEventListener("change", () => this.#moved());
    new ResizeObserver(() => this.#fit()).observe(canvas);
    // Whoever loses the graphics card gets it back with everything on it.
    canvas.addEventListener("webglcontextrestored", () => this.redraw());
  }

  /** Takes over a scene. `keep` leaves the camera where it is. */
  begin(loaded: Loaded, keep: boolean) {
    this.#loaded = loaded;
    const low = new THREE.Vector3(...loaded.low);
    const high = new THREE.Vector3(...loaded.high);
    const centre = low.clone().add(high).multiplyScalar(0.5);
    this.size = Math.max(high.distanceTo(low), 1e-4);
    this.#woven = loaded.kind === "woven";
    this.#spacing = loaded.spacing;
    this.#yarn = null;
    this.#stage.begin(loaded, centre, this.size);
    this.cloth.begin(loaded, () => this.redraw());
    this.yarns.begin(loaded.look, loaded.spacing);
    this.yarns.update(null, false);
    this.setBodies(loaded.bodies);
    if (!keep) this.home();
    this.#arrange();
    this.redraw();
  }

  setBodies(bodies: Body[]) {
    this.bodies.set(bodies, this.size);
    this.redraw();
  }

  /** The viewpoint of the scene, or one that shows all of it. */
  home() {
    if (!this.#loaded) return;
    const { low, high, camera } = this.#loaded;
    const box = new THREE.Box3(new THREE.Vector3(...low), new THREE.Vector3(...high));
    const centre = box.getCenter(new THREE.Vector3());
    const target = camera ? new THREE.Vector3(...camera.target) : centre.clone();
    this.camera.fov = camera?.angle ?? 35;
    // Without a camera: from the front, a little from above and the side; flat cloth is seen from higher up.
    const flat = high[1] - low[1] < 0.35 * this.size;
    const from = camera ? new THREE.Vector3(...camera.eye).sub(target) : new THREE.Vector3(0.38, flat ? 0.75 : 0.24, 1);
    const reach = Math.tan((this.camera.fov * Math.PI) / 360);
    const aspect = this.#clearAspect();
    // Scenes are framed for wide pictures; where the window is narrower than 4:3, one steps back by that much.
    const wanted = camera ? from.length() : (0.62 * this.size) / reach;
    from.setLength(wanted * Math.max(1, (camera ? 1.45 : 1.0) / aspect));
    this.look({ eye: target.clone().add(from).toArray() as Vec3, target: target.toArray() as Vec3 });
  }

  get viewpoint(): Viewpoint {
    return { eye: this.camera.position.toArray() as Vec3, target: this.controls.target.toArray() as Vec3 };
  }

  look({ eye, target }: Viewpoint) {
    this.camera.position.set(...eye);
    this.controls.target.set(...target);
    this.controls.minDistance = 0.05 * this.size;
    this.controls.maxDistance = 40 * this.size;
    this.camera.near = 0.01 * this.size;
    this.camera.far = 120 * this.size;
    this.camera.updateProjectionMatrix();
    this.controls.update();
    this.#moved();
  }

  /** Turns around the target [radians]; for keys. */
  orbit(right: number, up: number) {
    const from = this.camera.position.clone().sub(this.controls.target);
    const turn = new THREE.Spherical().setFromVector3(from);
    turn.theta += right;
    turn.phi = Math.min(Math.PI - 0.05, Math.max(0.05, turn.phi - up));
    this.camera.position.setFromSpherical(turn).add(this.controls.target);
    this.controls.update();
    this.#moved();
  }

  /** Comes nearer by this factor. */
  zoom(factor: number) {
    const from = this.camera.position.clone().sub(this.controls.target).divideScalar(factor);
    this.camera.position.copy(this.controls.target).add(from);
    this.controls.update();
    this.#moved();
  }

  set colouring(colouring: Colouring) {
    this.#colouring = colouring;
    this.cloth.colouring = colouring;
    this.#arrange();
    this.yarns.update(this.#yarn, !this.#asYarns());
    this.redraw();
  }

  get colouring(): Colouring {
    return this.#colouring;
  }

  set insets(insets: Insets) {
    this.#insets = insets;
    this.#fit();
  }

  update(frame: Frame) {
    this.#yarn = frame.yarn;
    this.cloth.update(frame);
    this.bodies.update(frame);
    this.yarns.update(frame.yarn, !this.#asYarns());
    this.redraw();
  }

  redraw() {
    this.#stale = true;
  }

  /** Draws if something has changed; says whether it did. */
  draw(): boolean {
    if (!this.#stale) return false;
    this.#stale = false;
    const begin = performance.now();
    this.#renderer.render(this.#scene, this.camera);
    // The first picture compiles shaders; that is no measure of those after it.
    if (this.drawn++ > 3) this.longestDraw = Math.max(this.longestDraw, performance.now() - begin);
    return true;
  }

  /** The picture as it is now, as PNG. */
  async picture(): Promise<Blob> {
    this.#renderer.render(this.#scene, this.camera);
    return new Promise((resolve, reject) => {
      // At once after drawing: the buffer is cleared when the browser has shown it.
      this.canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("the browser gave no picture"))), "image/png");
    });
  }

  /** The ray through a place in the window [CSS pixels]. */
  ray(x: number, y: number): Ray {
    const box = this.canvas.getBoundingClientRect();
    const at = new THREE.Vector2(((x - box.left) / box.width) * 2 - 1, 1 - ((y - box.top) / box.height) * 2);
    const caster = new THREE.Raycaster();
    caster.setFromCamera(at, this.camera);
    return { origin: caster.ray.origin.toArray() as Vec3, direction: caster.ray.direction.toArray() as Vec3 };
  }

  /** Where the cloth is first met, or null. */
  meet(ray: Ray): Vec3 | null {
    const sheet = meetTriangles(ray, this.cloth.points, this.cloth.triangles);
    const yarn = this.#yarn ? meetYarns(ray, this.#yarn, this.#spacing) : null;
    const along = sheet ?? yarn;
    if (along === null) return null;
    return [0, 1, 2].map((k) => ray.origin[k] + along * ray.direction[k]) as Vec3;
  }

  /** Where a ray meets the plane through `at` that faces the camera. */
  onPlane(ray: Ray, at: Vec3): Vec3 {
    const facing = this.camera.getWorldDirection(new THREE.Vector3());
    const direction = new THREE.Vector3(...ray.direction);
    const origin = new THREE.Vector3(...ray.origin);
    const along = new THREE.Vector3(...at).sub(origin).dot(facing) / Math.max(direction.dot(facing), 1e-6);
    return origin.addScaledVector(direction, along).toArray() as Vec3;
  }

  /** Place in the window of a point in space [CSS pixels], or null behind the camera. */
  project(at: Vec3): { x: number; y: number } | null {
    const point = new THREE.Vector3(...at).project(this.camera);
    if (point.z > 1) return null;
    const box = this.canvas.getBoundingClientRect();
    return { x: box.left + ((point.x + 1) / 2) * box.width, y: box.top + ((1 - point.y) / 2) * box.height };
  }

  /** Length of a CSS pixel at a point in space [m]. */
  pixel(at: Vec3): number {
    const facing = this.camera.getWorldDirection(new THREE.Vector3());
    const depth = new THREE.Vector3(...at).sub(this.camera.position).dot(facing);
    return (2 * depth * this.#shrink * Math.tan((this.camera.fov * Math.PI) / 360)) / Math.max(1, this.canvas.clientHeight);
  }

  /** Middle of what the interface leaves free [CSS pixels]. */
  get middle(): { x: number; y: number } {
    const box = this.canvas.getBoundingClientRect();
    const { left, right, top, bottom } = this.#insets;
    return { x: box.left + (box.width + left - right) / 2, y: box.top + (box.height + top - bottom) / 2 };
  }

  /** Whether cloth is drawn as yarns instead of as a sheet. */
  #asYarns(): boolean {
    return this.#woven && this.#colouring === "fabric";
  }

  #arrange() {
    this.cloth.sheet = !this.#asYarns();
  }

  #moved() {
    // At once: pointers may come before the next picture.
    this.camera.updateMatrixWorld();
    this.redraw();
    this.onMove();
  }

  #clearAspect(): number {
    const { left, right, top, bottom } = this.#insets;
    return Math.max(1, this.canvas.clientWidth - left - right) / Math.max(1, this.canvas.clientHeight - top - bottom);
  }

  #fit() {
    const { clientWidth: width, clientHeight: height } = this.canvas;
    if (width === 0 || height === 0) return;
    const ratio = Math.min(window.devicePixelRatio, SHARPEST);
    if (this.#renderer.getPixelRatio() !== ratio) this.#renderer.setPixelRatio(ratio);
    const now = this.#renderer.getSize(new THREE.Vector2());
    if (now.x !== width || now.y !== height) this.#renderer.setSize(width, height, false);
    const { left, right, top, bottom } = this.#insets;
    this.camera.aspect = width / height;
    // Shifts the picture without bending it: its middle comes to the middle of what is free.
    const s = Math.min(1 / SMALLEST, Math.max(1, (FRAMED * height) / Math.max(1, height - top - bottom)));
    const [x, y] = [(width - s * (width + left - right)) / 2, (height - s * (height + top - bottom)) / 2];
    this.camera.setViewOffset(width, height, x, y, s * width, s * height);
    this.#shrink = s;
    this.#moved();
  }
}
