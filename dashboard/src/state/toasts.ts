/** Short words about what has just been done, or could not be. */
import { create } from 'zustand';

interface Toast {
  id: number;
  tone: 'good' | 'warn' | 'bad';
  title: string;
  text: string;
}

let nextId = 1;
export const useToasts = create<{ toasts: Toast[] }>(() => ({ toasts: [] }));

export function showToast(tone: Toast['tone'], title: string, text = ''): void {
  const made = { id: nextId++, tone, title, text };
  useToasts.setState(({ toasts }) => ({ toasts: [...toasts.slice(-3), made] }));
  setTimeout(() => dismissToast(made.id), tone === 'bad' ? 10_000 : 5_000);
}

export function dismissToast(id: number): void {
  useToasts.setState(({ toasts }) => ({ toasts: toasts.filter((each) => each.id !== id) }));
}
