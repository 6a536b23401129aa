import { X } from 'lucide-react';
import { dismissToast, useToasts } from './toasts';

const TOAST_TONES = { good: 'border-good/60', warn: 'border-warn/60', bad: 'border-bad/70' };

export function Toasts() {
  const toasts = useToasts((state) => state.toasts);
  return (
    <div role="status" aria-live="polite" className="pointer-events-none fixed right-3 bottom-3 z-50 flex w-80 max-w-[calc(100vw-1.5rem)] flex-col gap-2">
      {toasts.map(({ id, tone, title, text }) => (
        <div key={id} className={`pointer-events-auto flex items-start gap-2 rounded-xl border bg-raised px-3 py-2 text-sm ${TOAST_TONES[tone]}`}>
          <span className="min-w-0 flex-1">
            <span className="block font-semibold break-words">{title}</span>
            {text && <span className="block break-words text-quiet">{text}</span>}
          </span>
          <button type="button" aria-label="Dismiss" onClick={() => dismissToast(id)} className="rounded p-0.5 hover:bg-panel">
            <X size={14} aria-hidden="true" />
          </button>
        </div>
      ))}
    </div>
  );
}
