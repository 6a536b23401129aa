import { Dialog } from '@/look/Dialog';
export function Controls({ onClose }: { onClose: () => void }) {
  return <Dialog title="Controls" side onClose={onClose}>…</Dialog>;
}
