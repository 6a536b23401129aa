import { Search } from 'lucide-react';

/** A narrow box to filter by; its help says what can be written. */
export function SearchBox({ label, help, value, onChange, wrong = false }: { label: string; help?: string; value: string; onChange: (value: string) => void; wrong?: boolean }) {
  return (
    <span className="relative inline-flex items-center">
      <Search size={13} aria-hidden="true" className="pointer-events-none absolute left-2 text-quiet" />
      <input
        type="search"
        aria-label={label}
        title={help}
        aria-invalid={wrong || undefined}
        placeholder="filter"
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={`min-h-8 w-20 sm:w-28 rounded-lg border bg-well py-1 pr-1 pl-7 text-sm placeholder:text-quiet hover:border-strong ${wrong ? 'border-bad' : 'border-edge'}`}
      />
    </span>
  );
}
