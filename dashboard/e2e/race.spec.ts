import type { Page } from '@playwright/test';
import { expect, shot, test } from './server';

const clock = async (page: Page) => (await page.getByTitle('simulated time').textContent()) ?? '';
const controls = (page: Page) => page.getByRole('group', { name: 'Race', exact: true });
const tile = (page: Page, name: string) => page.getByRole('region', { name, exact: true });

test.beforeEach(async ({ page }) => {
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  page.on('console', (message) => message.type() === 'error' && errors.push(message.text()));
  await page.goto('/');
  await expect(page.getByTestId('key-figures')).toBeVisible();
  expect(errors).toEqual([]);
});

test('the race moves, and all schedulers take part', async ({ page }) => {
  const before = await clock(page);
  await expect.poll(() => clock(page)).not.toBe(before);
  await expect(page.getByTestId('comparison').getByRole('button')).toHaveCount(6);
  await expect(page.getByTestId('comparison')).toContainText('Hybrid ML');
});

test('pause stops it, step moves it, resume goes on', async ({ page, server }) => {
  await controls(page).getByRole('button', { name: 'Pause' }).click();
  await expect(page.getByText('● PAUSED')).toBeVisible();
  await server.send('PATCH', '/api/simulation/settings', { pace: 20 }); // done after the block that was under way
  const { tasks_processed } = await server.status();
  await page.waitForTimeout(300); // six tasks at its pace
  expect((await server.status()).tasks_processed).toBe(tasks_processed);
  await controls(page).getByRole('button', { name: /^Step/ }).click();
  await expect.poll(async () => (await server.status()).tasks_processed).toBe(tasks_processed + 1);
  await controls(page).getByRole('button', { name: 'Resume' }).click();
  await expect.poll(async () => (await server.status()).tasks_processed).toBeGreaterThan(tasks_processed + 10);
});

test('the space bar pauses and goes on', async ({ page, server }) => {
  await page.locator('body').press(' ');
  await expect(page.getByText('● PAUSED')).toBeVisible();
  expect((await server.status()).state).toBe('paused');
  await page.locator('body').press(' ');
  await expect.poll(async () => (await server.status()).state).toBe('running');
});

test('the slider changes the load by keyboard, says so, and leaves a mark', async ({ page, server }) => {
  const slider = page.getByLabel('Offered load').first();
  await expect(slider).toHaveValue('0.9');
  for (const load of [0.95, 1]) {
    await slider.press('ArrowRight');
    await expect.poll(async () => (await server.settingsNow()).load).toBeCloseTo(load, 5);
    await expect(slider).toHaveValue(String(load));
  }
  await expect(page.getByRole('status').getByText('Offered load 1.00')).toBeVisible();
  await expect(page.getByRole('status').getByText(/from task/).first()).toBeVisible();
});

test('shift now changes the work at once', async ({ page, server }) => {
  await page.getByRole('button', { name: 'Shift now' }).click();
  await expect.poll(async () => (await server.settingsNow()).preset).toBe('cpu_friendly');
});

test('a GPU that fails empties its lane, and comes back', async ({ page, server }) => {
  const gpu = page.getByRole('group', { name: /^GPUs/ }).getByRole('switch', { name: 'GPU 1' });
  await gpu.click();
  await expect(gpu).toHaveAttribute('aria-checked', 'false');
  expect((await server.settingsNow()).failed_gpus).toEqual([1]);
  await expect(tile(page, 'Utilisation')).toContainText(/GPU 1 failed/);
  await expect(tile(page, 'Device lanes').locator('[aria-label*="GPU 1 failed"]')).toBeVisible();
  await shot(page, 'race-gpu-failed');
  await gpu.click();
  await expect(gpu).toHaveAttribute('aria-checked', 'true');
  expect((await server.settingsNow()).failed_gpus).toEqual([]);
});

test('who drowns is shown as saturated, and no chart breaks', async ({ page, server }) => {
  await server.send('PATCH', '/api/simulation/settings', { load: 1.4, pace: 500 });
  await expect(page.getByTestId('comparison').getByText('saturated').first()).toBeVisible({ timeout: 40_000 });
  await expect(page.getByText(/cannot be drawn/)).toHaveCount(0);
  await shot(page, 'race-saturated');
});

test('a task clicked in the ledger shows its audit, and the link can be shared', async ({ page }) => {
  await tile(page, 'Task ledger').getByRole('row').nth(3).click();
  await expect(page).toHaveURL(/task=\d+/);
  const dialog = page.getByRole('dialog');
  await expect(dialog).toContainText('Hybrid ML');
  await expect(dialog).toContainText('Oracle');
  await shot(page, 'race-audit');
  const link = page.url();
  await page.keyboard.press('Escape');
  await expect(dialog).toBeHidden();
  await page.goto(link);
  await expect(page.getByRole('dialog')).toContainText('Hybrid ML');
});

test('the bound of turnaround is shown, chosen and remembered, and so is the ground where nobody can be', async ({ page, server }) => {
  await server.send('PATCH', '/api/simulation/settings', { pace: 200 }); // the first 100 tasks are soon there
  await expect(page.getByRole('region', { name: 'Turnaround / bound' })).toContainText(/\d\.\d.*tasks/);
  await tile(page, 'Distance to the bound').getByLabel('Distance of').selectOption('turnaround');
  await expect(tile(page, 'Distance to the bound').getByRole('img', { name: /Hybrid ML \d/ })).toBeVisible();
  await expect(tile(page, 'Cost against time').getByTestId('certified-fronts')).toBeVisible();
  await tile(page, 'Cost against time').getByLabel('Against time').selectOption('energy');
  await page.reload();
  await expect(tile(page, 'Energy against time').getByTestId('certified-fronts')).toBeVisible();
  await expect(tile(page, 'Distance to the bound').getByLabel('Distance of')).toHaveValue('turnaround');
  await shot(page, 'race-certified');
});

test('a page that is opened late begins with the last minutes', async ({ page, server }) => {
  await server.races(200);
  const told = page.waitForEvent('websocket').then((socket) => socket.waitForEvent('framereceived', (frame) => String(frame.payload).startsWith('{"type":"history"')));
  await page.reload();
  const history = JSON.parse(String((await told).payload)) as { time: number[]; log: unknown[] };
  expect(history.time.length).toBeGreaterThan(1);
  expect(history.log.length).toBeGreaterThan(0);
});

test('a layout survives a reload, and can be reset', async ({ page }) => {
  await page.getByRole('button', { name: 'Layout' }).click();
  const frame = page.locator('[data-widget=comparison]');
  // The width that the tile is given, not the one on its way there: tiles glide.
  const width = () => frame.locator('xpath=..').evaluate((item: HTMLElement) => Math.round(parseFloat(item.style.width)));
  const before = await width();
  await frame.focus();
  for (let i = 0; i < 2; i++) await frame.press('Shift+ArrowRight');
  await expect.poll(width).toBeGreaterThan(before + 100); // two columns, not one
  const wider = await width();
  await shot(page, 'race-editing');
  await page.reload();
  await expect.poll(width).toBe(wider);
  await page.getByRole('button', { name: 'Layout' }).click();
  await page.getByRole('button', { name: 'Reset layout' }).click();
  await expect.poll(width).toBe(before);
});

test('a tile is dragged by its title', async ({ page }) => {
  await page.getByRole('button', { name: 'Layout' }).click();
  const frame = page.locator('[data-widget=comparison]');
  const before = (await frame.boundingBox())!;
  await tile(page, 'Global comparison').getByRole('heading').hover();
  await page.mouse.down();
  await page.mouse.move(before.x + 900, before.y + 30, { steps: 12 });
  await page.mouse.up();
  await expect.poll(async () => (await frame.boundingBox())!.x).toBeGreaterThan(before.x + 200);
});

test('schedulers join and leave', async ({ page, server }) => {
  await page.getByRole('button', { name: 'All controls' }).click();
  const panel = page.getByRole('complementary', { name: 'All controls' });
  await panel.getByRole('checkbox', { name: /^EFT/ }).click();
  await expect.poll(async () => (await server.settingsNow()).schedulers).toContain('eft');
  await expect(page.getByTestId('comparison').getByRole('button')).toHaveCount(7);
  await shot(page, 'race-controls');
  await panel.getByRole('checkbox', { name: /^EFT/ }).click();
  await expect(page.getByTestId('comparison').getByRole('button')).toHaveCount(6);
});

test('a task by hand is placed and explained', async ({ page }) => {
  await page.getByRole('button', { name: 'All controls' }).click();
  const panel = page.getByRole('complementary', { name: 'All controls' });
  await panel.getByRole('button', { name: 'Let it arrive now' }).click();
  await expect(panel.getByRole('region', { name: /^Decisions about task/ })).toContainText('Hybrid ML');
});

test('stop ends the run, start begins another', async ({ page, server }) => {
  const { run_id } = await server.status();
  await page.getByRole('button', { name: 'Stop the run' }).click();
  await expect(page.getByText('● STOPPED')).toBeVisible();
  await shot(page, 'race-stopped');
  await page.getByRole('button', { name: 'Start' }).click();
  await expect.poll(async () => (await server.status()).run_id).toBeGreaterThan(run_id);
  await expect(page.getByText('● RUNNING')).toBeVisible();
});
