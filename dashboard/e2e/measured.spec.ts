import { expect, serving, shot, test } from './server';

test('a race whose tasks really run says so, moves, and tells why', async ({ page }) => {
  await serving({ BACKEND: 'local', DEVICES: 'emulated' }, async (real) => {
    await real.races(3);
    await page.goto(real.url);
    const badge = page.getByRole('banner').getByText('measured', { exact: true });
    await expect(badge).toBeVisible();
    await expect(badge).toHaveAttribute('title', /times of execution are measured/);
    await expect(page.getByRole('banner')).toContainText('1 CPU + 1 GPU, emulated');

    const tasks = (await real.status()).tasks_processed;
    await expect(page.getByTestId('comparison').getByRole('button')).toHaveCount(3);
    await expect.poll(async () => (await real.status()).tasks_processed).toBeGreaterThan(tasks + 5);
    await expect(page.getByText('1.0 a yardstick')).toBeVisible();
    await expect(page.getByRole('region', { name: 'Device lanes' })).toContainText('GPU 0 (emulated)');

    await shot(page, 'measured');

    await page.goto(`${real.url}/?task=2`);
    const audit = page.getByRole('dialog');
    await expect(audit).toContainText('EFT');
    await expect(audit).toContainText('(emulated)');
    await shot(page, 'measured-audit');

    await page.goto(`${real.url}/experiments`);
    await expect(page.getByRole('main').getByText('measured', { exact: true }).first()).toBeVisible();
  });
});
