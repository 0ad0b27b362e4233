// A small picture of plain weave, laid over and over on the cloth: how high the threads are, for the light to catch.

import * as THREE from "three";

/** Pixels along the tile, which has two threads each way. */
const SIZE = 64;

/** Height of plain weave at a place of the tile, 0 to 1: warps and wefts go over each other by turns. */
function height(x: number, y: number): number {
  const thread = (t: number) => Math.sqrt(Math.max(0, 1 - (2 * (t - Math.floor(t)) - 1) ** 2));
  const warpOver = (Math.floor(2 * x) + Math.floor(2 * y)) % 2 === 0;
  const wave = (t: number) => 0.5 - 0.5 * Math.cos(2 * Math.PI * t);
  const along = warpOver ? 2 * y : 2 * x;
  const across = warpOver ? 2 * x : 2 * y;
  return thread(across) * (0.35 + 0.65 * wave(along));
}

export function weave(): THREE.CanvasTexture {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = SIZE;
  const context = canvas.getContext("2d");
  if (!context) throw new Error("this browser has no 2D canvas");
  const picture = context.createImageData(SIZE, SIZE);
  for (let y = 0; y < SIZE; y++) {
    for (let x = 0; x < SIZE; x++) {
      const value = 255 * height((x + 0.5) / SIZE, (y + 0.5) / SIZE);
      picture.data.set([value, value, value, 255], (y * SIZE + x) * 4);
    }
  }
  context.putImageData(picture, 0, 0);
  const texture = new THREE.CanvasTexture(canvas);
  texture.wrapS = texture.wrapT = THREE.RepeatWrapping;
  texture.anisotropy = 8;
  return texture;
}
