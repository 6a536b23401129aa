/** The tiles of the race page. Drag by the title, resize by the corner; arrows do the same while editing. */
import { Suspense, useMemo, type KeyboardEvent } from 'react';
import { GridLayout } from 'react-grid-layout';
import 'react-grid-layout/css/styles.css';
import { ErrorBoundary } from '@/components/Panel';
import { usePreferences } from '@/state/preferences';
import { useSize } from '@/utils/hooks';
import { WIDGETS, type Widget } from '@/widgets';
import { COLUMNS, GAP, ROW, screenForWidth, useLayout, type Screen } from './layout';

const KEY_STEPS: Record<string, [number, number]> = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

export function Grid() {
  const [ref, { width }] = useSize();
  const screen = screenForWidth(width);
  const layout = useLayout((state) => state.layouts[screen]);
  const keep = useLayout((state) => state.keep);
  const editing = usePreferences((state) => state.editing) && screen !== 'phone';
  const children = useMemo(() => WIDGETS.map((widget) => <div key={widget.id}><GridItem widget={widget} screen={screen} editing={editing} /></div>), [screen, editing]);
  return (
    <div ref={ref} className="w-full" data-editing={editing || undefined}>
      {width > 0 && (
        <GridLayout
          width={width}
          layout={layout}
          gridConfig={{ cols: COLUMNS[screen], rowHeight: ROW, margin: [GAP, GAP], containerPadding: [0, 0] }}
          dragConfig={{ enabled: editing, handle: '.tile-handle', cancel: 'button,select,input,a' }}
          resizeConfig={{ enabled: editing }}
          onDragStop={(next) => keep(screen, next)}
          onResizeStop={(next) => keep(screen, next)}
        >
          {children}
        </GridLayout>
      )}
    </div>
  );
}

function GridItem({ widget, screen, editing }: { widget: Widget; screen: Screen; editing: boolean }) {
  const nudge = useLayout((state) => state.nudge);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = KEY_STEPS[event.key];
    if (!step || event.target !== event.currentTarget) return;
    event.preventDefault();
    nudge(screen, widget.id, ...step, event.shiftKey);
  };
  const Content = widget.component;
  const keys = editing ? { tabIndex: 0, role: 'group', 'aria-label': `${widget.title}: arrows move it, shift and arrows resize it`, onKeyDown } : {};
  return (
    <div className={`h-full rounded-2xl ${editing ? 'ring-1 ring-accent/50' : ''}`} data-widget={widget.id} {...keys}>
      <Suspense fallback={<div className="panel skeleton h-full" />}>
        <ErrorBoundary title={widget.title}><Content /></ErrorBoundary>
      </Suspense>
    </div>
  );
}
