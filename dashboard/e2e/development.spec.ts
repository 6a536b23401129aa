import { spawn } from 'node:child_process';
import { expect, test } from './server';

test('npm run dev: the page moves, and Pause works', async ({ page, server }) => {
  const vite = spawn('npx', ['vite', '--host', '127.0.0.1', '--port', '5199'], { cwd: `${import.meta.dirname}/..`, env: { ...process.env, HMS_URL: server.url, NO_COLOR: '1' }, detached: true });
  try {
    const url = await new Promise<string>((found, failed) => {
      vite.stdout.on('data', (text: Buffer) => {
        const address = /http:\/\/127\.0\.0\.1:\d+/.exec(text.toString());
        if (address) found(address[0]);
      });
      vite.once('exit', () => failed(new Error('vite ended')));
    });
    await page.goto(url);
    await expect(async () => { // a click is lost if Vite has just found more to bundle and loads the page again
      const pause = page.getByRole('button', { name: 'Pause', exact: true }).first();
      if (await pause.isVisible()) await pause.click();
      await expect(page.getByText('● PAUSED')).toBeVisible({ timeout: 10_000 });
    }).toPass();
    expect((await server.status()).state).toBe('paused');
  } finally {
    process.kill(-vite.pid!);
  }
});
