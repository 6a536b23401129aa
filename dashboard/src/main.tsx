import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '@/theme/theme.css';
import { App } from '@/app/App';
import { applyTheme, useTheme } from '@/theme/theme';

applyTheme(useTheme.getState().theme);
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
