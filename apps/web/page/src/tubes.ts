// Thin round threads, many at once: yarns, fibres, the rim of a tear. Every piece from point to point is one instance of a tube, which finds its
// two ends and their neighbours in one list of points, so that nothing but the points has to be sent to the graphics card.

import * as THREE from "three";

/** Numbers per point: x, y, z and radius; a negative radius marks the last point of a thread. */
export const STRIDE = 4;

const SHAPE = /* glsl */ `
attribute vec4 before;
attribute vec4 start;
attribute vec4 end;
attribute vec4 after;

vec3 threadNormal;

vec3 threadPoint() {
  bool atEnd = position.x > 0.5;
  vec4 at = atEnd ? end : start;
  // At the ends of a thread there is no neighbour beyond.
  vec3 from = atEnd ? start.xyz : (before.w < 0.0 ? start.xyz : before.xyz);
  vec3 to = atEnd ? (end.w < 0.0 ? end.xyz : after.xyz) : end.xyz;
  vec3 along = to - from;
  along = dot(along, along) > 0.0 ? normalize(along) : vec3(0.0, 1.0, 0.0);
  vec3 side = normalize(cross(along, vec3(0.31, 0.17, 0.935)));
  threadNormal = side * position.y + cross(side, along) * position.z;
  // From the last point of a thread to the first of the next there is nothing.
  return start.w < 0.0 ? vec3(0.0) : at.xyz + threadNormal * abs(at.w);
}
`;

function reshape(shader: { vertexShader: string }) {
  shader.vertexShader = shader.vertexShader
    .replace("#include <common>", `#include <common>\n${SHAPE}`)
    .replace("#include <beginnormal_vertex>", "threadPoint();\nvec3 objectNormal = threadNormal;")
    .replace("#include <begin_vertex>", "vec3 transformed = threadPoint();");
}

/** An open tube of so many sides: x says which end, y and z are the direction around it. */
function tube(sides: number): { places: Float32Array; triangles: number[] } {
  const places = new Float32Array(sides * 2 * 3);
  const triangles: number[] = [];
  for (let i = 0; i < sides; i++) {
    const angle = (i / sides) * 2 * Math.PI;
    for (const end of [0, 1]) places.set([end, Math.cos(angle), Math.sin(angle)], (2 * i + end) * 3);
    const [a, b] = [2 * i, (2 * i + 2) % (2 * sides)];
    triangles.push(a, a + 1, b, b, a + 1, b + 1);
  }
  return { places, triangles };
}

export class Tubes {
  readonly mesh: THREE.Mesh;
  /** What is to be drawn: points from number 1 on (0 is padding), and a colour for each. Fill, then call `draw`. */
  points = new Float32Array(0);
  colours = new Uint8Array(0);

  #geometry = new THREE.InstancedBufferGeometry();
  #buffer: THREE.InstancedInterleavedBuffer | null = null;
  #colour: THREE.InstancedBufferAttribute | null = null;

  constructor(sides: number, material: THREE.MeshStandardMaterial) {
    const { places, triangles } = tube(sides);
    this.#geometry.setAttribute("position", new THREE.BufferAttribute(places, 3));
    // Never read, but without normals three would shade every triangle flat.
    this.#geometry.setAttribute("normal", new THREE.BufferAttribute(new Float32Array(places.length), 3));
    this.#geometry.setIndex(triangles);
    this.#geometry.instanceCount = 0;
    material.vertexColors = true;
    material.side = THREE.DoubleSide;
    material.onBeforeCompile = reshape;
    const depth = new THREE.MeshDepthMaterial();
    depth.onBeforeCompile = reshape;
    this.mesh = new THREE.Mesh(this.#geometry, material);
    this.mesh.customDepthMaterial = depth;
    this.mesh.castShadow = true;
    this.mesh.receiveShadow = true;
    // Its places are known to the graphics card only.
    this.mesh.frustumCulled = false;
  }

  /** Makes room for so many points. */
  room(count: number) {
    if (this.points.length >= (count + 3) * STRIDE) return;
    const size = Math.ceil(count * 1.5) + 3;
    this.points = new Float32Array(size * STRIDE);
    this.points[3] = -1;
    this.colours = new Uint8Array(size * 4);
    // The old buffers on the card are let go with the geometry's record of them.
    this.#geometry.dispose();
    this.#buffer = new THREE.InstancedInterleavedBuffer(this.points, STRIDE).setUsage(THREE.DynamicDrawUsage) as THREE.InstancedInterleavedBuffer;
    for (const [i, name] of ["before", "start", "end", "after"].entries()) {
      // Overlapping views: instance i sees the points i to i + 3.
      this.#geometry.setAttribute(name, new THREE.InterleavedBufferAttribute(this.#buffer, STRIDE, i * STRIDE));
    }
    this.#colour = new THREE.InstancedBufferAttribute(this.colours, 4, true).setUsage(THREE.DynamicDrawUsage) as THREE.InstancedBufferAttribute;
    this.#geometry.setAttribute("color", this.#colour);
  }

  /** Draws the first `count` points; colour i belongs to the piece that begins at point i + 1. */
  draw(count: number) {
    this.mesh.visible = count > 1;
    this.#geometry.instanceCount = Math.max(0, count - 1);
    if (this.#buffer) this.#buffer.needsUpdate = true;
    if (this.#colour) this.#colour.needsUpdate = true;
  }
}
