import type { AnchorHTMLAttributes } from 'react';
import { navigate } from '@/app/router';

/** A link inside the dashboard: it opens without loading the page anew, and in a new tab when asked to. */
export function Link({ to, className = 'text-accent underline-offset-2 hover:underline', ...rest }: AnchorHTMLAttributes<HTMLAnchorElement> & { to: string }) {
  return (
    <a
      href={to}
      className={className}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.shiftKey || event.button !== 0) return;
        event.preventDefault();
        navigate(to);
      }}
      {...rest}
    />
  );
}

const LINK_CLASSES = {
  plain: 'border-edge bg-raised hover:border-strong',
  main: 'border-accent bg-accent text-on-accent font-semibold hover:brightness-110',
};

/** Classes of a link that looks like a button. */
export const buttonClass = (kind: keyof typeof LINK_CLASSES = 'plain'): string =>
  `inline-flex min-h-8 items-center justify-center gap-1.5 rounded-lg border px-2.5 py-1 text-sm whitespace-nowrap ${LINK_CLASSES[kind]}`;
