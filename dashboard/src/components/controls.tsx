/** Buttons, inputs, chips, links and messages that everything is built from. */
import type { AnchorHTMLAttributes, ButtonHTMLAttributes, ReactNode, SelectHTMLAttributes } from 'react';
import { Search } from 'lucide-react';
import { navigate } from '@/state/router';

type ButtonKind = 'plain' | 'main' | 'danger' | 'bare';
const BUTTON_CLASSES: Record<ButtonKind, string> = {
  plain: 'border border-edge bg-raised hover:border-strong',
  main: 'border border-accent bg-accent text-on-accent font-semibold hover:brightness-110',
  danger: 'border border-edge bg-raised text-bad hover:border-bad',
  bare: 'border border-transparent hover:bg-raised',
};

export function Button({ kind = 'plain', className = '', ...rest }: ButtonHTMLAttributes<HTMLButtonElement> & { kind?: ButtonKind }) {
  return (
    <button
      type="button"
      className={`inline-flex min-h-8 items-center justify-center gap-1.5 rounded-lg px-2.5 py-1 text-sm whitespace-nowrap disabled:cursor-not-allowed disabled:opacity-50 ${BUTTON_CLASSES[kind]} ${className}`}
      {...rest}
    />
  );
}

export function ToggleButton({ on, set, title, children }: { on: boolean; set: (on: boolean) => void; title?: string; children: ReactNode }) {
  return (
    <Button aria-pressed={on} title={title} onClick={() => set(!on)} className="aria-pressed:border-accent aria-pressed:text-accent">
      {children}
    </Button>
  );
}

type ChipTone = 'quiet' | 'good' | 'warn' | 'bad' | 'accent';
const CHIP_CLASSES: Record<ChipTone, string> = {
  quiet: 'text-quiet border-edge',
  good: 'text-good border-good/40',
  warn: 'text-warn border-warn/50',
  bad: 'text-bad border-bad/50',
  accent: 'text-accent border-accent/50',
};

export function Chip({ tone = 'quiet', title, children }: { tone?: ChipTone; title?: string; children: ReactNode }) {
  return (
    <span title={title} className={`inline-flex items-center gap-1 rounded-full border px-2 py-0.5 text-xs whitespace-nowrap ${CHIP_CLASSES[tone]}`}>
      {children}
    </span>
  );
}

export function Select({ className = '', ...rest }: SelectHTMLAttributes<HTMLSelectElement>) {
  return <select className={`min-h-8 max-w-full rounded-lg border border-edge bg-raised px-2 py-1 text-sm hover:border-strong ${className}`} {...rest} />;
}

export function Field({ label, hint, children }: { label: string; hint?: string; children: ReactNode }) {
  return (
    <label className="block text-sm">
      <span className="mb-1 flex items-baseline justify-between gap-2">
        <span className="font-medium">{label}</span>
        {hint && <span className="text-xs text-quiet">{hint}</span>}
      </span>
      {children}
    </label>
  );
}

export const INPUT_CLASS = 'w-full min-h-8 rounded-lg border border-edge bg-well px-2 py-1 text-sm num hover:border-strong';

/** What a place says that has nothing to show. */
export function EmptyState({ title, children }: { title: string; children?: ReactNode }) {
  return (
    <div className="flex h-full min-h-24 flex-col items-center justify-center gap-2 p-4 text-center text-sm text-quiet">
      <p className="font-medium text-ink">{title}</p>
      {children}
    </div>
  );
}

export function ErrorMessage({ message, hint }: { message: string; hint?: string }) {
  return (
    <p role="alert" className="rounded-lg border border-bad/50 bg-bad/10 px-3 py-2 text-sm">
      <strong className="font-semibold text-bad">{message}</strong>
      {hint && !message.includes(hint) && <span className="text-quiet"> {hint}</span>}
    </p>
  );
}

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

/** A link inside the dashboard: it opens without loading the page anew, and in a new tab when asked to. */
export function Link({ to, className = 'text-accent underline-offset-2 hover:underline', ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { to: string }) {
  return (
    <a
      href={to}
      className={className}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        navigate(to);
      }}
      {...rest}
    />
  );
}

const LINK_CLASSES = {
  plain: 'border-edge bg-raised hover:border-strong',
  main: 'border-accent bg-accent text-on-accent font-semibold hover:brightness-110',
};

/** Classes of a link that looks like a button. */
export const buttonClass = (kind: keyof typeof LINK_CLASSES = 'plain'): string =>
  `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-lg border px-2.5 py-1 text-sm whitespace-nowrap ${LINK_CLASSES[kind]}`;
