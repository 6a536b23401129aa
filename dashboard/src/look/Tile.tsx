/** A panel with a title; an error inside stays inside. */
import { Component, type ReactNode } from 'react';
import { WifiOff } from 'lucide-react';
import { useStaleness } from '@/live/store';
import { Chip, Button } from './parts';

export interface TileProps {
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
