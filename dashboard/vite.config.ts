/// <reference types="vitest/config" />
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig, type Plugin } from 'vite';

const server = process.env.HMS_URL ?? 'http://127.0.0.1:8000';

const web = fileURLToPath(new URL('../src/hybrid_scheduler/web', import.meta.url));

/** Writes a compressed copy next to each script and style sheet: the server compresses nothing while it works. */
function precompress(): Plugin {
  return {
    name: 'precompress',
    apply: 'build',
    closeBundle() {
      const assets = join(web, 'assets');
      for (const name of readdirSync(assets)) {
        if (/\.(js|css)$/.test(name)) writeFileSync(join(assets, `${name}.gz`), gzipSync(readFileSync(join(assets, name)), { level: 9 }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwind(), precompress()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    outDir: web,
    emptyOutDir: true,
    // The server's content policy allows no data: fonts, so nothing is inlined.
    assetsInlineLimit: 0,
    // The page that everybody opens is one file: 180 kB compressed, from the same machine as its data.
    chunkSizeWarningLimit: 600,
  },
  // The Host of the page goes through as it is: the server takes commands from pages whose Origin is their Host.
  server: { proxy: { '/api': { target: server, changeOrigin: false }, '/ws': { target: server.replace('http', 'ws'), ws: true, changeOrigin: false } } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/setup-tests.ts'],
    restoreMocks: true,
    testTimeout: 60_000,
    // One page for all files of a worker: setting one up for each took ten times as long as the tests.
    pool: 'threads',
    isolate: false,
  },
});
