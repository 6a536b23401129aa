/** What there is to race on: files that were uploaded, and presets. */
import type { Schemas } from '@/api/client';
import { useGet } from '@/api/useGet';
import { ErrorLine } from '@/look/parts';
import { Asked, Skeleton } from '../parts/Asked';
import { PageHead } from '../parts/Panel';
import { Cards } from './Cards';
import { Help } from './Help';
import { Upload } from './Upload';

type Workloads = Schemas['Workloads'];

export function List() {
  const answer = useGet<Workloads>('/api/workloads');
  return (
    <>
      <PageHead title="Workloads" about="Streams of tasks to race on: upload a trace of your own, or take one that is built in." />
      <Asked answer={answer} skeleton={<Skeleton heights={['h-20', 'h-12', 'h-40', 'h-40']} label="Loading the workloads" />}>
        {(workloads) => <Known workloads={workloads} again={answer.again} />}
      </Asked>
    </>
  );
}

function Known({ workloads: { workloads, most_bytes, formats, problems }, again }: { workloads: Workloads; again: () => void }) {
  const files = workloads.filter((each) => each.kind === 'upload');
  const presets = workloads.filter((each) => each.kind === 'preset');
  return (
    <div className="space-y-4">
      <div className="space-y-3">
        <Upload most={most_bytes} formats={formats} onDone={again} />
        <Help formats={formats} />
        {problems.map((problem) => <ErrorLine key={problem} message={problem} />)}
      </div>
      <section className="space-y-2">
        <h3 className="font-semibold">Uploaded <span className="num text-sm font-normal text-quiet">{files.length}</span></h3>
        {files.length ? <Cards lines={files} label="Uploaded workloads" /> : <p className="text-sm text-quiet">None yet. A file that you upload can be raced on and used in experiments.</p>}
      </section>
      <section className="space-y-2">
        <h3 className="font-semibold">Built in <span className="num text-sm font-normal text-quiet">{presets.length}</span></h3>
        <Cards lines={presets} label="Built-in workloads" />
      </section>
    </div>
  );
}
