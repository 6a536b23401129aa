// Takes the picture of the docs: node scripts/picture.mjs [URL] [FILE].
import { chromium } from '@playwright/test';
import { browser } from './chromium.mjs';

const [url = 'http://127.0.0.1:8000', file = new URL('../../docs/images/dashboard.png', import.meta.url).pathname] = process.argv.slice(2);
const root = process.getuid?.() === 0 ? ['--no-sandbox'] : [];
const chrome = await chromium.launch({ executablePath: browser(), args: root });
const page = await chrome.newPage({ viewport: { width: 1760, height: 1080 }, colorScheme: 'dark' });
await page.goto(url);
await page.waitForSelector('[data-testid=comparison]');
await page.waitForTimeout(60_000); // so that the lines have something to show
await page.screenshot({ path: file });
await chrome.close();
