import { useEffect, useId, useRef, useState } from 'react';

interface SliderProps {
  label: string;
  value: number;
  min: number;
  max: number;
  step: number;
  format: (value: number) => string;
  /** Called when the person has settled on a value. */
  onCommit: (value: number) => void;
  disabled?: boolean;
  className?: string;
  hint?: string;
}

const SETTLE_MS = 350;

/** A slider that follows the race until it is moved, and gives its order once the hand rests. */
export function Slider({ label, value, min, max, step, format, onCommit, disabled, className = '', hint }: SliderProps) {
  const id = useId();
  const [own, setOwn] = useState<number | null>(null);
  const timer = useRef<ReturnType<typeof setTimeout> | null>(null);
  useEffect(() => {
    // An answer to an earlier order must not pull the slider back while it is being moved.
    if (!timer.current) setOwn(null);
  }, [value]);
  useEffect(() => () => void (timer.current && clearTimeout(timer.current)), []);
  const shown = own ?? value;
  const moved = (next: number) => {
    setOwn(next);
    if (timer.current) clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = null;
      onCommit(next);
    }, SETTLE_MS);
  };
  return (
    <div className={`flex items-center gap-2 text-sm ${className}`} title={hint}>
      <label htmlFor={id} className="whitespace-nowrap text-quiet">{label}</label>
      <input id={id} type="range" className="w-0 min-w-20 flex-1 accent-[var(--accent)]" min={min} max={max} step={step} value={Math.min(max, Math.max(min, shown))} disabled={disabled} aria-valuetext={format(shown)} onChange={(event) => moved(Number(event.target.value))} />
      <output htmlFor={id} className="num min-w-12 text-right font-semibold whitespace-nowrap">{format(shown)}</output>
    </div>
  );
}
