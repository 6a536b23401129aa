import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '@/look/theme.css';
import { App } from '@/app/App';
import { applyTheme, useTheme } from '@/look/theme';

applyTheme(useTheme.getState().theme);
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
