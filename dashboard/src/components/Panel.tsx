/** A panel with a title; an error inside stays inside. */
import { Component, useId, type ReactNode } from 'react';
import { WifiOff } from 'lucide-react';
import { useStaleness } from '@/live/store';
import { Button, Chip } from './controls';

interface TileProps {
  title: string;
  subtitle?: ReactNode;
  icon?: ReactNode;
  actions?: ReactNode;
  children: ReactNode;
}

export function Tile({ title, subtitle, icon, actions, children }: TileProps) {
  const age = useStaleness();
  return (
    <section aria-label={title} className={`panel flex h-full min-h-0 flex-col ${age === null ? '' : 'stale'}`}>
      <header className="tile-handle flex min-h-10 items-center gap-2 px-3.5 pt-2.5 pb-1 max-sm:flex-wrap">
        {icon && <span className="text-quiet" aria-hidden="true">{icon}</span>}
        <h2 className="text-[0.95rem] font-semibold whitespace-nowrap">{title}</h2>
        {subtitle && <span className="min-w-0 flex-1 truncate text-xs text-quiet max-sm:hidden">{subtitle}</span>}
        {!subtitle && <span className="flex-1" />}
        {age !== null && (
          <Chip tone="warn" title={`from ${age} s ago`}>
            <WifiOff size={12} aria-hidden="true" /> stale
          </Chip>
        )}
        {actions}
      </header>
      <div className="fade min-h-0 flex-1 px-3.5 pb-3">
        <ErrorBoundary title={title}>{children}</ErrorBoundary>
      </div>
    </section>
  );
}

/** Keeps an error of one widget from the others. */
export class ErrorBoundary extends Component<{ title: string; children: ReactNode }, { error: Error | null }> {
  override state = { error: null as Error | null };

  static getDerivedStateFromError(error: Error) {
    return { error };
  }

  override componentDidCatch(error: Error) {
    console.error(`${this.props.title}:`, error);
  }

  override render() {
    if (!this.state.error) return this.props.children;
    return (
      <div role="alert" className="flex h-full flex-col items-center justify-center gap-2 text-center text-sm">
        <p className="font-medium text-bad">{this.props.title} cannot be drawn</p>
        <p className="num max-w-full truncate text-xs text-quiet">{this.state.error.message}</p>
        <Button onClick={() => this.setState({ error: null })}>Try again</Button>
      </div>
    );
  }
}

interface PanelProps {
  title: string;
  subtitle?: ReactNode;
  icon?: ReactNode;
  actions?: ReactNode;
  className?: string;
  children: ReactNode;
}

/** Panels and heads of the pages that are read rather than watched. */
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
