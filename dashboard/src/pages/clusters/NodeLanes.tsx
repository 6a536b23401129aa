/** Nodes over time: shares lie beside each other on a GPU, a gang lights up on all of its GPUs. */
import { useId, useMemo } from 'react';
import { HatchPattern } from '@/components/chartParts';
import { CHART_COLOURS, deviceColour, useTheme, type Theme } from '@/theme/theme';
import { formatSeconds } from '@/utils/format';
import { useSize } from '@/utils/hooks';
import { linearAxis, makeScale, timeUnit, trimZeros } from '@/utils/scale';
import { buildNodeLanes, kindOf, type ClusterRun, type Kind, type NodeLane, type Strip } from './lanes';

const [NAMES, AXIS, GAP] = [92, 24, 5];
const LEGEND: [Kind, string][] = [['share', 'a share of one GPU'], ['single', 'one GPU'], ['gang', 'a gang: several GPUs at once'], ['cores', 'cores only']];

export function kindColour(kind: Kind, theme: Theme): string {
  return kind === 'cores' ? deviceColour('cpu', 0, 3, theme) : deviceColour('gpu', { gang: 0, single: 1, share: 2 }[kind], 3, theme);
}

/** A pool of cores is one strip for all: it is as high as many. */
const stripHeight = (strip: Strip, lanes: number): number => (strip.gpu !== null ? 10 : lanes === 1 ? 320 : 14);

interface NodeLanesProps {
  run: ClusterRun;
  picked: number | null;
  pick: (job: number | null) => void;
  /** How many times as wide as the page; it then scrolls. */
  zoom: number;
  /** The nodes that are drawn, from the first to before the last. */
  nodes: [number, number];
}

export function NodeLanes({ run, picked, pick, zoom, nodes }: NodeLanesProps) {
  const theme = useTheme((state) => state.theme);
  const [box, size] = useSize();
  const every = useMemo(() => buildNodeLanes(run), [run]);
  const lanes = every.slice(...nodes);
  const width = Math.max(size.width, 320) * zoom;
  const axis = linearAxis(run.begin, run.end, width / 130, timeUnit((run.end - run.begin) / 4));
  const last = Math.max(axis.range[1], run.end);
  const scale = makeScale([run.begin, last], [NAMES, width - 8]);
  const x = (time: number) => scale(Math.min(last, Math.max(run.begin, time))); // what lasts beyond the page is cut
  const tops = layOut(lanes, every.length);
  const height = tops.at(-1)! + AXIS;
  const colours = CHART_COLOURS[theme];
  return (
    <div ref={box} role="group" aria-label="Nodes over time" tabIndex={zoom > 1 ? 0 : undefined} className="min-w-0 overflow-x-auto">
      <Legend kinds={new Set(run.jobs.map(kindOf))} away={run.absences.length > 0} theme={theme} />
      <svg role="img" aria-label={summarize(run)} width={width} height={height} className="mt-2 block" onMouseLeave={() => pick(null)}>
        {axis.ticks.filter((tick) => tick >= run.begin).map((tick) => (
          <g key={tick}>
            <rect x={x(tick)} y={0} width={1} height={height - AXIS + 3} fill={colours.grid} />
            <text x={Math.min(x(tick), width - 24)} y={height - 6} textAnchor="middle" className="num" fontSize={11} fill={colours.quiet}>{trimZeros(formatSeconds(tick))}</text>
          </g>
        ))}
        {lanes.map((lane, row) => <LaneRow key={lane.node} {...{ run, lane, theme, x, picked, pick }} top={tops[row]!} lanes={every.length} />)}
        <Absences run={run} first={nodes[0]} tops={tops} x={x} colour={colours.mark} />
      </svg>
    </div>
  );
}

/** Where each lane begins, and the last ends. */
function layOut(lanes: readonly NodeLane[], count: number): number[] {
  const tops = [0];
  for (const { strips } of lanes) tops.push(tops.at(-1)! + strips.reduce((sum, strip) => sum + stripHeight(strip, count), 0) + GAP);
  return tops;
}

interface LaneRowProps {
  run: ClusterRun;
  lane: NodeLane;
  lanes: number;
  top: number;
  theme: Theme;
  x: (time: number) => number;
  picked: number | null;
  pick: (job: number | null) => void;
}

function LaneRow({ run, lane, lanes, top, theme, x, picked, pick }: LaneRowProps) {
  const colours = CHART_COLOURS[theme];
  let y = top;
  return (
    <g data-testid={`node-${lane.node}`}>
      <text x={0} y={top + 11} fontSize={12} fill={colours.ink}>{lane.name}</text>
      {lane.strips.map((strip) => {
        const [from, high] = [y, stripHeight(strip, lanes)];
        y += high;
        return (
          <g key={strip.gpu ?? 'cores'}>
            <rect x={NAMES} y={from} width={Math.max(0, x(Infinity) - NAMES)} height={high - 1} fill={colours.grid} opacity={0.5} />
            {strip.pieces.map((piece, i) => {
              const on = piece.job === picked;
              return (
                <rect
                  key={i}
                  data-job={piece.job}
                  data-picked={on || undefined}
                  x={x(piece.begin)}
                  y={from + piece.low * (high - 1)}
                  width={Math.max(0.75, x(piece.end) - x(piece.begin) - 0.5)}
                  height={Math.max(0.75, (piece.high - piece.low) * (high - 1))}
                  fill={kindColour(kindOf(run.jobs[piece.job]!), theme)}
                  opacity={picked === null || on ? 1 : 0.3}
                  stroke={on ? colours.mark : colours.panel}
                  strokeWidth={on ? 1.5 : 0.4}
                  onMouseEnter={() => pick(piece.job)}
                />
              );
            })}
          </g>
        );
      })}
    </g>
  );
}

/** Spot nodes that are away; a line marks the notice. */
function Absences({ run, first, tops, x, colour }: { run: ClusterRun; first: number; tops: number[]; x: (time: number) => number; colour: string }) {
  const id = useId();
  const shown = run.absences.filter(({ node }) => node >= first && node - first < tops.length - 1);
  return (
    <>
      <defs><HatchPattern id={id} /></defs>
      {shown.map(({ node, notice, leave, back }, i) => {
        const [top, bottom] = [tops[node - first]!, tops[node - first + 1]! - GAP];
        return (
          <g key={i} data-testid="absence" pointerEvents="none">
            <rect x={x(leave)} y={top} width={Math.max(1, x(back) - x(leave))} height={bottom - top} fill={`url(#${id})`} stroke={colour} strokeWidth={0.6} />
            <rect x={x(notice)} y={top} width={1} height={bottom - top} fill={colour} />
          </g>
        );
      })}
    </>
  );
}

function Legend({ kinds, away, theme }: { kinds: Set<Kind>; away: boolean; theme: Theme }) {
  return (
    <ul aria-label="Legend" className="flex flex-wrap gap-x-4 gap-y-0.5 text-xs text-quiet">
      {LEGEND.filter(([kind]) => kinds.has(kind)).map(([kind, words]) => (
        <li key={kind} className="flex items-center gap-1.5"><span aria-hidden="true" className="h-2.5 w-4 rounded-[3px]" style={{ background: kindColour(kind, theme) }} />{words}</li>
      ))}
      {away && <li className="flex items-center gap-1.5"><span aria-hidden="true" className="h-2.5 w-4 rounded-[3px] border border-dashed border-warn" />away; a line marks the notice</li>}
    </ul>
  );
}

const summarize = ({ policy, nodes, jobs, end, begin }: ClusterRun): string =>
  `${jobs.length} jobs on ${nodes.length} nodes by ${policy}, ${formatSeconds(end - begin)} from the first arrival to the last finish. The table below lists every job.`;
