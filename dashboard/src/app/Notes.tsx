import { useRace } from '@/live/store';
import { formatTimeOfDay } from '@/look/format';
import { Dialog } from '@/look/Dialog';
import { EmptyState } from '@/look/parts';

/** What the server wanted people to notice, newest first. */
export function NoticesDialog({ onClose }: { onClose: () => void }) {
  const notes = useRace((race) => race.notes, 'read');
  return (
    <Dialog title="Notices" side onClose={onClose}>
      {!notes.length && <EmptyState title="Nothing to notice yet">Changed settings, failures and new models are listed here.</EmptyState>}
      <ol className="space-y-2">
        {notes.toReversed().map((note) => (
          <li key={`${note.time}-${note.id}`} className="rounded-lg border border-edge px-3 py-2 text-sm">
            <span className="num mr-2 text-xs text-quiet">{formatTimeOfDay(note.time)}</span>
            <span className={note.level === 'error' ? 'text-bad' : note.level === 'warning' ? 'text-warn' : ''}>{note.message}</span>
          </li>
        ))}
      </ol>
    </Dialog>
  );
}
