// Takes the pictures of the docs: node scripts/pictures.mjs URL FOLDER PICTURE=PATH …; make screenshots calls it.
import { chromium } from '@playwright/test';
import { browser } from './chromium.mjs';

const [url, folder, ...wanted] = process.argv.slice(2);
const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const chrome = await chromium.launch({ executablePath: browser(), args: root });
const page = await chrome.newPage({ viewport: { width: 1760, height: 1080 }, colorScheme: 'dark' });
const wrong = [];
page.on('console', (line) => line.type() === 'error' && wrong.push(line.text()));
page.on('pageerror', (error) => wrong.push(String(error)));
let patience = 60_000; // so that the lines of the first page have something to show
for (const each of wanted) {
  const cut = each.indexOf('=');
  await page.goto(url + each.slice(cut + 1));
  await page.waitForSelector('main');
  await page.waitForTimeout(patience);
  patience = 4000; // what is asked of the server has to come, and be drawn
  await page.screenshot({ path: `${folder}/${each.slice(0, cut)}.png` });
}
await chrome.close();
if (wrong.length) {
  console.error(wrong.join('\n'));
  process.exit(1);
}
