import { Download } from 'lucide-react';
import { Button } from '@/look/parts';
import { downloadText } from '../parts/save';
import { CSV_COLUMNS, exampleCsv } from './example';

/** What a CSV of tasks must look like. */
export function FormatHelp({ formats }: { formats: string[] }) {
  return (
    <details className="panel px-4 py-3 text-sm">
      <summary className="font-semibold">What a file must look like</summary>
      <p className="mt-2 text-quiet">
        A CSV with a header and a task a line{formats.length > 1 ? `; ${formats.filter((each) => each !== 'csv').join(', ')} can be read too, the format is recognised` : ''}.
      </p>
      <div className="relative my-2 overflow-x-auto" tabIndex={0} role="group" aria-label="Columns">
        <table className="w-full text-left">
          <thead className="text-xs text-quiet"><tr><th className="py-1 pr-3 font-medium">Column</th><th className="pr-3 font-medium">Needed</th><th className="font-medium">Meaning</th></tr></thead>
          <tbody>
            {CSV_COLUMNS.map(([name, needed, meaning]) => (
              <tr key={name} className="border-t border-edge/60">
                <td className="num py-1 pr-3 text-xs whitespace-nowrap">{name}</td>
                <td className={`pr-3 text-xs ${needed === 'required' ? 'font-semibold' : 'text-quiet'}`}>{needed}</td>
                <td className="text-xs">{meaning}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <Button onClick={() => downloadText('example.csv', exampleCsv())}><Download size={15} aria-hidden="true" /> Example of ten tasks</Button>
    </details>
  );
}
