import { cleanup, configure } from '@testing-library/react';
import { afterEach } from 'vitest';
import { setSchedulers } from '@/theme/schedulers';
import { BUILT_IN } from '@/testing/schedulers';
import '@testing-library/jest-dom/vitest';

// A second is too short on a busy machine; a condition that holds ends the wait at once.
configure({ asyncUtilTimeout: 20_000 });
afterEach(cleanup);
setSchedulers(BUILT_IN);

// jsdom draws nothing and has neither of these.
class NoResize {
  observe() {}
  unobserve() {}
  disconnect() {}
}
globalThis.ResizeObserver ??= NoResize as unknown as typeof ResizeObserver;
window.matchMedia ??= ((query: string) => ({ matches: false, media: query, addEventListener() {}, removeEventListener() {} })) as unknown as typeof window.matchMedia;
