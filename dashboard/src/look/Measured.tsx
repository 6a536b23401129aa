/** Says of a race whether its tasks really ran: in a word and a picture, in full when pointed at. */
import { FlaskConical, Ruler } from 'lucide-react';
import { Chip } from './parts';

export const MEASURED = 'Every task really runs, one scheduler after the other: times of execution are measured on the devices. Queues and waiting are those that these measured times make. Energy and cost are measured seconds times the watts and prices of the model.';
export const SIMULATED = 'Nothing really runs: times follow the formulas of the model, or come with the workload.';

export function MeasuredBadge({ measured }: { measured: boolean }) {
  const Icon = measured ? Ruler : FlaskConical;
  return (
    <Chip tone={measured ? 'accent' : 'quiet'} title={measured ? MEASURED : SIMULATED}>
      <Icon size={12} aria-hidden="true" /> {measured ? 'measured' : 'simulated'}
    </Chip>
  );
}
