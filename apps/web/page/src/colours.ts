// Colours as in the pictures of the command line: ordered maps in Oklch, whose lightness falls all the way, and pieces a golden angle apart.
// All values are linear light.

export type Rgb = [number, number, number];

function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const h = (hue * Math.PI) / 180;
  const [a, b] = [chroma * Math.cos(h), chroma * Math.sin(h)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  const clamp = (x: number) => Math.min(1, Math.max(0, x));
  return [
    clamp(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    clamp(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    clamp(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

type Stops = [number, number, number][];

/** Ivory, yellow, orange, red, plum. */
const HEAT: Stops = [[0.94, 0.03, 95], [0.82, 0.16, 82], [0.66, 0.2, 48], [0.5, 0.19, 22], [0.31, 0.13, -12]];
/** Ivory, green, blue, indigo. */
const TIDE: Stops = [[0.94, 0.03, 110], [0.82, 0.12, 145], [0.66, 0.12, 190], [0.48, 0.13, 245], [0.29, 0.13, 285]];

const STEPS = 256;

function table(stops: Stops): Float32Array {
  const colours = new Float32Array((STEPS + 1) * 3);
  for (let i = 0; i <= STEPS; i++) {
    const x = (i / STEPS) * (stops.length - 1);
    const k = Math.min(Math.floor(x), stops.length - 2);
    const mix = (c: number) => stops[k][c] + (stops[k + 1][c] - stops[k][c]) * (x - k);
    colours.set(oklch(mix(0), mix(1), mix(2)), i * 3);
  }
  return colours;
}

const TABLES = { strain: table(HEAT), plastic: table(TIDE), map: table(HEAT) };

/** Colours of a value in 0..1 per vertex, into `out` (three numbers each). */
export function byValue(which: keyof typeof TABLES, shade: Float32Array, out: Float32Array) {
  const colours = TABLES[which];
  for (let i = 0; i < shade.length; i++) {
    // A strength map is dark where the cloth is weak, as the brush paints it.
    const value = which === "map" ? 1 - shade[i] : shade[i];
    const at = Math.round(Math.min(1, Math.max(0, value)) * STEPS) * 3;
    out[3 * i] = colours[at];
    out[3 * i + 1] = colours[at + 1];
    out[3 * i + 2] = colours[at + 2];
  }
}

const PIECES = 360;
const PIECE_COLOURS = new Float32Array(PIECES * 3);
for (let id = 0; id < PIECES; id++) PIECE_COLOURS.set(oklch([0.7, 0.6, 0.79][id % 3], 0.125, 35 + 137.50777 * id), id * 3);

/** Colours of the numbers of pieces. */
export function byPiece(shade: Float32Array, out: Float32Array) {
  for (let i = 0; i < shade.length; i++) {
    const at = (Math.round(shade[i]) % PIECES) * 3;
    out[3 * i] = PIECE_COLOURS[at];
    out[3 * i + 1] = PIECE_COLOURS[at + 1];
    out[3 * i + 2] = PIECE_COLOURS[at + 2];
  }
}

/** The colours of a map as CSS, for its legend. */
export function legend(which: "strain" | "plastic" | "map"): string {
  const stops = which === "plastic" ? TIDE : HEAT;
  const colours = stops.map(([l, c, h]) => `oklch(${l} ${c} ${h})`);
  if (which === "map") colours.reverse();
  return `linear-gradient(to right, ${colours.join(", ")})`;
}

export function lerp(a: Rgb, b: Rgb, t: number): Rgb {
  return [a[0] + (b[0] - a[0]) * t, a[1] + (b[1] - a[1]) * t, a[2] + (b[2] - a[2]) * t];
}

/** A colour of the web, 0xrrggbb, as linear light. */
export function srgb(hex: number): Rgb {
  const channel = (shift: number) => decode(((hex >> shift) & 255) / 255);
  return [channel(16), channel(8), channel(0)];
}

/** A colour of a scene file, which is as on a screen. */
export function linear(colour: Rgb): Rgb {
  return [decode(colour[0]), decode(colour[1]), decode(colour[2])];
}

function decode(c: number): number {
  return c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
}
