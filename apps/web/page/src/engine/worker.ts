// The worker that owns the engine. It steps in time with the clock, answers the page between steps, and sends a picture of the cloth when
// the page wants one: the page asks again only after it has drawn the last, so never more than one is on its way.

import type { EngineColouring, Frame, FromWorker, RequestName, Requests, ToWorker, Trouble } from "./protocol";
import { compile, type Engine, Refusal, start } from "./wasm";

/** Work after which a picture is sent even if the clock is ahead [ms]. */
const TURN = 25;
/** Steps that are so short are done several at once, up to this [ms]; what the page asks for waits no longer. */
const BATCH = 6;
/** The clock may be ahead by so much [s of the clock]; what is more is let go, and the scene runs slower. */
const PATIENCE = 0.1;

/** Requests after which the cloth looks the same. */
const SILENT = new Set<RequestName>(["frame", "bodies", "pick", "export", "hash", "drag", "wind"]);

let module: WebAssembly.Module | null = null;
let engine: Engine | null = null;

let running = false;
let speed = 1;
/** Length of a step [s]. */
let step = 1 / 60;
/** Simulated time that the clock is ahead [s]. */
let owed = 0;
let clock = performance.now();
/** Estimated time of a step [ms]. */
let cost = 1;

let wanted: EngineColouring | null = null;
/** Something to see has changed since the last picture. */
let fresh = false;
/** Version of the mesh that the page has. */
let known = -1;
/** Work since the last picture [ms]. */
let work = 0;

let longestStep = 0;
let longestWait = 0;
let stepped = 0;
let steppedIn = 0;
let dropped = 0;
let due = 0;

function send(message: FromWorker, transfer: Transferable[] = []) {
  self.postMessage(message, { transfer });
}

// A timer of a browser waits 4 ms and more; a message to oneself comes at once, but after what the page has sent.
const bell = new MessageChannel();
let rung = false;
bell.port1.onmessage = () => {
  rung = false;
  turn();
};
function ring() {
  if (rung) return;
  rung = true;
  bell.port2.postMessage(null);
}

let alarm: ReturnType<typeof setTimeout> | null = null;
/** Comes back when the next step is due. */
function wait() {
  if (alarm !== null) return;
  const ms = Math.max(1, ((step - owed) / speed) * 1000);
  alarm = setTimeout(() => {
    alarm = null;
    ring();
  }, Math.min(ms, 250));
}

function turn() {
  if (!engine) return;
  const now = performance.now();
  const passed = ((now - clock) / 1000) * speed;
  clock = now;
  if (running) {
    owed += passed;
    due += passed;
    const most = Math.max(PATIENCE * speed, step);
    if (owed > most) {
      dropped += owed - most;
      owed = most;
    }
    const count = Math.min(Math.floor(owed / step + 1e-9), Math.max(1, Math.floor(BATCH / cost)));
    if (count > 0) doSteps(engine, count);
  }
  const behind = running && owed >= step;
  if (wanted && fresh && (!behind || work >= TURN)) picture(engine, wanted);
  if (!running) return;
  if (behind) ring();
  else wait();
}

function doSteps(engine: Engine, count: number) {
  const begin = performance.now();
  try {
    engine.ask("step", { count });
  } catch (error) {
    running = false;
    const { trouble, fatal } = refusal(error);
    send({ kind: "failed", trouble, fatal });
  }
  const took = performance.now() - begin;
  owed -= count * step;
  cost = 0.7 * cost + 0.3 * (took / count);
  longestStep = Math.max(longestStep, took / count);
  stepped += count;
  steppedIn += took;
  work += took;
  fresh = true;
}

function picture(engine: Engine, colouring: EngineColouring) {
  wanted = null;
  fresh = false;
  work = 0;
  let frame: Frame;
  try {
    const figures = engine.ask("frame", { colouring, known });
    const floats = (which: number) => new Float32Array(engine.part(which));
    const whole = (which: number) => new Uint32Array(engine.part(which));
    frame = {
      ...figures,
      colouring,
      points: floats(0),
      normals: floats(1),
      shade: floats(2),
      topology: figures.changed ? { triangles: whole(3), uv: floats(4), lips: whole(5), held: whole(6) } : null,
      yarn: figures.yarns ? { points: floats(7), curves: whole(8), loose: new Uint8Array(engine.part(9)) } : null,
    };
  } catch (error) {
    running = false;
    const { trouble, fatal } = refusal(error);
    send({ kind: "failed", trouble, fatal });
    return;
  }
  known = frame.version;
  const views = [frame.points, frame.normals, frame.shade, ...Object.values(frame.topology ?? {}), ...Object.values(frame.yarn ?? {})];
  const times = {
    longestStep,
    longestWait,
    meanStep: stepped > 0 ? steppedIn / stepped : 0,
    memory: engine.memory(),
    pace: due > 0 ? Math.max(0, 1 - dropped / due) : 1,
  };
  longestStep = longestWait = stepped = steppedIn = dropped = due = 0;
  send({ kind: "frame", frame, times }, views.map((view) => (view as Float32Array).buffer as ArrayBuffer));
}

function refusal(error: unknown): { trouble: Trouble; fatal: boolean } {
  if (error instanceof Refusal) return { trouble: error.trouble, fatal: error.fatal };
  const text = String(error);
  return { trouble: { text: `error: ${text}`, file: null, line: null, cause: text, advice: "" }, fatal: true };
}

/** A scene starts in a fresh engine; one that can't be loaded leaves the last as it was. */
async function load(request: Requests["load"]["with"]): Promise<object> {
  if (!module) throw new Error("the engine isn't there");
  const next = await start(module);
  const loaded = next.ask("load", request);
  engine = next;
  return loaded;
}

/** After what puts the scene back to a beginning. */
function begun(loaded: Requests["load"]["gives"]) {
  step = loaded.step;
  owed = 0;
  clock = performance.now();
  cost = 1;
  known = -1;
}

async function answer(id: number, name: RequestName, request: object) {
  try {
    let reply: object;
    if (name === "load") {
      reply = await load(request as Requests["load"]["with"]);
    } else {
      if (!engine) throw new Error("there is no scene yet");
      reply = engine.ask(name, request as never);
    }
    if ("options" in reply) begun(reply as Requests["load"]["gives"]);
    if (name === "rewind") known = -1;
    if (!SILENT.has(name)) fresh = true;
    send({ kind: "answer", id, reply });
  } catch (error) {
    send({ kind: "refusal", id, ...refusal(error) });
  }
  ring();
}

// One after the other, in the order in which they came: loading waits for the engine to be made.
let queue: Promise<void> = Promise.resolve();

self.onmessage = (event: MessageEvent<ToWorker>) => {
  const message = event.data;
  switch (message.kind) {
    case "open":
      queue = queue.then(async () => {
        try {
          module = typeof message.engine === "string" ? await compile(message.engine) : message.engine;
          send({ kind: "open", trouble: null, engine: module });
        } catch (error) {
          send({ kind: "open", trouble: refusal(error).trouble });
        }
      });
      break;
    case "ask":
      longestWait = Math.max(longestWait, performance.timeOrigin + performance.now() - message.sent);
      queue = queue.then(() => answer(message.id, message.name, message.request));
      break;
    case "clock":
      if (message.running && !running) {
        clock = performance.now();
        owed = 0;
      }
      running = message.running;
      speed = message.speed;
      ring();
      break;
    case "want":
      wanted = message.colouring;
      fresh ||= message.again;
      ring();
      break;
  }
};
