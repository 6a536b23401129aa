/** Workloads: the list, or one of them by the address. */
import { FileSpreadsheet, Shapes } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useFetch';
import { AsyncContent, Skeleton } from '@/components/AsyncContent';
import { Chip, ErrorMessage, Link } from '@/components/controls';
import { PageHeader } from '@/components/Panel';
import { useRouter } from '@/state/router';
import { formatBytes, formatCount, formatSeconds } from '@/utils/format';
import { SmallHistogram } from './workloads/Histogram';
import { FormatHelp, UploadArea } from './workloads/UploadArea';
import { useShape } from './workloads/useShape';
import { WorkloadDetail } from './workloads/WorkloadDetail';

export default function WorkloadsPage() {
  const name = useRouter((state) => state.route.query.get('name'));
  return name ? <WorkloadDetail key={name} name={name} /> : <WorkloadList />;
}

type Workloads = Schemas['Workloads'];

/** What there is to race on: files that were uploaded, and presets. */
function WorkloadList() {
  const answer = useFetch<Workloads>('/api/workloads');
  return (
    <>
      <PageHeader title="Workloads" about="Streams of tasks to race on: upload a trace of your own, or take one that is built in." />
      <AsyncContent answer={answer} skeleton={<Skeleton heights={['h-20', 'h-12', 'h-40', 'h-40']} label="Loading the workloads" />}>
        {(workloads) => <WorkloadSections workloads={workloads} refetch={answer.refetch} />}
      </AsyncContent>
    </>
  );
}

function WorkloadSections({ workloads: { workloads, most_bytes, formats, problems }, refetch }: { workloads: Workloads; refetch: () => void }) {
  const files = workloads.filter((each) => each.kind === 'upload');
  const presets = workloads.filter((each) => each.kind === 'preset');
  return (
    <div className="space-y-4">
      <div className="space-y-3">
        <UploadArea most={most_bytes} formats={formats} onDone={refetch} />
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

type WorkloadLine = Schemas['WorkloadLine'];

/** Workloads as cards: name, size, and small pictures of their shape. */
function WorkloadCards({ lines, label }: { lines: WorkloadLine[]; label: string }) {
  return (
    <ul aria-label={label} className="grid gap-3 sm:grid-cols-2 lg:grid-cols-3 2xl:grid-cols-4 min-[2400px]:grid-cols-5">
      {lines.map((line) => <li key={line.spec} className="min-w-0"><WorkloadCard line={line} /></li>)}
    </ul>
  );
}

function WorkloadCard({ line }: { line: WorkloadLine }) {
  const Icon = line.kind === 'upload' ? FileSpreadsheet : Shapes;
  return (
    <article className="panel flex h-full flex-col gap-2 p-3.5 hover:border-strong">
      <header className="flex items-center gap-2">
        <Icon size={15} className="shrink-0 text-quiet" aria-hidden="true" />
        <h4 className="min-w-0 flex-1 truncate font-semibold" title={line.name}>
          <Link to={`/workloads?name=${encodeURIComponent(line.name)}`} className="underline-offset-2 hover:underline">{line.name}</Link>
        </h4>
        {line.in_use && <Chip tone="good">in use</Chip>}
        {line.dependencies && <Chip title="Tasks wait for others">graph</Chip>}
      </header>
      <ShapePreview line={line} />
      <p className="flex-1 text-xs text-quiet">{line.kind === 'upload' ? describeFile(line) : line.summary}</p>
      {!line.live && <p className="text-xs text-warn">For experiments only: {line.obstacle}</p>}
    </article>
  );
}

function describeFile({ format, tasks, bytes: size, duration }: WorkloadLine): string {
  return [`${formatCount(tasks)} tasks`, duration === null ? '' : `over ${formatSeconds(duration)}`, format ?? '', formatBytes(size)].filter(Boolean).join(' · ');
}

function ShapePreview({ line }: { line: WorkloadLine }) {
  const { shape, problem } = useShape(line);
  if (problem) return <p className="flex h-14 items-center text-xs text-bad">{problem.message}</p>;
  if (!shape) return <div className="skeleton h-14" />;
  const { size, compute_intensity: intensity, arrivals, span } = shape;
  return (
    <div className="flex h-14 gap-2">
      <SmallHistogram edges={size.edges} counts={size.counts} log={size.scale === 'log'} from={size.scale === 'log' ? 100 : 0} to={5000} label={`size ${formatRange(size.minimum, size.maximum)}`} />
      <SmallHistogram edges={intensity.edges} counts={intensity.counts} from={0} to={1} label={`intensity ${intensity.minimum.toFixed(1)} – ${intensity.maximum.toFixed(1)}`} />
      {span > 0 ? <SmallHistogram edges={arrivals.edges} counts={arrivals.counts} from={0} to={0} label={`arrivals, ${formatSeconds(span)}`} /> : <p className="flex-1 self-center text-center text-[0.7rem] text-quiet">all arrive at once</p>}
    </div>
  );
}

const formatRange = (low: number, high: number): string => (low === high ? formatCount(low) : `${formatCount(low)} – ${formatCount(high)}`);
