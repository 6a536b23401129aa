import type { Device } from '@/live/messages';

/** CPU, GPU 0, GPU 1, …; one that a CPU only plays is called emulated by the server. */
export const formatDevice = (device: Pick<Device, 'name'>): string => device.name.replace(/^(cpu|gpu)(\d*)(?= |$)/, (_all, kind: string, number: string) => `${kind.toUpperCase()}${number ? ` ${number}` : ''}`);
