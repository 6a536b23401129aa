/** What models say about their training, in words. */
import { formatNumber, isKnown, formatSeconds } from '@/look/format';
import { formatValue, humanize } from '../parts/words';

type Training = Record<string, unknown>;

/** Figures of how well a model does, as far as it tells them. */
const ACCURACY: [key: string, label: string, text: (value: number) => string][] = [
  ['share_mae', 'share error', (value) => formatNumber(value)],
  ['share_r2', 'share R²', (value) => formatNumber(value)],
  ['seconds_mae', 'time error', (value) => formatSeconds(value)],
  ['seconds_r2', 'time R²', (value) => formatNumber(value)],
  ['mae', 'error', (value) => formatNumber(value)],
  ['r2', 'R²', (value) => formatNumber(value)],
  ['loss', 'loss', (value) => formatNumber(value)],
  ['reward_mean', 'reward', (value) => formatNumber(value)],
];

export function describeAccuracy(training: Training): string[] {
  return ACCURACY.flatMap(([key, label, text]) => {
    const value = training[key];
    return typeof value === 'number' && isKnown(value) ? [`${label} ${text(value)}`] : [];
  });
}

/** The rest of what is known: retrains 8, classes cpu, gpu. */
export function describeTraining(training: Training): string[] {
  const told = new Set(ACCURACY.map(([key]) => key));
  return Object.entries(training).filter(([key]) => !told.has(key)).map(([key, value]) => `${humanize(key)} ${formatValue(value)}`);
}

/** The file of a path, without its folders. */
export const fileName = (path: string): string => path.split(/[/\\]/).pop() ?? path;

/** Models that the server keeps for itself, one for each cluster, against those that a person has trained. */
export const isCache = (folder: string): boolean => /(^|[/\\])(\.?cache|Caches)[/\\]/.test(folder);

export const TRAIN_COMMANDS: [about: string, command: string][] = [
  ['The forest, on two presets of 10,000 tasks each', 'hms train hybrid_ml --presets mixed,long_tail -o models/hybrid_ml.model'],
  ['The agent, for eight GPUs, with its learning curve', 'hms train rl_agent --gpus 8 --curve models/curve.png -o models/rl_agent.model'],
  ['Use a model in a comparison', 'hms compare long_tail -s hybrid_ml:model=models/hybrid_ml.model,greedy'],
  ['What is in the folder', 'hms models models'],
];

/** How to train a model of this kind anew, over the file that is damaged. */
export const retrainCommand = (kind: string, folder: string, file: string): string => `hms train ${kind} -o ${folder}/${file}`;
