/** Panels and heads of the pages that are read rather than watched. */
import { useId, type ReactNode } from 'react';
import { ErrorBoundary } from '@/look/Tile';

interface PanelProps {
  title: string;
  subtitle?: ReactNode;
  icon?: ReactNode;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}

export function Panel({ title, subtitle, icon, actions, className = '', children }: PanelProps) {
  const id = useId();
  return (
    <section aria-labelledby={id} className={`panel min-w-0 p-3.5 sm:p-4 ${className}`}>
      <header className="mb-2.5 flex min-h-8 flex-wrap items-center gap-x-2 gap-y-1">
        {icon && <span className="text-quiet" aria-hidden="true">{icon}</span>}
        <h3 id={id} className="flex-1 text-[0.95rem] font-semibold sm:flex-none">{title}</h3>
        <span className="order-last min-w-0 basis-full text-xs text-quiet sm:order-none sm:flex-1 sm:basis-0">{subtitle}</span>
        {actions}
      </header>
      <ErrorBoundary title={title}>{children}</ErrorBoundary>
    </section>
  );
}

export function PageHeader({ title, about, before, actions }: { title: ReactNode; about?: ReactNode; before?: ReactNode; actions?: ReactNode }) {
  return (
    <div className="mb-3 flex flex-wrap items-end gap-x-4 gap-y-2">
      <div className="min-w-0 flex-1 basis-72">
        {before && <div className="mb-1 text-sm">{before}</div>}
        <h2 className="flex flex-wrap items-center gap-2 text-xl font-semibold break-words">{title}</h2>
        {about && <p className="text-sm text-quiet">{about}</p>}
      </div>
      {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
    </div>
  );
}

/** Names and values, one below the other; in as many columns as fit. */
export function FactList({ facts, className = 'grid-cols-[repeat(auto-fill,minmax(8.5rem,1fr))]' }: { facts: [string, ReactNode][]; className?: string }) {
  return (
    <dl className={`grid gap-x-4 gap-y-2.5 text-sm ${className}`}>
      {facts.map(([name, value]) => (
        <div key={name} className="min-w-0">
          <dt className="text-xs text-quiet">{name}</dt>
          <dd className="break-words">{value}</dd>
        </div>
      ))}
    </dl>
  );
}
