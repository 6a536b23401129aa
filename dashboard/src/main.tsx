import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import '@/theme/theme.css';
import { App } from '@/app/App';
import { applyGlass } from '@/theme/glass';
import { applyTheme, useTheme } from '@/theme/theme';

applyTheme(useTheme.getState().theme);
createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <App />
  </StrictMode>,
);
setTimeout(() => applyGlass()); // asking what draws takes longer than the first picture
