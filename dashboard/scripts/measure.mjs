// Measures the race page in a real Chromium: node scripts/measure.mjs URL WARM_SECONDS SECONDS; prints JSON.
import { chromium } from '@playwright/test';
import { browser } from './chromium.mjs';

const [url, warm, seconds] = [process.argv[2], Number(process.argv[3] ?? 70), Number(process.argv[4] ?? 60)];
const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const chrome = await chromium.launch({ executablePath: browser(), args: ['--enable-precise-memory-info', ...root] });
const page = await (await chrome.newContext({ viewport: { width: 1920, height: 1080 } })).newPage();
const cdp = await page.context().newCDPSession(page);
await cdp.send('Performance.enable');

let frames = 0;
page.on('websocket', (socket) => socket.on('framereceived', () => frames++));

async function now() {
  const { metrics } = await cdp.send('Performance.getMetrics');
  const of = (name) => metrics.find((each) => each.name === name).value;
  return { at: of('Timestamp'), script: of('ScriptDuration'), task: of('TaskDuration'), heap: of('JSHeapUsedSize'), frames };
}

/** What is still held after collecting: the least of several looks, since a page that draws always holds something for a moment. */
async function held() {
  let least = Infinity;
  for (let look = 0; look < 8; look++) {
    await cdp.send('HeapProfiler.collectGarbage');
    least = Math.min(least, (await now()).heap);
    await page.waitForTimeout(700);
  }
  return least;
}

await page.addInitScript(() => {
  globalThis.paints = [];
  new PerformanceObserver((list) => globalThis.paints.push(...list.getEntries().map((each) => each.startTime))).observe({ type: 'largest-contentful-paint', buffered: true });
});
await page.goto(url);
await page.waitForSelector('[data-testid=comparison]');
await page.waitForTimeout(3000);
const paint = await page.evaluate(() => Math.max(...globalThis.paints));
await page.waitForTimeout(warm * 1000);
const heapBefore = await held();
const begin = await now();
await page.waitForTimeout(seconds * 1000);
const end = await now();
const heapAfter = await held();
await chrome.close();
const elapsed = end.at - begin.at;
console.log(
  JSON.stringify({
    largest_paint_seconds: paint / 1000,
    script_share: (end.script - begin.script) / elapsed,
    task_share: (end.task - begin.task) / elapsed,
    frames_a_second: (end.frames - begin.frames) / elapsed,
    heap_before: heapBefore,
    heap_after: heapAfter,
  }),
);
