import { useState } from 'react';
import { Dialog } from '@/look/Dialog';
import { Button, Field, INPUT } from '@/look/parts';
import { giveToken, useOrders } from './orders';

/** A server that listens beyond its own machine wants its token before it takes orders. */
export function TokenDialog() {
  const waiting = useOrders((state) => state.waiting !== null);
  const [value, setValue] = useState('');
  if (!waiting) return null;
  return (
    <Dialog title="This order needs the control token" onClose={() => useOrders.setState({ waiting: null })}>
      <form
        className="space-y-3"
        onSubmit={(event) => {
          event.preventDefault();
          giveToken(value);
        }}
      >
        <p className="text-sm text-quiet">It is the TOKEN that the server was started with. It is kept until this tab is closed.</p>
        <Field label="Token">
          <input className={INPUT} type="password" autoComplete="current-password" autoFocus required value={value} onChange={(event) => setValue(event.target.value)} />
        </Field>
        <Button kind="main" type="submit">Give the order</Button>
      </form>
    </Dialog>
  );
}
