// The beginning: the engine's worker fetches and compiles while the browser still reads the rest of the page, which is many times as large.

import { Client } from "./engine/client";

export const client = new Client(new URL("ripstop.wasm", document.baseURI).href);

import("./main").catch((error: unknown) => {
  const sign = document.querySelector("#waiting span");
  if (sign) sign.textContent = `The page could not be read (${error instanceof Error ? error.message : error}): load it again`;
});
