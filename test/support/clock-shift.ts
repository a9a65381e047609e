/**
 * Loaded into a service (NODE_OPTIONS=--import) it moves that process's wall clock by the milliseconds that the file
 * CLOCK_SHIFT_FILE holds, as someone who sets the machine's clock does. The monotonic clock goes on.
 */
import { readFileSync } from 'node:fs';

const file = process.env['CLOCK_SHIFT_FILE'] ?? '';
const now = Date.now.bind(Date);

Date.now = () => now() + Number(readFileSync(file, 'utf8'));
