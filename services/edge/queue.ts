/** First in, first out, in O(1) each, whatever the length: an array whose front is an index. */
export class Queue<T> {
  private items: T[] = [];
  private front = 0;

  get length(): number {
    return this.items.length - this.front;
  }

  push(item: T): void {
    this.items.push(item);
  }

  /** The oldest item; undefined when empty. */
  shift(): T | undefined {
    const item = this.items[this.front];
    if (item === undefined) return undefined;
    this.front += 1;
    // What was taken must not be kept alive, and moving the rest is worth it when it is the smaller half.
    if (this.front * 2 >= this.items.length) {
      this.items = this.items.slice(this.front);
      this.front = 0;
    }
    return item;
  }
}
