/** What a benchmark shows: a table for people, or one JSON object a line as soon as it is measured. */

/** A column: its heading, and what stands in it. */
export type Column<Row> = readonly [heading: string, text: (row: Row) => string];

export class Table<Row extends object> {
  private readonly lines: string[][];

  constructor(
    private readonly json: boolean,
    private readonly columns: readonly Column<Row>[],
  ) {
    this.lines = [columns.map(([heading]) => heading)];
  }

  add(row: Row): void {
    if (this.json) process.stdout.write(`${JSON.stringify(row)}\n`);
    else this.lines.push(this.columns.map(([, text]) => text(row)));
  }

  /** Writes the table, unless the rows went out as JSON. `notes` follow it. */
  end(...notes: readonly string[]): void {
    if (this.json) return;
    const widths = this.columns.map((_column, at) => Math.max(...this.lines.map((line) => line[at]?.length ?? 0)));
    for (const line of this.lines) {
      const cells = line.map((cell, at) => cell.padStart(widths[at] ?? 0));
      process.stdout.write(`${cells.join('  ')}\n`);
    }
    for (const note of notes) process.stdout.write(`${note}\n`);
  }
}
