import { Dialog } from '@/look/Dialog';
import { Button } from '@/look/parts';

interface ConfirmProps {
  title: string;
  text: string;
  /** What the button says that does it. */
  doing: string;
  onYes: () => void;
  onClose: () => void;
}

/** Ask before something is gone; the harmless answer has the focus. */
export function Confirm({ title, text, doing, onYes, onClose }: ConfirmProps) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="mb-4 text-sm break-words">{text}</p>
      <div className="flex flex-wrap justify-end gap-2">
        <Button autoFocus onClick={onClose}>Keep it</Button>
        <Button
          kind="danger"
          onClick={() => {
            onClose();
            onYes();
          }}
        >
          {doing}
        </Button>
      </div>
    </Dialog>
  );
}
