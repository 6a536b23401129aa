/** The built-in schedulers as the registry describes them; `make types` writes the file. */
import type { SchedulerEntry } from '@/theme/schedulers';
import entries from '../../schema/schedulers.json';

export const BUILT_IN = entries as SchedulerEntry[];
