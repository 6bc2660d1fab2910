import { programForTests } from '../../scripts/test-program.ts';

/** The service as a program that starts in half the time. The commands of the backup guide start the sources themselves. */
export const program = await programForTests();
