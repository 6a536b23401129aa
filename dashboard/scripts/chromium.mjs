// Looks for a Chromium; installs one where it is missing and the machine allows it.
import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromium } from '@playwright/test';

const KNOWN = [process.env.CHROMIUM, '/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'];

export function browser() {
  return [...KNOWN, chromium.executablePath()].find((path) => path && existsSync(path));
}

const run = (command, ...args) => execFileSync(command, args, { stdio: ['ignore', 'ignore', 'inherit'] });
const WAYS = [
  ['apt-get install chromium', () => process.getuid?.() === 0 && existsSync('/usr/bin/apt-get'), () => {
    run('apt-get', 'update', '-qq');
    run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium');
  }],
  ['npx playwright install chromium', () => true, () => run('npx', 'playwright', 'install', 'chromium')],
];

function install() {
  for (const [name, possible, act] of WAYS) {
    if (!possible()) continue;
    console.log(`no Chromium here: ${name} …`);
    try {
      act();
    } catch (error) {
      console.error(`${name} failed: ${error.message}`);
    }
    if (browser()) return;
  }
}

if (process.argv[1] === new URL(import.meta.url).pathname) {
  if (!browser()) install();
  if (!browser()) {
    console.error('The tests need a Chromium: install one, or set CHROMIUM to the path of one.');
    process.exit(1);
  }
}
