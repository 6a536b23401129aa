/** Everything that has run: filter it, sort it, tick some to compare. */
import { FlaskConical, GitCompareArrows, Plus, Search } from 'lucide-react';
import { RequestError, Skeleton } from '@/components/AsyncContent';
import { Button, buttonClass, EmptyState, INPUT_CLASS, Link, Select } from '@/components/controls';
import { PageHeader } from '@/components/Panel';
import { pluralize } from '@/utils/format';
import { navigate } from '@/state/router';
import { useMinWidth } from '@/utils/hooks';
import { filterRows, MAX_COMPARED, SORTS, useRunList, useRuns, type Row, type SortKey, type View } from './runs';
import { RunCards, RunTable } from './RunTable';

export function RunList() {
  const { rows, problem, refetch, older } = useRuns();
  return (
    <>
      <PageHeader
        title="Experiments"
        about="Live races and comparisons over seeds, newest first. Open one for its figures with intervals, or tick several and compare them."
        actions={<Link to="/experiments?new=1" className={buttonClass('main')}><Plus size={15} aria-hidden="true" /> New experiment</Link>}
      />
      {problem && <div className="mb-3"><RequestError problem={problem} retry={refetch} /></div>}
      {rows ? <RunListing rows={rows} older={older} /> : !problem && <div className="panel p-4"><Skeleton heights={['h-8', 'h-12', 'h-12', 'h-12', 'h-12', 'h-12']} label="Loading the runs" /></div>}
    </>
  );
}

function RunListing({ rows, older }: { rows: Row[]; older: (() => void) | null }) {
  const choices = useRunList();
  const wide = useMinWidth(1040);
  if (!rows.length) return <NoRuns />;
  const shown = filterRows(rows, choices);
  return (
    <section aria-label="Runs" className="panel p-3 sm:p-4">
      <Filters shown={shown.length} all={rows.length} sortable={!wide} />
      {!shown.length ? (
        <EmptyState title="No run matches">
          <Button onClick={() => choices.set({ kind: 'all', text: '' })}>Show all {rows.length}</Button>
        </EmptyState>
      ) : wide ? (
        <RunTable rows={shown} />
      ) : (
        <RunCards rows={shown} />
      )}
      {older && <p className="mt-3 text-center"><Button onClick={older}>Show older runs</Button></p>}
      <CompareBar rows={rows} />
    </section>
  );
}

function Filters({ shown, all, sortable }: { shown: number; all: number; sortable: boolean }) {
  const { kind, text, sort, down, set } = useRunList();
  return (
    <div className="mb-2 flex flex-wrap items-center gap-2">
      <span className="relative min-w-40 flex-1 sm:max-w-72">
        <Search size={14} className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-quiet" aria-hidden="true" />
        <input type="search" aria-label="Filter by text" placeholder="title, workload, scheduler" className={`${INPUT_CLASS} pl-8 font-sans`} value={text} onChange={(event) => set({ text: event.target.value })} />
      </span>
      <Select aria-label="Kind" value={kind} onChange={(event) => set({ kind: event.target.value as View['kind'] })}>
        <option value="all">All kinds</option>
        <option value="live">Live races</option>
        <option value="comparison">Comparisons</option>
      </Select>
      {sortable && (
        <Select aria-label="Sort by" value={`${sort} ${down ? 'down' : 'up'}`} onChange={(event) => set(parseSort(event.target.value))}>
          {Object.entries(SORTS).flatMap(([name, words]) => [
            <option key={`${name} down`} value={`${name} down`}>{words} ↓</option>,
            <option key={`${name} up`} value={`${name} up`}>{words} ↑</option>,
          ])}
        </Select>
      )}
      <span role="status" className="text-xs text-quiet">{shown === all ? pluralize(all, 'run') : `${shown} of ${pluralize(all, 'run')}`}</span>
    </div>
  );
}

function parseSort(value: string): Partial<View> {
  const [sort, way] = value.split(' ');
  return { sort: sort as SortKey, down: way === 'down' };
}

/** Stays at the bottom of the window while something is ticked. */
function CompareBar({ rows }: { rows: Row[] }) {
  const { picked, clear } = useRunList();
  const here = picked.filter((id) => rows.some((row) => row.id === id));
  const ready = here.length >= 2 && here.length <= MAX_COMPARED;
  const says = here.length > MAX_COMPARED ? `at most ${MAX_COMPARED} fit side by side` : here.length === 1 ? 'tick one more to compare' : '';
  if (!here.length) return null;
  return (
    <div className="sticky bottom-2 mt-3 flex min-h-12 flex-wrap items-center gap-2 rounded-xl border border-strong bg-raised px-3 py-2 text-sm">
      <span role="status" className="min-w-0 flex-1">{`${pluralize(here.length, 'run')} ticked${says ? `: ${says}` : ''}`}</span>
      <Button kind="bare" onClick={clear}>Clear</Button>
      <Button kind="main" disabled={!ready} onClick={() => navigate(`/experiments?runs=${here.join(',')}`)}>
        <GitCompareArrows size={15} aria-hidden="true" /> Compare
      </Button>
    </div>
  );
}

function NoRuns() {
  return (
    <div className="panel mx-auto mt-6 max-w-xl p-8">
      <EmptyState title="Nothing has run yet">
        <FlaskConical size={28} className="order-first text-quiet" aria-hidden="true" />
        <p>A live race becomes a run when you start it. An experiment compares schedulers on the same tasks over several seeds, so that luck can be told from skill.</p>
        <div className="flex flex-wrap justify-center gap-2">
          <Link to="/experiments?new=1" className={buttonClass('main')}>New experiment</Link>
          <Link to="/" className={buttonClass()}>Go to the live race</Link>
        </div>
      </EmptyState>
    </div>
  );
}
