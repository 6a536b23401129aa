/** Whether panels blur what is behind them: not where the processor draws, which is slowed down by it. */

const SOFTWARE = /swiftshader|llvmpipe|softpipe|software|basic render/i;

/** Say which of the two kinds of glass the style sheet uses; it has its own answer to those who want none. */
export function applyGlass(root: HTMLElement = document.documentElement): void {
  root.dataset.glass = canBlur(window.matchMedia('(pointer: coarse)').matches, findRenderer()) ? 'blurred' : 'clear';
}

/** Phones have the graphics but not the battery. */
export function canBlur(touch: boolean, renderer: string | null): boolean {
  return !touch && renderer !== null && !SOFTWARE.test(renderer);
}

/** The name of what draws; null: nothing but the processor. */
function findRenderer(): string | null {
  const context = document.createElement('canvas').getContext('webgl');
  if (!context) return null;
  const info = context.getExtension('WEBGL_debug_renderer_info');
  const name = String(context.getParameter(info ? info.UNMASKED_RENDERER_WEBGL : context.RENDERER));
  context.getExtension('WEBGL_lose_context')?.loseContext();
  return name;
}
