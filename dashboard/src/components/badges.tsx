/** Says of a race whether its tasks really ran: in a word and a picture, in full when pointed at. */
import { FlaskConical, Ruler } from 'lucide-react';
import { Chip } from './controls';

const MEASURED = 'Every task really runs, one scheduler after the other: times of execution are measured on the devices. Queues and waiting are those that these measured times make. Energy and cost are measured seconds times the watts and prices of the model.';
const SIMULATED = 'Nothing really runs: times follow the formulas of the model, or come with the workload.';

export function MeasuredBadge({ measured }: { measured: boolean }) {
  const Icon = measured ? Ruler : FlaskConical;
  return (
    <Chip tone={measured ? 'accent' : 'quiet'} title={measured ? MEASURED : SIMULATED}>
      <Icon size={12} aria-hidden="true" /> {measured ? 'measured' : 'simulated'}
    </Chip>
  );
}

const STATE_TONES = { running: 'good', queued: 'accent', finished: 'quiet', interrupted: 'warn', failed: 'bad', cancelled: 'warn' } as const;
const STATE_SIGNS: Record<string, string> = { running: '●', queued: '○', finished: '✓', interrupted: '‖', failed: '✕', cancelled: '–' };

/** The state in a word and a sign. */
export function StateBadge({ state, title }: { state: string; title?: string }) {
  const tone = state in STATE_TONES ? STATE_TONES[state as keyof typeof STATE_TONES] : 'quiet';
  return (
    <Chip tone={tone} {...(title ? { title } : {})}>
      <span aria-hidden="true">{STATE_SIGNS[state] ?? '·'}</span>
      {state}
    </Chip>
  );
}
