// What the page and the engine say to each other. Lengths are in metres, times in seconds, y is up.

export type Vec3 = [number, number, number];

export interface Ray {
  origin: Vec3;
  direction: Vec3;
}

/** A file that a scene names, beside it. */
export interface NamedFile {
  name: string;
  /** base64 */
  data: string;
}

/** A scene file and what it needs. */
export interface SceneFile {
  name: string;
  text: string;
  files: NamedFile[];
}

export interface Body {
  name: string;
  colour: Vec3 | null;
  /** x, y, z of every point, in the body's own frame. */
  points: number[];
  triangles: number[];
  /** False: it comes later. */
  there: boolean;
}

export interface Choice {
  name: string;
  label: string;
}

/** What can be chosen for this cloth, and what is chosen now. */
export interface Options {
  fabrics: Choice[];
  criteria: Choice[];
  openings: Choice[];
  now: { fabric: string | null; criterion: string | null; opening: string | null; strength: number; wind: Vec3; map: string | null };
  can: { cut: boolean; paint: boolean; tear_menus: boolean; fabric: boolean; throw: boolean };
}

export interface Look {
  colour: Vec3 | null;
  weft_colour: Vec3 | null;
  /** Height of the floor. */
  floor: number | null;
  /** Picture on the cloth, as a data URL. */
  texture: string | null;
  uv_low: [number, number];
  uv_high: [number, number];
}

/** A scene at time zero. */
export interface Loaded {
  title: string;
  source: string;
  kind: "sheet" | "woven";
  name: string;
  variant: string | null;
  variants: string[];
  duration: number;
  step: number;
  fps: number;
  steps_per_frame: number;
  low: Vec3;
  high: Vec3;
  camera: { eye: Vec3; target: Vec3; angle: number } | null;
  look: Look;
  warnings: string[];
  bodies: Body[];
  options: Options;
  /** Mean edge; of woven cloth the distance of its yarns. */
  spacing: number;
  thickness: number;
}

export interface GripNow {
  name: string;
  /** Which hand of the page, or null for a grip of the scene. */
  hand: number | null;
  /** [N] */
  load: number;
  /** Where the hand is; null for a grip of the scene. */
  at: Vec3 | null;
}

/** What the engine measures for the shader; wire and yarns are drawn from what is there anyway. */
export type EngineColouring = "fabric" | "strain" | "plastic" | "pieces" | "map";

/** The figures of a frame. */
export interface FrameFigures {
  time: number;
  step: number;
  nodes: number;
  faces: number;
  tears: number;
  pieces: number;
  version: number;
  changed: boolean;
  largest_strain: number;
  /** Milliseconds by stage since the frame before. */
  stages: Record<string, number>;
  /** Steps since the frame before. */
  steps: number;
  grips: GripNow[];
  /** Place and turn (quaternion) of every body: seven numbers each. */
  bodies: number[];
  body_count: number;
  yarns: boolean;
}

/** The parts that change only with the mesh. */
export interface Topology {
  triangles: Uint32Array;
  /** Material coordinates [m]: u along the weft, v along the warp. */
  uv: Float32Array;
  /** Torn border edges a→b with the cloth on their left. */
  lips: Uint32Array;
  held: Uint32Array;
}

export interface YarnParts {
  points: Float32Array;
  /** First point, count, warp (0 or 1), number of the yarn. */
  curves: Uint32Array;
  /** Per point: 0 in whole cloth, 1 in a couple, 2 free. */
  loose: Uint8Array;
}

/** A picture of the cloth at one moment. */
export interface Frame extends FrameFigures {
  colouring: EngineColouring;
  points: Float32Array;
  normals: Float32Array;
  shade: Float32Array;
  /** Null where the mesh is as in the frame before. */
  topology: Topology | null;
  yarn: YarnParts | null;
}

/** An error in the words of the command line. */
export interface Trouble {
  text: string;
  file: string | null;
  line: number | null;
  cause: string;
  advice: string;
}

export type ExportKind = "toml" | "obj" | "usda";

export interface SetValues {
  fabric?: string;
  criterion?: string;
  opening?: string;
  strength?: number;
  /** A picture as a data URL. */
  map?: string;
}

/** Every request, by its name, with what it gives back. */
export interface Requests {
  load: { with: SceneFile & { variant: string | null }; gives: Loaded };
  step: { with: { count: number }; gives: { time: number; step: number; torn: number } };
  frame: { with: { colouring: EngineColouring; known: number }; gives: FrameFigures };
  bodies: { with: object; gives: { bodies: Body[] } };
  grab: { with: { hand: number; ray: Ray }; gives: { at: Vec3 | null } };
  drag: { with: { hand: number; to: Vec3 }; gives: object };
  release: { with: { hand: number }; gives: object };
  pick: { with: { ray: Ray }; gives: { at: Vec3 | null; uv?: [number, number]; held?: boolean } };
  pin: { with: { ray: Ray }; gives: { pinned: boolean | null } };
  cut: { with: { rays: Ray[] }; gives: { stretches: number } };
  throw: { with: { ray: Ray; radius: number; mass: number; speed: number }; gives: { bodies: Body[] } };
  wind: { with: { velocity: Vec3 }; gives: object };
  set: { with: SetValues; gives: Loaded };
  paint: { with: { ray: Ray; radius: number; strength: number }; gives: { painted: boolean } };
  paint_end: { with: object; gives: Loaded };
  paint_clear: { with: object; gives: Loaded };
  restart: { with: object; gives: Loaded };
  rewind: { with: { seconds: number }; gives: { time: number } };
  export: { with: { what: ExportKind }; gives: { name: string; text: string } };
  hash: { with: object; gives: { hash: string; step: number } };
}

export type RequestName = keyof Requests;

/** From the page to the worker. */
export type ToWorker =
  /** Where the engine is, or itself, if another worker has compiled it. */
  | { kind: "open"; engine: string | WebAssembly.Module }
  /** `sent` is when, by a clock that both threads share [ms]. */
  | { kind: "ask"; id: number; name: RequestName; request: object; sent: number }
  | { kind: "clock"; running: boolean; speed: number }
  | { kind: "want"; colouring: EngineColouring; again: boolean };

/** What the worker's time goes into, since the last frame. */
export interface WorkerTimes {
  /** Longest step [ms]. */
  longestStep: number;
  /** Mean step since the last frame [ms]. */
  meanStep: number;
  /** Longest that a request waited to be taken up [ms]. */
  longestWait: number;
  /** Size of the engine's memory [bytes]. */
  memory: number;
  /** Share of the time on the clock that was kept up with, 0 to 1. */
  pace: number;
}

/** From the worker to the page. */
export type FromWorker =
  | { kind: "open"; trouble: null; engine: WebAssembly.Module }
  | { kind: "open"; trouble: Trouble }
  | { kind: "answer"; id: number; reply: object }
  | { kind: "refusal"; id: number; trouble: Trouble; fatal: boolean }
  | { kind: "frame"; frame: Frame; times: WorkerTimes }
  | { kind: "failed"; trouble: Trouble; fatal: boolean };
