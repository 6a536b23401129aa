/** Imports point one way: from the app down to what knows nothing of it. */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, it } from 'vitest';

/** Lowest first; a file imports from its own folder and from those before it. */
const LAYERS = ['utils', 'api', 'live', 'theme', 'state', 'components', 'widgets', 'pages', 'app', 'main'];
const EXEMPT = /\.test\.tsx?$|^testing\/|^setup-tests|\.d\.ts$/;
const IMPORT = /^(?:import|export) [^'"]*?from ['"]([^'"]+)['"]|import\(['"]([^'"]+)['"]\)/gm;

const SRC = join(process.cwd(), 'src');
const files = readdirSync(SRC, { recursive: true, encoding: 'utf8' }).filter((path) => /\.tsx?$/.test(path) && !EXEMPT.test(path));
const layer = (path: string): number => LAYERS.indexOf(path.split(/[/.]/)[0]!);

function resolveImport(from: string, specifier: string): string | undefined {
  if (!/^(@\/|\.)/.test(specifier)) return undefined;
  const base = specifier.startsWith('@/') ? specifier.slice(2) : normalize(join(dirname(from), specifier));
  return [`${base}.ts`, `${base}.tsx`, `${base}/index.ts`].find((path) => files.includes(path));
}

const imports = new Map(files.map((path) => {
  const specifiers = [...readFileSync(join(SRC, path), 'utf8').matchAll(IMPORT)].map((match) => match[1] ?? match[2]!);
  return [path, specifiers.map((each) => resolveImport(path, each)).filter((each) => each !== undefined)];
}));
const arrows = [...imports].flatMap(([from, targets]) => targets.map((to) => [from, to] as const));

it('knows the layer of every file and finds its imports', () => {
  expect(files.filter((path) => layer(path) < 0)).toEqual([]);
  expect(arrows.length).toBeGreaterThan(files.length);
});

it('has no import that points upwards', () => {
  expect(arrows.filter(([from, to]) => layer(to) > layer(from)).map((arrow) => arrow.join(' → '))).toEqual([]);
});

it('has no cycle', () => {
  // Peel off what imports nothing that is left, and what nothing left imports: what remains are the cycles.
  const left = new Map(imports);
  const loose = () => [...left].filter(([path, targets]) => !targets.some((to) => left.has(to)) || ![...left.values()].flat().includes(path));
  for (let found = loose(); found.length; found = loose()) for (const [path] of found) left.delete(path);
  expect([...left.keys()]).toEqual([]);
});

it('lets components receive what pages and widgets fetch', () => {
  const fetching = files.filter((path) => path.startsWith('components/') && /import \{[^}]*\b(useFetch|get|post|patch|remove)\b/.test(readFileSync(join(SRC, path), 'utf8')));
  expect(fetching).toEqual([]);
});
