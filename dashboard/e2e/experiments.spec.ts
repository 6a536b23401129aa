import { expect, shot, test } from './server';

test('an experiment is started, finishes, and two are compared with intervals', async ({ page, server }) => {
  const ids: number[] = [];
  for (const load of [0.7, 0.9]) {
    const answer = await server.send('POST', '/api/experiments', { title: `load ${load}`, schedulers: ['greedy', 'eft', 'round_robin'], workload: 'mixed', load, num_gpus: 4, tasks: 400, seeds: 3, mode: 'queued' });
    expect(answer.ok, await answer.clone().text()).toBe(true);
    ids.push(((await answer.json()) as { id: number }).id);
  }
  await page.goto('/experiments');
  for (const load of [0.7, 0.9]) await expect(page.getByText(`load ${load}`).first()).toBeVisible();
  await expect.poll(async () => ((await (await fetch(`${server.url}/api/experiments/${ids[1]}`)).json()) as { state: string }).state).toBe('finished');
  await page.reload();
  await shot(page, 'experiments-list');
  for (const id of ids) await page.getByRole('checkbox', { name: new RegExp(`\\b(run )?${id}\\b|load 0\\.${id === ids[0] ? 7 : 9}`) }).first().check();
  await page.getByRole('button', { name: /compare/i }).or(page.getByRole('link', { name: /compare/i })).first().click();
  await expect(page).toHaveURL(/runs=/);
  await expect(page.getByText(/95 %/).first()).toBeVisible();
  await shot(page, 'experiments-compare');
});
