/** Short words about what has just been done, or could not be. */
import { create } from 'zustand';

export interface Toast {
  id: number;
  tone: 'good' | 'warn' | 'bad';
  title: string;
  text: string;
}

let next = 1;
export const useToasts = create<{ toasts: Toast[] }>(() => ({ toasts: [] }));

export function toast(tone: Toast['tone'], title: string, text = ''): void {
  const made = { id: next++, tone, title, text };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.slice(-3), made] }));
  setTimeout(() => dismiss(made.id), tone === 'bad' ? 10_000 : 5_000);
}

export function dismiss(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((each) => each.id !== id) }));
}
