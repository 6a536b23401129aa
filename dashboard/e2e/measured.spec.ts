import { test as base } from '@playwright/test';
import { expect, freePort, Server } from './server';

/** A server of its own: its tasks really run, on two emulated devices. */
const test = base.extend<{ real: Server }>({
  real: async ({}, use) => {
    const server = new Server(await freePort(), { BACKEND: 'local', DEVICES: 'emulated', SCHEDULERS: 'round_robin,greedy,eft' });
    await server.start();
    await server.races(3);
    await use(server);
    await server.kill('SIGTERM');
  },
  baseURL: async ({ real }, use) => use(real.url),
});

test('a race whose tasks really run says so, moves, and tells why', async ({ page, real }) => {
  await page.goto('/');
  const badge = page.getByRole('banner').getByText('measured', { exact: true });
  await expect(badge).toBeVisible();
  await expect(badge).toHaveAttribute('title', /times of execution are measured/);
  await expect(page.getByRole('banner')).toContainText('1 CPU + 1 GPU, emulated');

  const tasks = (await real.status()).tasks_processed;
  await expect(page.getByTestId('comparison').getByRole('button')).toHaveCount(3);
  await expect.poll(async () => (await real.status()).tasks_processed).toBeGreaterThan(tasks + 5);
  await expect(page.getByText('1.0 a yardstick')).toBeVisible();
  await expect(page.getByRole('region', { name: 'Device lanes' })).toContainText('GPU 0 (emulated)');

  await page.screenshot({ path: 'screenshots/measured.png' });

  await page.goto('/?task=2');
  const audit = page.getByRole('dialog');
  await expect(audit).toContainText('EFT');
  await expect(audit).toContainText('(emulated)');
  await page.screenshot({ path: 'screenshots/measured-audit.png' });

  await page.goto('/experiments');
  await expect(page.getByRole('main').getByText('measured', { exact: true }).first()).toBeVisible();
});
