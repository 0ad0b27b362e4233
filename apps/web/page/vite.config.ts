import { defineConfig } from "vite";

// `base` is relative, so that the page runs from any folder of any host; `dist` is beside this folder, where `ripstop view` takes it from.
export default defineConfig({
  base: "./",
  build: { outDir: "../dist", emptyOutDir: true, target: "es2022", chunkSizeWarningLimit: 900 },
  worker: { format: "es" },
});
