/** Light or dark: what the person chose, else dark, in which charts and colours are easiest to tell apart. */
import { create } from 'zustand';

export type Theme = 'dark' | 'light';
const KEY = 'hms.theme';

function loadTheme(): Theme {
  return localStorage.getItem(KEY) === 'light' ? 'light' : 'dark';
}

export const useTheme = create<{ theme: Theme; toggle: () => void }>((set, get) => ({
  theme: loadTheme(),
  toggle: () => {
    const theme: Theme = get().theme === 'dark' ? 'light' : 'dark';
    localStorage.setItem(KEY, theme);
    applyTheme(theme);
    set({ theme });
  },
}));

export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
}

/** Colours that canvases and drawings need as values. */
export const CHART_COLOURS: Record<Theme, { ink: string; quiet: string; grid: string; panel: string; bound: string; mark: string }> = {
  dark: { ink: '#e9eff9', quiet: '#a3b2ca', grid: '#1c2944', panel: '#0d1526', bound: '#f8fafc', mark: '#fbbf4d' },
  light: { ink: '#101a2b', quiet: '#4b5a72', grid: '#e1e8f2', panel: '#ffffff', bound: '#101a2b', mark: '#8a5300' },
};

const CPU: Record<Theme, string> = { dark: '#ff7eb6', light: '#b01e68' };
const GPU: Record<Theme, [number[], number[]]> = {
  dark: [[47, 111, 228], [220, 233, 255]],
  light: [[12, 50, 130], [110, 165, 250]],
};

/** The CPU is pink, GPUs go from deep to light blue. */
export function deviceColour(kind: string, index: number, gpus: number, theme: Theme): string {
  if (kind === 'cpu') return CPU[theme];
  const [from, to] = GPU[theme];
  const share = gpus > 1 ? index / (gpus - 1) : 0;
  return `rgb(${from.map((value, i) => Math.round(value + (to[i]! - value) * share)).join(' ')})`;
}
