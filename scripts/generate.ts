import { generateFiles } from './generated.ts';

await generateFiles();
