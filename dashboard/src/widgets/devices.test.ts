import { describe, expect, it } from 'vitest';
import { humanizeSentence } from './auditFacts';
import { formatDevice } from './devices';

describe('names of devices', () => {
  it('are written for people, and say emulated where a CPU only plays a device', () => {
    expect(['cpu', 'gpu0', 'gpu12', 'cpu (emulated)', 'gpu0 (emulated)', 'cuda:0'].map((name) => formatDevice({ name }))).toEqual([
      'CPU', 'GPU 0', 'GPU 12', 'CPU (emulated)', 'GPU 0 (emulated)', 'cuda:0',
    ]);
    expect(humanizeSentence('whole on gpu0 (emulated): 0.2 s before cpu (emulated)')).toBe('whole on GPU 0 (emulated): 0.2 s before CPU (emulated)');
  });
});
