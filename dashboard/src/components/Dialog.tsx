/** A dialog of the browser's own: it keeps the focus, and Escape closes it. */
import { useEffect, useRef, type ReactNode } from 'react';
import { X } from 'lucide-react';
import { Button } from './controls';

export function Dialog({ title, side = false, wide = false, onClose, children }: { title: string; side?: boolean; wide?: boolean; onClose: () => void; children: ReactNode }) {
  const ref = useRef<HTMLDialogElement | null>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal?.();
    return () => dialog?.close?.();
  }, []);
  const place = side ? 'my-0 mr-0 ml-auto h-dvh max-h-dvh rounded-none' : 'm-auto max-h-[90dvh] rounded-2xl';
  return (
    <dialog
      ref={ref}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => event.target === ref.current && onClose()}
      className={`w-full ${wide ? 'max-w-3xl' : 'max-w-xl'} border border-strong bg-panel p-0 text-ink backdrop:bg-[var(--shade)] ${place}`}
    >
      <div className="flex h-full flex-col">
        <header className="flex items-center gap-2 border-b border-edge px-4 py-3">
          <h2 className="flex-1 text-lg font-semibold">{title}</h2>
          <Button kind="bare" aria-label="Close" onClick={onClose}>
            <X size={16} aria-hidden="true" />
          </Button>
        </header>
        <div className="min-h-0 flex-1 overflow-y-auto p-4">{children}</div>
      </div>
    </dialog>
  );
}

interface ConfirmProps {
  title: string;
  text: string;
  /** What the button says that does it. */
  confirmLabel: string;
  onConfirm: () => void;
  onClose: () => void;
}

/** Ask before something is gone; the harmless answer has the focus. */
export function ConfirmDialog({ title, text, confirmLabel, onConfirm, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="mb-4 text-sm break-words">{text}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button autoFocus onClick={onClose}>Keep it</Button>
        <Button
          kind="danger"
          onClick={() => {
            onClose();
            onConfirm();
          }}
        >
          {confirmLabel}
        </Button>
      </div>
    </Dialog>
  );
}
