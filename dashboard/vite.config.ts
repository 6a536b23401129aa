import { fileURLToPath } from 'node:url';
import tailwind from '@tailwindcss/vite';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';

const server = process.env.HMS_URL ?? 'http://127.0.0.1:8000';

export default defineConfig({
  plugins: [react(), tailwind()],
  resolve: { alias: { '@': fileURLToPath(new URL('./src', import.meta.url)) } },
  build: {
    outDir: '../src/hybrid_scheduler/web',
    emptyOutDir: true,
    // The server's content policy allows no data: fonts, so nothing is inlined.
    assetsInlineLimit: 0,
  },
  server: { proxy: { '/api': server, '/ws': { target: server.replace('http', 'ws'), ws: true } } },
  test: {
    environment: 'jsdom',
    include: ['src/**/*.test.{ts,tsx}'],
    setupFiles: ['src/setup-tests.ts'],
    restoreMocks: true,
  },
});
