// The settings: variant, fabric, how it tears, wind, colours. Menus offer only what fits the cloth.

import type { App } from "./app";
import type { Colouring } from "./cloth";
import { fill, get, short } from "./dom";
import { Latest } from "./engine/client";
import type { Loaded, SetValues, Vec3 } from "./engine/protocol";

const COLOURINGS: [Colouring, string][] = [
  ["fabric", "Fabric"],
  ["checker", "Checker"],
  ["strain", "Strain"],
  ["plastic", "Plastic strain"],
  ["pieces", "Pieces"],
  ["map", "Strength map"],
  ["wire", "Mesh"],
];

export function panel(app: App) {
  scene(app);
  cloth(app);
  wind(app);
  view(app);
  openAndClose(app);
}

function scene(app: App) {
  const variant = get<HTMLSelectElement>("variant");
  variant.onchange = () => {
    if (app.scene) void app.load(app.scene, app.path, { variant: variant.value });
  };
  get("home").onclick = () => app.view.home();
  app.on("loaded", (loaded) => {
    get("title").textContent = get("title").title = loaded.title;
    get("source").textContent = loaded.source;
    document.title = `${loaded.title} · ripstop`;
    fill(variant, loaded.variants.map((name) => ({ name, label: name })), loaded.variant);
    get("row-variant").hidden = loaded.variants.length === 0;
    const warnings = get("warnings");
    warnings.hidden = loaded.warnings.length === 0;
    warnings.textContent = loaded.warnings.join("\n");
  });
}

function cloth(app: App) {
  const menus = { fabric: "fabrics", criterion: "criteria", opening: "openings" } as const;
  for (const key of Object.keys(menus) as (keyof typeof menus)[]) {
    const select = get<HTMLSelectElement>(key);
    select.onchange = async () => {
      const values: SetValues = { [key]: select.value };
      // What was refused must not look chosen.
      if (!(await app.set(values)) && app.loaded) show(app.loaded);
    };
  }
  const strength = get<HTMLInputElement>("strength");
  const out = get("strength-out");
  const factor = () => 2 ** Number(strength.value);
  const write = () => {
    out.textContent = `× ${short(factor())}`;
    strength.setAttribute("aria-valuetext", `${short(factor())} times`);
  };
  strength.oninput = write;
  strength.onchange = async () => {
    if (!(await app.set({ strength: factor() })) && app.loaded) show(app.loaded);
  };

  const show = ({ options, kind }: Loaded) => {
    const { now, can } = options;
    const rows = { fabric: can.fabric, criterion: can.tear_menus, opening: can.tear_menus };
    for (const key of Object.keys(menus) as (keyof typeof menus)[]) {
      const any = fill(get<HTMLSelectElement>(key), options[menus[key]], now[key], key === "criterion" ? "never" : undefined);
      get(`row-${key}`).hidden = !any || !rows[key];
    }
    get("row-strength").hidden = !can.tear_menus && kind !== "woven";
    strength.value = String(Math.log2(now.strength > 0 ? now.strength : 1));
    write();
    get("cloth-note").hidden = kind !== "woven";
  };
  app.on("loaded", show);
}

function wind(app: App) {
  const speed = get<HTMLInputElement>("wind");
  const from = get<HTMLInputElement>("wind-from");
  const out = get("wind-out");
  const arrow = get("wind-arrow");
  const send = new Latest((velocity: Vec3) => app.blow(velocity));
  let up = 0;

  const write = () => {
    out.textContent = `${short(Number(speed.value))} m/s`;
    const angle = Number(from.value);
    arrow.querySelector("svg")?.setAttribute("style", `transform: rotate(${angle}deg)`);
    const words = ["away", "away to the right", "to the right", "towards you, right", "towards you"];
    const word = words[Math.round(Math.abs(angle) / 45)];
    from.setAttribute("aria-valuetext", angle < 0 ? word.replace("right", "left") : word);
  };
  const blow = () => {
    write();
    const angle = (Number(from.value) * Math.PI) / 180;
    const strength = Number(speed.value);
    send.put([Math.sin(angle) * strength, up, -Math.cos(angle) * strength]);
  };
  speed.oninput = blow;
  from.oninput = blow;

  app.on("loaded", ({ options }) => {
    const [x, y, z] = app.wind ?? options.now.wind;
    up = y;
    const level = Math.hypot(x, z);
    // A scene's wind may be stronger than what one would choose here.
    speed.max = String(Math.max(20, Math.ceil(level)));
    speed.value = String(level);
    if (level > 0) from.value = String((Math.atan2(x, -z) * 180) / Math.PI);
    write();
  });
}

function view(app: App) {
  const colouring = get<HTMLSelectElement>("colouring");
  colouring.onchange = () => app.colour(colouring.value as Colouring);
  app.on("loaded", ({ kind, options }) => {
    const woven = kind === "woven";
    const fit = COLOURINGS.filter(([name]) => (name === "map" ? options.can.paint || options.can.tear_menus : !(woven && name === "plastic")));
    const choices = fit.map(([name, label]) => ({ name, label: woven && name === "fabric" ? "Yarns" : label }));
    if (!choices.some(({ name }) => name === app.colouring)) app.colour("fabric");
    fill(colouring, choices, app.colouring);
  });
  app.on("colouring", (now) => (colouring.value = now));
}

/** Narrow windows have the settings in a sheet that covers the lower part. */
export const NARROW = "(max-width: 46rem), (max-height: 26rem)";

function openAndClose(app: App) {
  const box = get("panel");
  const toggle = get("toggle-panel");
  const narrow = matchMedia(NARROW);

  const measure = () => {
    const covers = (id: string) => get(id).getBoundingClientRect();
    const wide = !narrow.matches;
    const insets = {
      left: wide ? covers("tools").right : 0,
      right: wide && !box.hidden ? window.innerWidth - covers("panel").left : 0,
      top: wide ? 0 : covers("counters").bottom,
      bottom: window.innerHeight - covers(wide ? "transport" : box.hidden ? "dock" : "panel").top,
    };
    app.view.insets = insets;
  };
  const open = (shown: boolean) => {
    box.hidden = !shown;
    toggle.ariaExpanded = String(shown);
    measure();
  };
  toggle.onclick = () => {
    open(box.hidden !== false);
    if (!box.hidden && narrow.matches) get("close-panel").focus();
  };
  get("close-panel").onclick = () => {
    open(false);
    toggle.focus();
  };
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape" && narrow.matches) get("close-panel").click();
  });
  narrow.onchange = () => open(!narrow.matches);
  window.addEventListener("resize", measure);
  open(!narrow.matches);
}
