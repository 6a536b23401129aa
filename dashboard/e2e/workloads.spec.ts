import { expect, shot, test } from './server';

const HEADER = 'task_id,size,compute_intensity,memory_required,arrival_time';

test('a bad trace is refused in one line that names file and line', async ({ page }) => {
  await page.goto('/workloads');
  const lines = [HEADER, '0,1000,0.5,100,0.0', '1,1200,seven,100,0.1'];
  await page.setInputFiles('input[type=file]', { name: 'broken.csv', mimeType: 'text/csv', buffer: Buffer.from(lines.join('\n')) });
  await page.getByRole('button', { name: 'Upload' }).click();
  await expect(page.getByRole('alert')).toContainText(/broken\.csv.*(line|row) 3/);
  await shot(page, 'workloads-bad-upload');
});

test('a good trace is shown and raced on', async ({ page, server }) => {
  await page.goto('/workloads');
  const rows = Array.from({ length: 300 }, (_, i) => `${i},${500 + (i % 7) * 300},${((i % 10) / 10).toFixed(1)},${50 + (i % 5) * 40},${(i * 0.05).toFixed(2)}`);
  await page.setInputFiles('input[type=file]', { name: 'mine.csv', mimeType: 'text/csv', buffer: Buffer.from([HEADER, ...rows].join('\n')) });
  await page.getByRole('button', { name: 'Upload' }).click();
  await expect(page.getByRole('status').getByText('mine.csv is uploaded')).toBeVisible();
  await page.goto('/workloads?name=mine.csv');
  await expect(page.getByText('300').first()).toBeVisible();
  await shot(page, 'workloads-detail');
  await page.getByRole('button', { name: 'Race on it' }).click();
  await expect.poll(async () => (await server.settingsNow()).preset).toContain('upload:mine.csv');
  await expect(page.getByTestId('comparison')).toBeVisible();
});
