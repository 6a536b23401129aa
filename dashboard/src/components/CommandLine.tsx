import { useState } from 'react';
import { Check, Copy } from 'lucide-react';
import { showToast } from '@/state/toasts';
import { Button } from './controls';

/** A command line with a button that copies it. */
export function CommandLine({ text, about }: { text: string; about?: string }) {
  const [copied, setCopied] = useState(false);
  // Away from localhost without TLS, browsers give pages no clipboard: the text can still be selected.
  const copy = () =>
    (navigator.clipboard?.writeText(text) ?? Promise.reject(new Error('no clipboard'))).then(
      () => {
        setCopied(true);
        setTimeout(() => setCopied(false), 2000);
      },
      () => showToast('warn', 'The browser does not let this page copy', 'select the text and copy it'),
    );
  return (
    <div>
      {about && <p className="mb-1 text-sm text-quiet">{about}</p>}
      <div className="flex items-center gap-2 rounded-lg border border-edge bg-well py-1 pr-1 pl-3">
        <code className="num min-w-0 flex-1 text-[0.8rem] break-words">{text}</code>
        <Button kind="bare" aria-label={`Copy: ${text}`} title="Copy" onClick={() => void copy()}>
          {copied ? <Check size={15} className="text-good" aria-hidden="true" /> : <Copy size={15} aria-hidden="true" />}
        </Button>
      </div>
      <span role="status" className="sr-only">{copied ? 'Copied' : ''}</span>
    </div>
  );
}
