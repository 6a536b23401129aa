// Writes the TypeScript types of the API from its own description, or with --check says whether they are up to date.
import { readFileSync, writeFileSync } from 'node:fs';
import openapiTS, { astToString } from 'openapi-typescript';
import { compile } from 'json-schema-to-typescript';

const read = (name) => JSON.parse(readFileSync(new URL(`../schema/${name}`, import.meta.url), 'utf8'));

/** The type generator knows tuples by the older keyword only. */
function olderTuples(node) {
  if (Array.isArray(node)) return node.map(olderTuples);
  if (node === null || typeof node !== 'object') return node;
  const { prefixItems, ...rest } = Object.fromEntries(Object.entries(node).map(([k, v]) => [k, olderTuples(v)]));
  return prefixItems ? { ...rest, items: prefixItems } : rest;
}

const banner = '// Made by `npm run types` from the schema folder; do not edit.\n\n';
const rest = banner + astToString(await openapiTS(read('openapi.json')));
const live =
  banner +
  (await compile(olderTuples(read('ws.json')), 'Message', {
    bannerComment: '',
    additionalProperties: false,
    strictIndexSignatures: true,
    style: { singleQuote: true, printWidth: 118 },
  }));

let stale = false;
for (const [path, text] of [['../src/api/rest.ts', rest], ['../src/live/messages.ts', live]]) {
  const url = new URL(path, import.meta.url);
  if (!process.argv.includes('--check')) writeFileSync(url, text);
  else if (readFileSync(url, 'utf8') !== text) {
    console.error(`${path.slice(3)} is not what the schema says: run npm run types`);
    stale = true;
  }
}
process.exit(stale ? 1 : 0);
