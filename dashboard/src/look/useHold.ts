import { useState } from 'react';

/** Hovering or focusing a picture holds it still, so that it can be read. */
export function usePauseOnHover(): [boolean, { onMouseEnter: () => void; onMouseLeave: () => void; onFocus: () => void; onBlur: () => void }] {
  const [held, setHeld] = useState(false);
  const on = () => setHeld(true);
  const off = () => setHeld(false);
  return [held, { onMouseEnter: on, onMouseLeave: off, onFocus: on, onBlur: off }];
}
