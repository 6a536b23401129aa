/** Lays out who held what: every GPU of a node is a strip, and jobs without GPU share a strip of its cores. */
import type { Schemas } from '@/api/client';
import { pluralize } from '@/utils/format';

export type ClusterRun = Schemas['ClusterRun'];
export type ClusterJob = Schemas['ClusterJob'];

/** A job's part of a strip for some time: from `low` to `high`, of 1. */
export interface Piece {
  job: number;
  begin: number;
  end: number;
  low: number;
  high: number;
}

export interface Strip {
  gpu: number | null;
  pieces: Piece[];
}

export interface NodeLane {
  node: number;
  name: string;
  strips: Strip[];
}

export type Kind = 'share' | 'single' | 'gang' | 'cores';

export function kindOf(job: Pick<ClusterJob, 'gpus' | 'gpu_share'>): Kind {
  if (job.gpus === 0) return 'cores';
  if (job.gpus > 1) return 'gang';
  return job.gpu_share < 1 ? 'share' : 'single';
}

const CLOSE = 1e-9;

type Item = Omit<Piece, 'low' | 'high'> & { size: number };

/** Stack what is held at the same time; where no gap is large enough, a job lies in several. */
export function stackPieces(items: readonly Item[]): Piece[] {
  const placed: Piece[] = [];
  for (const { size, ...item } of items.toSorted((a, b) => a.begin - b.begin || a.job - b.job)) {
    const taken = placed.filter((each) => each.end > item.begin + CLOSE && each.begin < item.end - CLOSE).toSorted((a, b) => a.low - b.low);
    let [left, low] = [size, 0];
    for (const { low: from, high: to } of [...taken, { low: 1, high: 1 }]) {
      const part = Math.min(left, from - low);
      if (part > CLOSE) {
        placed.push({ ...item, low, high: low + part });
        left -= part;
      }
      low = Math.max(low, to);
      if (left <= CLOSE) break;
    }
  }
  return placed;
}

export function buildNodeLanes({ nodes, jobs, stints }: Pick<ClusterRun, 'nodes' | 'jobs' | 'stints'>): NodeLane[] {
  const held = new Map<string, ClusterRun['stints']>();
  for (const stint of stints) {
    const place = `${stint.node} ${stint.gpu ?? ''}`;
    held.set(place, [...(held.get(place) ?? []), stint]);
  }
  return nodes.map((node, number) => {
    const strip = (gpu: number | null): Strip => ({
      gpu,
      pieces: stackPieces(
        (held.get(`${number} ${gpu ?? ''}`) ?? []).map(({ job, begin, end }) => ({ job, begin, end, size: gpu === null ? jobs[job]!.cores / node.cores : jobs[job]!.gpu_share })),
      ),
    });
    const strips = Array.from({ length: node.gpus }, (_, gpu) => strip(gpu));
    const cores = strip(null);
    if (!node.gpus || cores.pieces.length) strips.push(cores);
    return { node: number, name: node.gpus ? `${number + 1} · ${node.model}` : nodes.length > 1 ? String(number + 1) : `${node.cores} cores`, strips };
  });
}

/** What a job asks for, in words. */
export function describeWidth({ gpus, gpu_share, cores }: Pick<ClusterJob, 'gpus' | 'gpu_share' | 'cores'>): string {
  if (!gpus) return pluralize(cores, 'core');
  if (gpu_share < 1) return `${Math.round(gpu_share * 100)} % of a GPU`;
  return gpus === 1 ? '1 GPU' : `${gpus} GPUs at once`;
}
