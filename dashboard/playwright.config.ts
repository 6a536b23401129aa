import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

const KNOWN = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];
const executablePath = KNOWN.find((path): path is string => !!path && existsSync(path));

export default defineConfig({
  testDir: 'e2e',
  outputDir: 'test-results',
  timeout: 120_000, // a busy machine draws slowly
  expect: { timeout: 30_000 },
  workers: 2,
  fullyParallel: false,
  forbidOnly: true,
  reporter: [['list']],
  use: {
    viewport: { width: 1600, height: 1100 },
    trace: 'retain-on-failure',
    // Root, as in containers, can have no sandbox.
    launchOptions: { ...(executablePath ? { executablePath } : {}), args: process.getuid?.() === 0 ? ['--no-sandbox'] : [] },
  },
});
