// Small things for the interface.

/** The element with an id, which index.html has. */
export function get<T extends Element = HTMLElement>(id: string): T {
  const element = document.getElementById(id);
  if (!element) throw new Error(`index.html has no #${id}`);
  return element as unknown as T;
}

/** A new element with properties and children. */
export function make<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  properties: Partial<Omit<HTMLElementTagNameMap[K], "style" | "dataset">> = {},
  ...children: (Node | string)[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  Object.assign(element, properties);
  element.append(...children);
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function makeSvg<K extends keyof SVGElementTagNameMap>(tag: K, attributes: Record<string, string | number> = {}): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, String(value));
  return element;
}

/** One of the drawings in index.html. */
export function icon(name: string): SVGSVGElement {
  const svg = makeSvg("svg", { class: "icon", "aria-hidden": "true" });
  svg.append(makeSvg("use", { href: `#i-${name}` }));
  return svg;
}

/** Fills a menu, with a first entry if none of its choices is the present one; says whether there is anything to choose. */
export function fill(select: HTMLSelectElement, choices: { name: string; label: string }[], now: string | null, none = "as in the scene"): boolean {
  const known = choices.some((choice) => choice.name === now);
  const all = known ? choices : [{ name: "", label: none }, ...choices];
  select.replaceChildren(...all.map(({ name, label }) => make("option", { value: name, textContent: label })));
  select.value = known && now ? now : "";
  return choices.length > 0;
}

/** Three digits are enough for anyone. */
export function short(value: number): string {
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  return size >= 100 ? value.toFixed(0) : size >= 10 ? value.toFixed(1) : value.toFixed(2);
}
