import { Chip } from '@/look/parts';

const STATE_TONES = { running: 'good', queued: 'accent', finished: 'quiet', interrupted: 'warn', failed: 'bad', cancelled: 'warn' } as const;
const STATE_SIGNS: Record<string, string> = { running: '●', queued: '○', finished: '✓', interrupted: '‖', failed: '✕', cancelled: '–' };

/** The state in a word and a sign. */
export function StateBadge({ state, title }: { state: string; title?: string }) {
  const tone = state in STATE_TONES ? STATE_TONES[state as keyof typeof STATE_TONES] : 'quiet';
  return (
    <Chip tone={tone} {...(title ? { title } : {})}>
      <span aria-hidden="true">{STATE_SIGNS[state] ?? '·'}</span>
      {state}
    </Chip>
  );
}
