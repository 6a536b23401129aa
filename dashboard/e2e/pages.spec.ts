import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, test } from './server';

const PAGES = [
  ['race', '/', 'Global comparison'],
  ['experiments', '/experiments', 'Experiments'],
  ['workloads', '/workloads', 'Workloads'],
  ['models', '/models', 'Models'],
  ['tour', '/tour', 'A kitchen at noon'],
] as const;

const inTheme = (page: Page, theme: string) => page.addInitScript((wanted) => localStorage.setItem('hms.theme', wanted), theme);

const SCREENS = [['wide', 1920, 1330], ['laptop', 1366, 900], ['phone', 390, 844]] as const;

/** Return what the checker complains of, each with the first places. */
async function violations(page: Page, rules?: string[]): Promise<unknown[]> {
  const checker = new AxeBuilder({ page });
  const found = await (rules ? checker.withRules(rules) : checker).analyze();
  return found.violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => `${node.target.join(' ')}: ${node.failureSummary ?? ''}`)]);
}

for (const [name, path, text] of PAGES) {
  test(`${name} has no violations of accessibility rules, dark or light`, async ({ page, server }) => {
    await inTheme(page, 'dark');
    await page.goto(path);
    await expect(page.getByText(text).first()).toBeVisible();
    await page.waitForTimeout(1500);
    await server.send('POST', '/api/simulation/pause'); // a page that stands still is checked sooner
    const rows = page.getByRole('region', { name: 'Task ledger' }).getByRole('searchbox');
    if (await rows.isVisible()) await rows.fill('size>4800'); // and so is one without hundreds of rows alike
    // Gradients blind the check of contrast: it gets the lightest colour that they hold.
    await page.addStyleTag({ content: '.panel{background:var(--panel-top)!important} body{background:var(--page)!important}' });
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Light theme' }).click();
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
    expect(await violations(page, ['color-contrast'])).toEqual([]); // all that a theme changes
  });

  test(`${name} fits phone, laptop and wall screen`, async ({ page }) => {
    await page.goto(path);
    await expect(page.getByText(text).first()).toBeVisible();
    for (const [screen, width, height] of SCREENS) {
      await page.setViewportSize({ width, height });
      await page.waitForTimeout(1500);
      expect(await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${screen} scrolls sideways`).toBeLessThanOrEqual(0);
      await page.screenshot({ path: `screenshots/${name}-${screen}.png` });
    }
    await inTheme(page, 'light');
    await page.setViewportSize({ width: 1920, height: 1330 });
    await page.reload();
    await page.waitForTimeout(1500);
    await page.screenshot({ path: `screenshots/${name}-light.png` });
  });
}

test('the whole race page, tall', async ({ page }) => {
  await page.setViewportSize({ width: 1920, height: 2300 });
  await page.goto('/');
  await page.waitForTimeout(4000);
  await page.screenshot({ path: 'screenshots/race-tall.png' });
});

test('nothing comes from elsewhere', async ({ page, server }) => {
  const foreign: string[] = [];
  page.on('request', (request) => !request.url().startsWith(server.url) && !request.url().startsWith('data:') && foreign.push(request.url()));
  for (const [, path] of PAGES) await page.goto(path, { waitUntil: 'networkidle' }).catch(() => page.goto(path));
  expect(foreign).toEqual([]);
});

test('every page can be reached by keyboard alone', async ({ page }) => {
  await page.goto('/');
  for (const name of ['Experiments', 'Workloads', 'Models', 'Tour']) {
    const link = page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name });
    await link.focus();
    await page.keyboard.press('Enter');
    await expect(page).toHaveTitle(new RegExp(name));
  }
});

test('the theme is kept', async ({ page }) => {
  await page.goto('/tour');
  await page.getByRole('button', { name: 'Light theme' }).click();
  await page.reload();
  await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
});

test('the tour walks through every widget', async ({ page, server }) => {
  await page.goto('/tour');
  await page.getByRole('button', { name: 'Next' }).click();
  await expect(page.getByRole('heading', { name: 'Six managers, one stream of orders' })).toBeVisible();
  await expect(page.getByTestId('comparison')).toBeVisible();
  await page.keyboard.press('ArrowRight');
  await expect(page.getByRole('heading', { name: 'Utilisation' }).first()).toBeVisible();
  const stops = await page.getByRole('list', { name: 'Stops of the tour' }).getByRole('button').count();
  for (let i = 3; i < stops; i++) {
    await page.getByRole('button', { name: 'Next' }).click();
    const act = page.getByRole('button', { name: 'Let GPU 1 fail' });
    if (await act.isVisible()) {
      await act.click();
      await expect.poll(async () => (await server.settingsNow()).failed_gpus).toEqual([1]);
      await page.screenshot({ path: 'screenshots/tour-lanes.png' });
    }
    await expect(page.getByText(/cannot be drawn/)).toHaveCount(0);
  }
  await expect(page.getByRole('link', { name: 'To the live race' })).toBeVisible();
});

test('reduced motion: nothing is animated', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto('/');
  await expect(page.getByTestId('key-figures')).toBeVisible();
  expect(await page.evaluate(() => document.getAnimations().filter((each) => each.playState === 'running').length)).toBe(0);
});
