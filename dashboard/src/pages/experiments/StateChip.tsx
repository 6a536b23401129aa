import { Chip } from '@/look/parts';

const TONES = { running: 'good', queued: 'accent', finished: 'quiet', interrupted: 'warn', failed: 'bad', cancelled: 'warn' } as const;
const SIGNS: Record<string, string> = { running: '●', queued: '○', finished: '✓', interrupted: '‖', failed: '✕', cancelled: '–' };

/** The state in a word and a sign. */
export function StateChip({ state, title }: { state: string; title?: string }) {
  const tone = state in TONES ? TONES[state as keyof typeof TONES] : 'quiet';
  return (
    <Chip tone={tone} {...(title ? { title } : {})}>
      <span aria-hidden="true">{SIGNS[state] ?? '·'}</span>
      {state}
    </Chip>
  );
}
