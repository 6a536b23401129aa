import type { Schemas } from '@/api/client';
import { useFetch } from '@/api/useGet';
import { Field, Select } from '@/look/parts';
import { Link } from '../parts/Link';
import { pluralize, workloadName, workloadPath } from '../parts/words';

type WorkloadLine = Schemas['WorkloadLine'];

/** Presets and uploaded files; one that came with the address is there even before the list is. */
export function WorkloadPicker({ value, onChange }: { value: string; onChange: (spec: string) => void }) {
  const { data, problem } = useFetch<Schemas['Workloads']>('/api/workloads');
  const known = data?.workloads ?? [];
  const option = (each: WorkloadLine) => <option key={each.spec} value={each.spec}>{each.kind === 'upload' ? `${each.name} (${pluralize(each.tasks, 'task')})` : each.name}</option>;
  const files = known.filter((each) => each.kind === 'upload');
  return (
    <div>
      <Field label="Workload" hint={problem ? 'the list cannot be read' : ''}>
        <Select className="w-full" value={value} onChange={(event) => onChange(event.target.value)}>
          {!known.some((each) => each.spec === value) && <option value={value}>{workloadName(value)}</option>}
          {files.length > 0 && <optgroup label="Uploaded">{files.map(option)}</optgroup>}
          <optgroup label="Built in">{known.filter((each) => each.kind === 'preset').map(option)}</optgroup>
        </Select>
      </Field>
      <p className="mt-1 flex min-h-5 gap-3 text-xs text-quiet">
        <span className="min-w-0 flex-1">{known.find((each) => each.spec === value)?.summary}</span>
        <Link to={workloadPath(value)}>its shape</Link>
      </p>
    </div>
  );
}
