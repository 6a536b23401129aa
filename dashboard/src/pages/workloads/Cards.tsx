/** Workloads as cards: name, size, and small pictures of their shape. */
import { FileSpreadsheet, Shapes } from 'lucide-react';
import type { Schemas } from '@/api/client';
import { formatBytes, formatCount, formatSeconds } from '@/look/format';
import { Chip } from '@/look/parts';
import { Link } from '../parts/Link';
import { SmallHistogram } from './Histogram';
import { useShape } from './useShape';

type WorkloadLine = Schemas['WorkloadLine'];

export function WorkloadCards({ lines, label }: { lines: WorkloadLine[]; label: string }) {
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
