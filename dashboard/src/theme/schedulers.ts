/** How schedulers are called and drawn, as the server's registry says: by colour, marker and dash, never by colour alone. */
import { create } from 'zustand';
import type { Schemas } from '@/api/client';
import type { Theme } from './theme';

/** A line of GET /api/schedulers, as far as this module needs it. */
export type SchedulerEntry = Pick<Schemas['SchedulerEntry'], 'name' | 'label' | 'short' | 'kind' | 'style'>;
export type Marker = SchedulerEntry['style']['marker'];

interface SchedulerStyle {
  label: string;
  /** A few letters for narrow columns. */
  short: string;
  kind: SchedulerEntry['kind'];
  marker: Marker;
  /** Lengths of dashes and gaps of its lines in pixels; empty: solid. */
  dash: number[];
  colour: Record<Theme, string>;
  /** Lighter where its colour is too dark for text. */
  text: Record<Theme, string>;
}

interface SchedulerStyles {
  styles: ReadonlyMap<string, SchedulerStyle>;
  /** Specs that were shown and are not in the registry, with options or from files: the app asks the server to describe them. */
  requested: readonly string[];
}

export const useSchedulerStyles = create<SchedulerStyles>(() => ({ styles: new Map(), requested: [] }));

/** Pixels of a line: the server counts dashes in line widths. */
const LINE_WIDTH = 1.6;

function toStyle({ label, short, kind, style }: SchedulerEntry): SchedulerStyle {
  const { marker, light, dark, dark_text, dash } = style;
  return { label, short, kind, marker, dash: dash.map((each) => Math.max(1, Math.round(each * LINE_WIDTH))), colour: { dark, light }, text: { dark: dark_text || dark, light } };
}

/** Take what the server says of its schedulers. */
export function setSchedulers(entries: readonly SchedulerEntry[]): void {
  useSchedulerStyles.setState({ styles: new Map(entries.map((each) => [each.name, toStyle(each)])) });
}

const PLAIN: SchedulerStyle = { label: '', short: '', kind: 'plug-in', marker: 'circle', dash: [], colour: { dark: '#a3b2ca', light: '#4b5a72' }, text: { dark: '#a3b2ca', light: '#4b5a72' } };

/** The style of a spec; until the server has described one with options, it looks like its scheduler under its own name. */
export function schedulerStyle(name: string): SchedulerStyle {
  const { styles } = useSchedulerStyles.getState();
  const known = styles.get(name);
  if (known) return known;
  queueMicrotask(() => requestStyle(name)); // not while something is being drawn
  const base = styles.get(name.split(':')[0]!) ?? PLAIN;
  return { ...base, label: name, short: base.short || name.slice(0, 4) };
}

/** As many as the server describes at once. */
const MAX_REQUESTED = 100;

function requestStyle(name: string): void {
  const { styles, requested } = useSchedulerStyles.getState();
  if (styles.size && !styles.has(name) && !requested.includes(name) && requested.length < MAX_REQUESTED) useSchedulerStyles.setState({ requested: [...requested, name] });
}

/** The style of a spec for components that must be drawn again when the server describes it. */
export function useSchedulerStyle(name: string): SchedulerStyle {
  return useSchedulerStyles((state) => state.styles.get(name)) ?? schedulerStyle(name);
}

/** Whether it is only there to compare the others with: the oracle sees what nobody can. */
export const isReference = (name: string): boolean => schedulerStyle(name).kind === 'reference';

export const isLearner = (name: string): boolean => schedulerStyle(name).kind === 'learner';
