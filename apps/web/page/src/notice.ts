// Messages: short ones that go away, and errors that stay until they are closed.

import { get, icon, make } from "./dom";
import type { Trouble } from "./engine/protocol";

export interface Way {
  label: string;
  go: () => void;
}

const list = get("notices");

function close(notice: HTMLElement): HTMLButtonElement {
  const button = make("button", { type: "button", className: "plain small", ariaLabel: "Dismiss", onclick: () => notice.remove() });
  button.append(icon("close"));
  return button;
}

/** A line that goes away by itself. */
export function tell(text: string) {
  // The same again only stays longer.
  for (const old of list.querySelectorAll(".brief")) if (old.textContent === text) old.remove();
  const notice = make("p", { className: "notice brief" }, text);
  list.append(notice);
  setTimeout(() => notice.remove(), 3500);
}

/** An error as the command line prints it, with its place, cause and advice, and ways out. */
export function complain(what: string, trouble: Trouble, ways: Way[] = []) {
  const notice = make("section", { className: "notice error", role: "alert" });
  const place = trouble.file ? `${trouble.file}${trouble.line === null ? "" : `, line ${trouble.line}`}` : "";
  notice.append(make("header", {}, make("strong", {}, what), close(notice)));
  if (place) notice.append(make("p", { className: "place" }, place));
  notice.append(make("pre", { tabIndex: 0 }, trouble.text.trimEnd()));
  // Cause and advice are in the text too; the advice is worth a line that wraps.
  if (trouble.advice && !trouble.text.includes(trouble.advice)) notice.append(make("p", {}, trouble.advice));
  if (ways.length > 0) {
    const buttons = ways.map(({ label, go }) =>
      make("button", {
        type: "button",
        textContent: label,
        onclick: () => {
          notice.remove();
          go();
        },
      }),
    );
    notice.append(make("div", { className: "buttons" }, ...buttons));
  }
  for (const old of list.querySelectorAll(".error")) old.remove();
  list.append(notice);
}

/** What any thrown thing says. */
export function trouble(error: unknown): Trouble {
  if (error instanceof Error && "trouble" in error) return error.trouble as Trouble;
  const text = error instanceof Error ? error.message : String(error);
  return { text, file: null, line: null, cause: text, advice: "" };
}

export function clearErrors() {
  for (const old of list.querySelectorAll(".error")) old.remove();
}
