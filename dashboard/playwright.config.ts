import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

const KNOWN = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = KNOWN.find((path): path is string => !!path && existsSync(path));

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'test-results',
  // Only so that a hang ends: a busy machine draws slowly.
  timeout: 600_000,
  expect: { timeout: 120_000 },
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  reporter: [['list']],
  use: {
    viewport: { width: 1600, height: 1100 },
    screenshot: 'only-on-failure', // a trace of every test would double their time
    // Root, as in containers, can have no sandbox; and a GPU that is emulated draws slower than none.
    launchOptions: { ...(executablePath ? { executablePath } : {}), args: ['--disable-gpu', ...(process.getuid?.() === 0 ? ['--no-sandbox'] : [])] },
  },
});
