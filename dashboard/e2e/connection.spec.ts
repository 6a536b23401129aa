import { expect, serving, shot, test } from './server';

test('a server that is killed and comes back: stale, then live again', async ({ page }) => {
  await serving({}, async (server) => {
    await page.goto(server.url);
    await expect(page.getByTestId('key-figures')).toBeVisible();
    await server.kill();
    await expect(page.getByText('Connection lost.')).toBeVisible();
    await expect(page.getByText('stale').first()).toBeVisible();
    await expect(page.getByRole('group', { name: 'Race', exact: true }).getByRole('button', { name: 'Pause' })).toBeDisabled();
    await expect(page.getByText(/data from \d+ s ago/)).toBeVisible();
    await shot(page, 'race-disconnected');
    await page.getByRole('button', { name: 'Retry now' }).click();
    await expect(page.getByText('Connection lost.')).toBeVisible(); // nobody is there yet
    await server.start();
    await expect(page.getByText('Connection lost.')).toBeHidden();
    await expect(page.getByText('stale')).toHaveCount(0);
    await server.races();
    const clock = page.getByTitle('simulated time');
    const before = await clock.textContent();
    await expect(clock).not.toHaveText(before ?? '');
  });
});

test('a page whose line broke comes back with its cursor and misses nothing', async ({ page }) => {
  const asked: string[] = [];
  const seen: number[] = [];
  let broken = false;
  await page.routeWebSocket('**/ws*', (socket) => {
    asked.push(socket.url());
    const real = socket.connectToServer();
    real.onMessage((text) => {
      const { type, seq } = JSON.parse(text.toString()) as { type: string; seq: number };
      if (type !== 'hello' && type !== 'history') seen.push(seq);
      socket.send(text);
      if (!broken && seen.length === 4) {
        broken = true;
        void socket.close();
      }
    });
  });
  await page.goto('/');
  await expect.poll(() => (asked.length > 1 ? seen.length : 0)).toBeGreaterThan(7);
  expect(asked[1]).toMatch(/cursor=\d+&stream=\w+/);
  const numbers = [...new Set(seen)].slice(1); // the first is the newest picture, whatever came after it
  expect(numbers).toEqual(Array.from({ length: numbers.length }, (_, i) => numbers[0]! + i));
});

test('without a race there is a button to start one', async ({ page }) => {
  await serving({ AUTOSTART: 'false' }, async (idle) => {
    await page.goto(idle.url);
    await expect(page.getByText('No race yet')).toBeVisible();
    await shot(page, 'race-empty');
    await page.getByRole('button', { name: 'Start the race' }).click();
    await expect(page.getByTestId('comparison')).toContainText('Round robin');
  });
});

test('a server with a token asks for it, once', async ({ page }) => {
  await serving({ TOKEN: 'open-sesame-of-the-tests', HOST: '0.0.0.0' }, async (guarded) => {
    await page.goto(guarded.url);
    const race = page.getByRole('group', { name: 'Race', exact: true });
    await race.getByRole('button', { name: 'Pause' }).click();
    const dialog = page.getByRole('dialog', { name: /control token/ });
    await expect(dialog).toBeVisible();
    await dialog.getByLabel('Token').fill('open-sesame-of-the-tests');
    await dialog.getByRole('button', { name: 'Send the command' }).click();
    await expect(page.getByText('● PAUSED')).toBeVisible();
    await race.getByRole('button', { name: 'Resume' }).click();
    await expect(page.getByText('● RUNNING')).toBeVisible();
  });
});

test('while the page loads it shows its shape', async ({ page }) => {
  await page.routeWebSocket('**/ws*', () => {}); // a server that says nothing
  await page.goto('/');
  await expect(page.getByRole('status', { name: 'Loading' })).toBeVisible();
  await shot(page, 'race-loading');
});

test('an error in one widget leaves the others alive', async ({ page }) => {
  await page.routeWebSocket('**/ws*', (socket) => {
    const real = socket.connectToServer();
    real.onMessage((text) => {
      const message = JSON.parse(text.toString()) as { analysis?: { wins: unknown } | null };
      if (message.analysis) message.analysis.wins = 'nonsense';
      socket.send(JSON.stringify(message));
    });
  });
  await page.goto('/');
  await expect(page.getByText('Head to head cannot be drawn')).toBeVisible();
  await expect(page.getByTestId('comparison')).toContainText('Hybrid ML');
  await shot(page, 'race-widget-error');
});
