/** A real table whose cells are coloured; the cell that is pointed at is said in words below. */
import { useState, type ReactNode } from 'react';
import { textColourOn, toCss, type Rgb } from '@/utils/colour';
import { useRovingFocus } from '@/utils/hooks';

export interface MatrixCell {
  text: string;
  /** null: nothing to compare. */
  colour: Rgb | null;
  description: string;
}

export interface MatrixHead {
  key: string;
  row: ReactNode;
  column: ReactNode;
  description: string;
}

interface MatrixProps {
  /** The main fact; said below while no cell is pointed at. */
  summary: string;
  heads: MatrixHead[];
  cell: (row: number, column: number) => MatrixCell;
  /** Room for so many lines of words. */
  lines?: 1 | 2;
}

const HATCHED = 'repeating-linear-gradient(45deg, var(--edge) 0 1.5px, transparent 1.5px 6px)';

export function Matrix({ summary, heads, cell, lines = 1 }: MatrixProps) {
  const [pointed, setPointed] = useState<[number, number] | null>(null);
  const roving = useRovingFocus(heads.length, heads.length);
  const leave = () => setPointed(null);
  const inside = pointed && pointed[0] < heads.length && pointed[1] < heads.length;
  return (
    <div className="flex h-full flex-col gap-1">
      <div className="min-h-0 flex-1 overflow-auto" data-roving="" onMouseLeave={leave} onBlur={leave}>
        <table className="h-full w-full table-fixed border-separate border-spacing-0.5 text-xs">
          <caption className="sr-only">{summary}</caption>
          <thead>
            <tr>
              <td className="w-[6.4rem]" />
              {heads.map((head) => (
                <th key={head.key} scope="col" title={head.description} className="h-5 min-w-7 overflow-hidden font-medium text-quiet">{head.column}</th>
              ))}
            </tr>
          </thead>
          <tbody>
            {heads.map((head, row) => (
              <tr key={head.key}>
                <th scope="row" title={head.description} className="truncate pr-1 text-left font-medium">{head.row}</th>
                {heads.map((other, column) => {
                  const { text, colour, description } = cell(row, column);
                  const point = () => setPointed([row, column]);
                  return (
                    <td
                      key={other.key}
                      aria-label={description}
                      {...roving(row, column)}
                      onFocus={point}
                      onMouseEnter={point}
                      className="num h-4 rounded-[3px] p-0 text-center leading-none font-semibold focus-visible:outline-offset-0"
                      style={colour ? { background: toCss(colour), color: textColourOn(colour) } : { background: HATCHED, color: 'var(--quiet)' }}
                    >
                      {text}
                    </td>
                  );
                })}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
      <p data-testid="words" className={`shrink-0 text-xs leading-snug text-quiet ${lines === 2 ? 'line-clamp-2 h-[2.2rem]' : 'h-[1.1rem] truncate'}`}>
        {inside ? cell(...pointed).description : summary}
      </p>
    </div>
  );
}
