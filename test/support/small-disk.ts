/** A small file system of its own for a server's files, which a test can fill up. Needs root. */
import { execFile } from 'node:child_process';
import { mkdtemp, open, rm, rmdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
/** A page of memory, so that no space is left. */
const CHUNK_BYTES = 4 * 1024;

export class SmallDisk {
  private constructor(readonly directory: string) {}

  static async mount(megabytes: number): Promise<SmallDisk> {
    const directory = await mkdtemp(join(tmpdir(), 'revcast-disk-'));
    await run('mount', ['-t', 'tmpfs', '-o', `size=${megabytes}m`, 'tmpfs', directory]);
    return new SmallDisk(directory);
  }

  /** Writes until there is no space; the answer is how many bytes that took. */
  async fill(): Promise<number> {
    const file = await open(this.filler, 'a');
    let bytes = 0;
    try {
      for (;;) bytes += (await file.write(Buffer.alloc(CHUNK_BYTES))).bytesWritten;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    } finally {
      await file.close();
    }
    return bytes;
  }

  async free(): Promise<void> {
    await rm(this.filler, { force: true });
  }

  /** Whoever used it must have ended. */
  async unmount(): Promise<void> {
    await run('umount', [this.directory]);
    await rmdir(this.directory);
  }

  private get filler(): string {
    return join(this.directory, 'filler');
  }
}
