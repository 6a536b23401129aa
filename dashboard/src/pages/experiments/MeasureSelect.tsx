import { Select } from '@/look/parts';
import { sortMeasures, MAIN_MEASURES, measureLabel, type Measure } from './measures';

/** Choose a measure; those that most people look for come first. */
export function MeasureSelect({ measures, value, onChange }: { measures: readonly Measure[]; value: string; onChange: (name: string) => void }) {
  const option = ({ name }: Measure) => <option key={name} value={name}>{measureLabel(name)}</option>;
  const order = sortMeasures(measures);
  const rest = order.filter(({ name }) => !MAIN_MEASURES.includes(name));
  return (
    <Select aria-label="Measure" value={value} onChange={(event) => onChange(event.target.value)}>
      {order.filter(({ name }) => MAIN_MEASURES.includes(name)).map(option)}
      {rest.length > 0 && <optgroup label="More">{rest.map(option)}</optgroup>}
    </Select>
  );
}
