/** What there is to race on: files that were uploaded, and presets. */
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useGet';
import { ErrorMessage } from '@/look/parts';
import { AsyncContent, Skeleton } from '../parts/Asked';
import { PageHeader } from '../parts/Panel';
import { WorkloadCards } from './Cards';
import { FormatHelp } from './Help';
import { UploadArea } from './Upload';

type Workloads = Schemas['Workloads'];

export function WorkloadList() {
  const answer = useFetch<Workloads>('/api/workloads');
  return (
    <>
      <PageHeader title="Workloads" about="Streams of tasks to race on: upload a trace of your own, or take one that is built in." />
      <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-20', 'h-12', 'h-40', 'h-40']} label="Loading the workloads" />}>
        {(workloads) => <WorkloadSections workloads={workloads} again={answer.refetch} />}
      </AsyncContent>
    </>
  );
}

function WorkloadSections({ workloads: { workloads, most_bytes, formats, problems }, again }: { workloads: Workloads; again: () => void }) {
  const files = workloads.filter((each) => each.kind === 'upload');
  const presets = workloads.filter((each) => each.kind === 'preset');
  return (
    <div className="space-y-4">
      <div className="space-y-3">
        <UploadArea most={most_bytes} formats={formats} onDone={again} />
        <FormatHelp formats={formats} />
        {problems.map((problem) => <ErrorMessage key={problem} message={problem} />)}
      </div>
      <section className="space-y-2">
        <h3 className="font-semibold">Uploaded <span className="num text-sm font-normal text-quiet">{files.length}</span></h3>
        {files.length ? <WorkloadCards lines={files} label="Uploaded workloads" /> : <p className="text-sm text-quiet">None yet. A file that you upload can be raced on and used in experiments.</p>}
      </section>
      <section className="space-y-2">
        <h3 className="font-semibold">Built in <span className="num text-sm font-normal text-quiet">{presets.length}</span></h3>
        <WorkloadCards lines={presets} label="Built-in workloads" />
      </section>
    </div>
  );
}
