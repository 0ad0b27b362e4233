// A scene with its files as a word for the address: JSON, deflated, in the letters that an address may have.

import type { SceneFile } from "./engine/protocol";

/** Longer words are left out of links: browsers take more, but what people send links with often doesn't [letters]. */
export const LONGEST = 30_000;
/** What unpacks to more is no scene but a trick [bytes]. */
const LARGEST = 16 << 20;

/** Base64 to what an address may have, and back. */
export const toAddress = (base64: string) => base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
export const fromAddress = (word: string) => word.replaceAll("-", "+").replaceAll("_", "/") + "=".repeat((4 - (word.length % 4)) % 4);

async function through(bytes: Uint8Array<ArrayBuffer>, by: CompressionStream | DecompressionStream): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(by).getReader();
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    length += value.length;
    if (length > LARGEST) throw new Error("what is in the link is too large");
    parts.push(value);
  }
  return new Uint8Array(await new Blob(parts as BlobPart[]).arrayBuffer());
}

export function base64(bytes: Uint8Array): string {
  let text = "";
  // In parts, since a call takes only so many arguments.
  for (let i = 0; i < bytes.length; i += 0x8000) text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  return btoa(text);
}

export async function pack(scene: SceneFile): Promise<string> {
  const bytes = new TextEncoder().encode(JSON.stringify(scene));
  return toAddress(base64(await through(bytes, new CompressionStream("deflate-raw"))));
}

/** The scene in a word of an address; an error where there is none. */
export async function unpack(word: string): Promise<SceneFile> {
  const bytes = Uint8Array.from(atob(fromAddress(word)), (letter) => letter.charCodeAt(0));
  const scene = JSON.parse(new TextDecoder().decode(await through(bytes, new DecompressionStream("deflate-raw"))));
  const text = (value: unknown): value is string => typeof value === "string";
  const files = Array.isArray(scene?.files) ? scene.files : [];
  if (!text(scene?.name) || !text(scene.text)) throw new Error("there is no scene in the link");
  const named = files.map((file: { name?: unknown; data?: unknown } | null) => {
    if (!text(file?.name) || !text(file.data)) throw new Error("a file in the link has no name or nothing in it");
    return { name: file.name, data: file.data };
  });
  return { name: scene.name, text: scene.text, files: named };
}
