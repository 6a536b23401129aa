import AxeBuilder from '@axe-core/playwright';
import type { Page } from '@playwright/test';
import { expect, settled, shot, test } from './server';

const PAGES = [
  ['race', '/', 'Global comparison'],
  ['experiments', '/experiments', 'Experiments'],
  ['clusters', '/clusters', 'Nodes over time'],
  ['workloads', '/workloads', 'Workloads'],
  ['models', '/models', 'Models'],
  ['tour', '/tour', 'A kitchen at noon'],
] as const;

const SCREENS = [['wide', 1920, 1330], ['laptop', 1366, 900], ['phone', 390, 844]] as const;

/** Return what the checker complains of, each with the first places. */
async function violations(page: Page, rules?: string[]): Promise<unknown[]> {
  const checker = new AxeBuilder({ page });
  const found = await (rules ? checker.withRules(rules) : checker).analyze();
  return found.violations.map(({ id, nodes }) => [id, nodes.slice(0, 3).map((node) => `${node.target.join(' ')}: ${node.failureSummary ?? ''}`)]);
}

for (const [name, path, text] of PAGES) {
  test(`${name} fits phone, laptop and wall screen and breaks no rule of accessibility, dark or light`, async ({ page, server }) => {
    await page.goto(path);
    await expect(page.getByText(text).first()).toBeVisible();
    for (const [screen, width, height] of SCREENS) {
      await page.setViewportSize({ width, height });
      await settled(page);
      // Tiles are measured and laid out anew some frames after the window has changed.
      await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth), `${screen} scrolls sideways`).toBeLessThanOrEqual(0);
      await shot(page, `${name}-${screen}`);
    }
    await server.send('POST', '/api/simulation/pause'); // a page that stands still is checked sooner
    await page.setViewportSize({ width: 1600, height: 1100 });
    const rows = page.getByRole('region', { name: 'Task ledger' }).getByRole('searchbox');
    if (await rows.isVisible()) await rows.fill('size>4800'); // and so is one without hundreds of rows alike
    // Glass and gradients blind the check of contrast: it gets the lightest colour that they hold; glass.test.ts reckons the rest.
    await page.addStyleTag({ content: '.panel{background:var(--panel-top)!important;backdrop-filter:none!important} .bar,body{background:var(--page)!important}' });
    await settled(page);
    expect(await violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Light theme' }).click();
    await expect(page.locator('html')).toHaveAttribute('data-theme', 'light');
    await settled(page);
    expect(await violations(page, ['color-contrast'])).toEqual([]); // all that a theme changes
    await shot(page, `${name}-light`);
  });
}

test('every page can be reached by keyboard alone', async ({ page }) => {
  await page.goto('/');
  for (const name of ['Experiments', 'Clusters', 'Workloads', 'Models', 'Tour']) {
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
  const act = page.getByRole('button', { name: 'Let GPU 1 fail' });
  let acted = false;
  for (let i = 3; i < stops; i++) {
    await page.getByRole('button', { name: 'Next' }).click();
    if (await act.isVisible()) {
      acted = true;
      await act.click();
      await expect.poll(async () => (await server.settingsNow()).failed_gpus).toEqual([1]);
      await shot(page, 'tour-lanes');
    }
    await expect(page.getByText(/cannot be drawn/)).toHaveCount(0);
  }
  expect(acted).toBe(true);
  await expect(page.getByRole('link', { name: 'To the live race' })).toBeVisible();
});

test('panels are glass, and solid for who wants less transparency', async ({ page }) => {
  await page.goto('/');
  await expect(page.locator('html')).toHaveAttribute('data-glass', 'clear'); // the processor draws here
  const panel = page.getByTestId('key-figures').locator('.panel').first();
  const seen = () => panel.evaluate((node) => ((style) => [style.backgroundImage, style.backdropFilter])(getComputedStyle(node)));
  expect((await seen())[0]).toContain('linear-gradient');
  expect((await seen())[1]).toBe('none');
  await page.evaluate(() => (document.documentElement.dataset.glass = 'blurred'));
  expect((await seen())[1]).toContain('blur');
  const devtools = await page.context().newCDPSession(page);
  await devtools.send('Emulation.setEmulatedMedia', { features: [{ name: 'prefers-reduced-transparency', value: 'reduce' }] });
  expect(await seen()).toEqual(['none', 'none']);
});

test('on a phone every tab of the navigation is in sight', async ({ page }) => {
  await page.setViewportSize({ width: 390, height: 844 });
  await page.goto('/tour');
  const last = page.getByRole('navigation', { name: 'Pages' }).getByRole('link').last();
  await expect(last).toBeInViewport({ ratio: 1 });
});

test('reduced motion: nothing is animated', async ({ page }) => {
  await page.emulateMedia({ reducedMotion: 'reduce' });
  await page.goto('/');
  await expect(page.getByTestId('key-figures')).toBeVisible();
  expect(await page.evaluate(() => document.getAnimations().filter((each) => each.playState === 'running').length)).toBe(0);
});
