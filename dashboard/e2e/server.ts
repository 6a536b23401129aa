/** A real `hms serve` for each worker, on a free port and in a folder of its own; it can be killed and started again. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test as base, expect, type Page } from '@playwright/test';

const HMS = process.env.HMS ?? fileURLToPath(new URL('../../.venv/bin/hms', import.meta.url));

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return port;
}

export class Server {
  private child: ChildProcess | null = null;
  private said = '';
  readonly folder = mkdtempSync(join(tmpdir(), 'hms-e2e-'));

  constructor(
    readonly port: number,
    private readonly settings: Record<string, string> = {},
  ) {}

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  async start(): Promise<void> {
    this.said = '';
    const env = { ...process.env, RATE_LIMIT: 'none', LOG_FILE: 'none', HMS_LEARNER_NICE: '0', HMS_EXPERIMENT_NICE: '0', ...this.settings };
    this.child = spawn(HMS, ['serve', '--port', String(this.port)], { cwd: this.folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.child.stdout, this.child.stderr]) stream?.on('data', (chunk: Buffer) => (this.said += chunk.toString()));
    await this.answers();
  }

  /** Wait until it answers; the first start on a machine trains the agents. */
  private async answers(): Promise<void> {
    for (let tries = 0; tries < 3000; tries++) {
      if (this.child?.exitCode !== null) break;
      try {
        if ((await fetch(`${this.url}/api/health`)).ok) return;
      } catch {
        // not yet
      }
      await new Promise((done) => setTimeout(done, 200));
    }
    throw new Error(`hms serve did not start:\n${this.said}`);
  }

  /** Wait until the race has done some tasks. */
  async races(tasks = 5): Promise<void> {
    for (let tries = 0; tries < 3000; tries++) {
      if ((await this.status()).tasks_processed >= tasks) return;
      await new Promise((done) => setTimeout(done, 200));
    }
    throw new Error(`the race did not begin:\n${this.said}`);
  }

  async status(): Promise<{ state: string; tasks_processed: number; run_id: number }> {
    return (await (await fetch(`${this.url}/api/status`)).json()) as { state: string; tasks_processed: number; run_id: number };
  }

  async settingsNow(): Promise<{ load: number; preset: string; failed_gpus: number[]; pace: number | null; num_gpus: number; energy_weight: number; schedulers: string[] }> {
    const answer = (await (await fetch(`${this.url}/api/simulation/settings`)).json()) as { settings: never };
    return answer.settings;
  }

  async send(method: string, path: string, body?: unknown): Promise<Response> {
    return fetch(this.url + path, { method, headers: { 'content-type': 'application/json' }, body: body === undefined ? null : JSON.stringify(body) });
  }

  async kill(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    const child = this.child;
    this.child = null;
    if (!child || child.exitCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    await gone;
  }

  /** End for good, and leave nothing behind. */
  async close(): Promise<void> {
    await this.kill('SIGTERM');
    rmSync(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

/** Serve with other settings, without learners unless they ask for some: those take seconds to start. */
export async function serving(settings: Record<string, string>, use: (server: Server) => Promise<void>): Promise<void> {
  const server = new Server(await freePort(), { SCHEDULERS: 'round_robin,greedy,eft', ...settings });
  await server.start();
  try {
    await use(server);
  } finally {
    await server.close();
  }
}

/** Wait until nothing glides or fades any more and two pictures have been drawn since. */
export async function settled(page: Page): Promise<void> {
  await page.evaluate(async () => {
    await document.fonts.ready;
    const ending = document.getAnimations().filter((each) => each.effect?.getComputedTiming().iterations !== Infinity);
    await Promise.allSettled(ending.map((each) => each.finished));
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
}

/** Take a picture for people, with `SCREENSHOTS=1`: no test looks at it. */
export async function shot(page: Page, name: string): Promise<void> {
  if (!process.env.SCREENSHOTS) return;
  await settled(page);
  await page.screenshot({ path: `screenshots/${name}.png` });
}

/** Every test gets the server of its worker, with a running race in calm conditions, and loads nothing from elsewhere. */
export const test = base.extend<{ calm: void; local: void }, { server: Server }>({
  server: [
    async ({}, use) => {
      const server = new Server(await freePort());
      await server.start();
      await use(server);
      await server.close();
    },
    { scope: 'worker', timeout: 600_000 },
  ],
  baseURL: async ({ server }, use) => use(server.url),
  calm: [
    async ({ server }, use) => {
      const { state } = await server.status();
      if (state === 'paused') await server.send('POST', '/api/simulation/resume');
      if (state === 'stopped' || state === 'none') await server.send('POST', '/api/simulation/start');
      await server.races();
      await server.send('PATCH', '/api/simulation/settings', { load: 0.9, preset: 'mixed', failed_gpus: [], num_gpus: 4, pace: 20 });
      await use();
    },
    { auto: true, timeout: 600_000 },
  ],
  local: [
    async ({ page }, use) => {
      const foreign: string[] = [];
      page.on('request', (request) => /^(data:|blob:|http:..127\.0\.0\.1:)/.test(request.url()) || foreign.push(request.url()));
      await use();
      expect(foreign).toEqual([]);
    },
    { auto: true },
  ],
});

export { expect };
