// The sheet: its geometry from the engine's buffers, its material, and what its colours show.

import * as THREE from "three";
import { byPiece, byValue, lerp, linear, type Rgb, srgb } from "./colours";
import type { Frame, Loaded } from "./engine/protocol";
import { Lips } from "./lips";
import { weave } from "./weave";

/** What the colours of the cloth show. */
export type Colouring = "fabric" | "checker" | "strain" | "plastic" | "pieces" | "map" | "wire";

/** Colours of cloth that has none of its own, as in the pictures of the command line. */
const FRONT = srgb(0xa8392a);
const BACK = srgb(0xb9775a);
const GRID = srgb(0xc46a52);
const FIBRE = srgb(0xf1e4d0);

/** What the shader adds to three's material: a back of another colour, and lines or squares by material coordinates. */
const DECLARE = /* glsl */ `
varying vec2 vCloth;
uniform vec3 backColour;
uniform float backShade;
uniform vec3 lineColour;
uniform float lineEvery;
uniform int pattern;

// How much of a line of this width lies under the pixel; farther away lines fade instead of flickering.
float lines(vec2 at, float width) {
  vec2 wide = fwidth(at);
  vec2 away = abs(fract(at - 0.5) - 0.5);
  vec2 half_ = vec2(width * 0.5);
  vec2 covered = clamp((half_ - away) / max(wide, 1e-6) + 0.5, 0.0, 1.0) * min(vec2(1.0), vec2(width) / max(wide, 1e-6) + 0.25);
  return max(covered.x, covered.y);
}
`;

const PAINT = /* glsl */ `
#include <color_fragment>
if (!gl_FrontFacing) diffuseColor.rgb = pattern == 1 ? backColour : diffuseColor.rgb * backShade;
if (pattern == 1) {
  diffuseColor.rgb = mix(diffuseColor.rgb, lineColour, (gl_FrontFacing ? 0.85 : 0.5) * lines(vCloth / lineEvery, 0.07));
} else if (pattern == 2) {
  vec2 cell = floor(vCloth / lineEvery * 0.75);
  bool odd = mod(cell.x + cell.y, 2.0) > 0.5;
  diffuseColor.rgb = odd ? vec3(0.86, 0.84, 0.8) : vec3(0.06, 0.16, 0.3);
}
`;

export class Cloth {
  readonly group = new THREE.Group();
  readonly lips = new Lips();
  /** As last sent by the engine, for picking on this side. */
  points: Float32Array = new Float32Array(0);
  triangles: Uint32Array = new Uint32Array(0);
  vertexCount = 0;
  heldCount = 0;

  #geometry = new THREE.BufferGeometry();
  #wireGeometry = new THREE.BufferGeometry();
  #heldGeometry = new THREE.BufferGeometry();
  #mesh: THREE.Mesh<THREE.BufferGeometry, THREE.MeshPhysicalMaterial>;
  #wire: THREE.LineSegments<THREE.BufferGeometry, THREE.LineBasicMaterial>;
  #held: THREE.Points<THREE.BufferGeometry, THREE.PointsMaterial>;
  #torn = new THREE.Group();
  #uniforms = {
    backColour: { value: new THREE.Color(1, 1, 1) },
    backShade: { value: 1 },
    lineColour: { value: new THREE.Color(1, 1, 1) },
    lineEvery: { value: 0.1 },
    pattern: { value: 1 },
  };
  #weave = weave();
  #texture: THREE.Texture | null = null;
  #front: Rgb = FRONT;
  #back: Rgb = BACK;
  #fibre: Rgb = FIBRE;
  #colouring: Colouring = "fabric";
  #room = 0;
  #wireStale = true;

  constructor() {
    const material = new THREE.MeshPhysicalMaterial({
      side: THREE.DoubleSide,
      roughness: 0.82,
      sheen: 0.5,
      sheenRoughness: 0.55,
      bumpMap: this.#weave,
    });
    material.onBeforeCompile = (shader) => {
      Object.assign(shader.uniforms, this.#uniforms);
      shader.vertexShader = shader.vertexShader
        .replace("#include <common>", "#include <common>\nvarying vec2 vCloth;")
        .replace("#include <begin_vertex>", "#include <begin_vertex>\nvCloth = uv;");
      shader.fragmentShader = shader.fragmentShader
        .replace("#include <common>", `#include <common>\n${DECLARE}`)
        .replace("#include <color_fragment>", PAINT);
    };
    this.#mesh = new THREE.Mesh(this.#geometry, material);
    this.#mesh.castShadow = true;
    this.#mesh.receiveShadow = true;
    this.#wire = new THREE.LineSegments(this.#wireGeometry, new THREE.LineBasicMaterial({ color: 0x22303c }));
    this.#held = new THREE.Points(
      this.#heldGeometry,
      new THREE.PointsMaterial({ color: 0x1d2833, transparent: true, map: dot() }),
    );
    for (const part of [this.#mesh, this.#wire, this.#held]) part.frustumCulled = false;
    // Before the first drawing: a geometry without normals would get a flat shader, and keep it.
    this.#grow();
    this.#torn.add(this.lips.tubes.mesh);
    this.group.add(this.#mesh, this.#wire, this.#held, this.#torn);
  }

  /** Takes over the look of a scene. */
  begin(loaded: Loaded, onReady: () => void) {
    const { look } = loaded;
    const size = Math.hypot(look.uv_high[0] - look.uv_low[0], look.uv_high[1] - look.uv_low[1]) || 1;
    this.#front = look.colour ? linear(look.colour) : FRONT;
    this.#back = look.colour ? lerp(this.#front, [0.8, 0.78, 0.74], 0.22) : BACK;
    this.#fibre = look.colour ? lerp(this.#front, FIBRE, 0.65) : FIBRE;
    this.#uniforms.lineColour.value.setRGB(...(look.colour ? lerp(this.#front, [1, 1, 1], 0.16) : GRID));
    this.#uniforms.lineEvery.value = size / 26;
    this.#weave.repeat.setScalar(180 / size);
    // Dots of about a third of an edge; three takes the angle of view for 90°.
    this.#held.material.size = 0.8 * loaded.spacing;
    this.lips.begin(loaded.spacing, this.#fibre);
    this.#texture?.dispose();
    this.#texture = null;
    if (look.texture) {
      const [u0, v0] = look.uv_low;
      const [width, height] = [look.uv_high[0] - u0 || 1, look.uv_high[1] - v0 || 1];
      this.#texture = new THREE.TextureLoader().load(look.texture, onReady);
      this.#texture.colorSpace = THREE.SRGBColorSpace;
      this.#texture.anisotropy = 8;
      this.#texture.repeat.set(1 / width, 1 / height);
      this.#texture.offset.set(-u0 / width, -v0 / height);
    }
    this.#paint();
  }

  set colouring(colouring: Colouring) {
    this.#colouring = colouring;
    this.#paint();
  }

  /** Shows or hides the sheet itself: cloth that is drawn as yarns has none. */
  set sheet(shown: boolean) {
    this.#mesh.visible = shown;
    this.#torn.visible = shown;
    this.#wire.visible = shown && this.#colouring === "wire";
  }

  update(frame: Frame) {
    this.points = frame.points;
    this.vertexCount = frame.points.length / 3;
    if (this.vertexCount > this.#room) this.#grow();
    this.#put("position", frame.points);
    this.#put("normal", frame.normals);
    const coloured = frame.shade.length === this.vertexCount && this.#values();
    if (coloured) {
      const colour = this.#geometry.getAttribute("color") as THREE.BufferAttribute;
      if (frame.colouring === "pieces") byPiece(frame.shade, colour.array as Float32Array);
      else if (frame.colouring !== "fabric") byValue(frame.colouring, frame.shade, colour.array as Float32Array);
      colour.needsUpdate = true;
    }
    if (frame.topology) {
      this.triangles = frame.topology.triangles;
      this.#put("uv", frame.topology.uv);
      this.#geometry.setIndex(new THREE.BufferAttribute(frame.topology.triangles, 1));
      this.#heldGeometry.setIndex(new THREE.BufferAttribute(frame.topology.held, 1));
      this.heldCount = frame.topology.held.length;
      this.#wireStale = true;
    }
    if (this.#colouring === "wire" && this.#wireStale) this.#rewire();
    this.lips.update(frame);
  }

  /** Whether colours show values per vertex. */
  #values(): boolean {
    return this.#colouring !== "fabric" && this.#colouring !== "checker" && this.#colouring !== "wire";
  }

  #paint() {
    const { material } = this.#mesh;
    const values = this.#values();
    const picture = this.#colouring === "fabric" && this.#texture;
    const plain = this.#colouring === "fabric" && !this.#texture;
    if (values) material.color.setRGB(1, 1, 1);
    else if (this.#colouring === "wire") material.color.setRGB(0.83, 0.84, 0.84);
    else if (picture) material.color.setRGB(1, 1, 1);
    else material.color.setRGB(...this.#front);
    this.#uniforms.backColour.value.setRGB(...this.#back);
    this.#uniforms.backShade.value = picture ? 0.8 : 0.94;
    this.#uniforms.pattern.value = plain ? 1 : this.#colouring === "checker" ? 2 : 0;
    material.sheenColor.setRGB(...(plain ? lerp(this.#front, [1, 1, 1], 0.4) : ([0.6, 0.6, 0.6] as Rgb)));
    // Colours that stand for values stay as they are.
    material.sheen = values ? 0 : 0.5;
    const map = picture || null;
    if (material.map !== map || material.vertexColors !== values) material.needsUpdate = true;
    material.map = map;
    material.vertexColors = values;
    this.#wire.visible = this.#mesh.visible && this.#colouring === "wire";
    if (this.#colouring === "wire" && this.#wireStale) this.#rewire();
  }

  /** Makes room for more vertices than there are, since tears make new ones all the time. */
  #grow() {
    this.#room = Math.ceil(this.vertexCount * 1.4) + 1;
    for (const geometry of [this.#geometry, this.#wireGeometry, this.#heldGeometry]) geometry.dispose();
    const attribute = (size: number) =>
      new THREE.BufferAttribute(new Float32Array(this.#room * size), size).setUsage(THREE.DynamicDrawUsage) as THREE.BufferAttribute;
    const uv = this.#geometry.getAttribute("uv") as THREE.BufferAttribute | undefined;
    const position = attribute(3);
    this.#geometry.setAttribute("position", position);
    this.#geometry.setAttribute("normal", attribute(3));
    this.#geometry.setAttribute("color", attribute(3));
    this.#geometry.setAttribute("uv", attribute(2));
    if (uv) this.#put("uv", uv.array as Float32Array);
    this.#wireGeometry.setAttribute("position", position);
    this.#heldGeometry.setAttribute("position", position);
  }

  #put(name: string, values: Float32Array) {
    const attribute = this.#geometry.getAttribute(name) as THREE.BufferAttribute;
    (attribute.array as Float32Array).set(values);
    attribute.needsUpdate = true;
  }

  #rewire() {
    const { triangles } = this;
    const edges = new Uint32Array(triangles.length * 2);
    for (let t = 0; t < triangles.length; t += 3) {
      const [a, b, c] = [triangles[t], triangles[t + 1], triangles[t + 2]];
      edges.set([a, b, b, c, c, a], 2 * t);
    }
    this.#wireGeometry.setIndex(new THREE.BufferAttribute(edges, 1));
    this.#wireStale = false;
  }
}

/** A round dot, for points that would be square. */
function dot(): THREE.CanvasTexture {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = 32;
  const context = canvas.getContext("2d");
  if (context) {
    context.fillStyle = "#fff";
    context.arc(16, 16, 15, 0, 2 * Math.PI);
    context.fill();
  }
  return new THREE.CanvasTexture(canvas);
}
