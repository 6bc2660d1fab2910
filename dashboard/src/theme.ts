import { type CSSVariablesResolver, createTheme, type MantineColorsTuple } from '@mantine/core';

// One accent. Everything else is ink on paper, and the colour of a status.
const toll: MantineColorsTuple = [
  '#eef2ff',
  '#dde5fb',
  '#b9c8f4',
  '#92a9ee',
  '#718fe8',
  '#5a7de4',
  '#4468de',
  '#2f55d4',
  '#2749b8',
  '#1d3a99',
];

// Cool greys with a little blue, so that paper and accent belong together.
const gray: MantineColorsTuple = [
  '#f7f8fa',
  '#eff1f5',
  '#e3e6ec',
  '#d2d7e0',
  '#b3bac7',
  '#8d96a6',
  '#646e80',
  '#4a5365',
  '#333b4b',
  '#1d2431',
];

const dark: MantineColorsTuple = [
  '#dfe3ea',
  '#b9c0cc',
  '#99a2b1',
  '#6f7988',
  '#475060',
  '#2e3643',
  '#212834',
  '#171d27',
  '#11161f',
  '#0c1017',
];

export const theme = createTheme({
  primaryColor: 'toll',
  primaryShade: 7,
  colors: { toll, gray, dark },
  autoContrast: true,
  fontFamily: "'Inter Variable', system-ui, -apple-system, 'Segoe UI', sans-serif",
  fontFamilyMonospace: "ui-monospace, 'SF Mono', 'Cascadia Mono', Menlo, Consolas, monospace",
  fontSizes: { xs: '0.75rem', sm: '0.8125rem', md: '0.875rem', lg: '1rem', xl: '1.125rem' },
  headings: {
    fontWeight: '620',
    sizes: {
      h1: { fontSize: '1.375rem', lineHeight: '1.3' },
      h2: { fontSize: '1rem', lineHeight: '1.4' },
      h3: { fontSize: '0.875rem', lineHeight: '1.4' },
    },
  },
  defaultRadius: 'md',
  radius: { xs: '3px', sm: '4px', md: '7px', lg: '10px', xl: '16px' },
  cursorType: 'pointer',
  respectReducedMotion: true,
  components: {
    Button: { defaultProps: { size: 'sm' } },
    TextInput: { defaultProps: { size: 'sm' } },
    Select: { defaultProps: { size: 'sm', allowDeselect: false } },
    NumberInput: { defaultProps: { size: 'sm' } },
    Modal: {
      defaultProps: {
        centered: true,
        radius: 'lg',
        closeButtonProps: { 'aria-label': 'Close' },
        overlayProps: { backgroundOpacity: 0.35, blur: 2 },
      },
    },
    Drawer: {
      defaultProps: {
        closeButtonProps: { 'aria-label': 'Close' },
        position: 'right',
        overlayProps: { backgroundOpacity: 0.25 },
      },
    },
    SegmentedControl: { defaultProps: { size: 'sm', transitionDuration: 0 } },
    Notification: { defaultProps: { closeButtonProps: { 'aria-label': 'Close' } } },
    Tooltip: { defaultProps: { openDelay: 250 } },
    Anchor: { defaultProps: { underline: 'hover' } },
  },
});

/** Contrast of at least 4.5 to 1 for quiet text, in both schemes. */
export const cssVariables: CSSVariablesResolver = () => ({
  variables: {},
  light: {
    '--mantine-color-dimmed': '#5a6475',
    '--mantine-color-body': '#ffffff',
    '--mantine-color-text': '#1d2431',
    '--paper-quiet': '#f7f8fa',
    '--hairline': '#e3e6ec',
  },
  dark: {
    '--mantine-color-dimmed': '#99a2b1',
    '--mantine-color-body': '#11161f',
    '--mantine-color-text': '#dfe3ea',
    '--mantine-color-anchor': '#92a9ee',
    '--paper-quiet': '#171d27',
    '--hairline': '#262d39',
  },
});
