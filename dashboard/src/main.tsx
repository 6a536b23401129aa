import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '@/look/theme.css';
import { App } from '@/app/App';
import { show, useTheme } from '@/look/theme';

show(useTheme.getState().theme);
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
