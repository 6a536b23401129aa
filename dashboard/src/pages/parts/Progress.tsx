/** How much is done; `label` says of what, for people who do not see the bar. */
export function ProgressBar({ done, of, label }: { done: number; of: number; label: string }) {
  const share = of > 0 ? Math.min(1, done / of) : 0;
  return (
    <div role="progressbar" aria-label={label} aria-valuemin={0} aria-valuemax={of} aria-valuenow={done} className="h-2 overflow-hidden rounded-full bg-well ring-1 ring-edge">
      <div className="h-full origin-left rounded-full bg-accent transition-transform" style={{ transform: `scaleX(${share})` }} />
    </div>
  );
}
