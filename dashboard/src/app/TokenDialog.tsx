import { useState } from 'react';
import { Dialog } from '@/look/Dialog';
import { Button, Field, INPUT_CLASS } from '@/look/parts';
import { submitToken, useCommands } from './orders';

/** A server that listens beyond its own machine wants its token before it takes orders. */
export function TokenDialog() {
  const waiting = useCommands((state) => state.awaitingToken !== null);
  const [value, setValue] = useState('');
  if (!waiting) return null;
  return (
    <Dialog title="This order needs the control token" onClose={() => useCommands.setState({ awaitingToken: null })}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          submitToken(value);
        }}
      >
        <p className="text-sm text-quiet">It is the TOKEN that the server was started with. It is kept until this tab is closed.</p>
        <Field label="Token">
          <input className={INPUT_CLASS} type="password" autoComplete="current-password" autoFocus required value={value} onChange={(event) => setValue(event.target.value)} />
        </Field>
        <Button kind="main" type="submit">Give the order</Button>
      </form>
    </Dialog>
  );
}
